"""The lock on results. Oracle: real processes, and flock replaced by one that fails as on file systems without it.

Sees a second run that is let in, a lock that outlives a killed run, a run that ends where there is no flock.
"""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.cli.workflow import JobsOfRules
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, run_command, snakemake_command

# Refused for files below the folder that $WITHOUT_LOCKS names: of the error of that number, as file systems vary.
REFUSING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int flock(int fd, int operation) {
    char link[64], name[4096] = {0};
    const char *below = getenv("WITHOUT_LOCKS");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (below && readlink(link, name, sizeof name - 1) > 0 && !strncmp(name, below, strlen(below))) {
        errno = atoi(getenv("REFUSED_BY"));
        return -1;
    }
    return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(fd, operation);
}
"""
HOLD = """
import sys
from pathlib import Path
from resaudit.runtime.locks import hold_lock
from resaudit.cli.workflow import errors_in_one_line
with errors_in_one_line():
    hold_lock(Path("results"))
print("held", flush=True)
sys.stdin.read()
"""
WARNING = re.compile(r"^resaudit: warning: .* results .*flock", re.MULTILINE)
Environment = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux" or not shutil.which("gcc"):
        pytest.skip("the library that refuses locks needs gcc and Linux")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "refusing.c").write_text(REFUSING)
    done = run_command("gcc", "-shared", "-fPIC", "-o", "refusing.so", "refusing.c", "-ldl", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "refusing.so"


@pytest.fixture
def without_locks(shim: Path, tmp_path: Path) -> Environment:
    """The environment of a process that gets no locks in the folders below one."""
    (tmp_path / "tmp").mkdir()

    def environment(below: Path, error: int = errno.ENOTSUP) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(shim), "WITHOUT_LOCKS": str(below), "REFUSED_BY": str(error),
            "TMPDIR": str(tmp_path / "tmp"),
        }  # fmt: skip

    return environment


def started(folder: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """A process that has asked for the lock and, if it got it, holds it until it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=folder, env=os.environ | (environment or {}), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() in ("held\n", "")
    return process


def test_a_second_run_is_refused_in_one_line_and_a_killed_one_keeps_nobody_out(tmp_path: Path) -> None:
    first = started(tmp_path)
    refused = started(tmp_path)
    (line,) = refused.communicate()[1].splitlines()
    assert "is at work in" in line
    assert str(first.pid) in line
    assert refused.returncode == 1
    first.kill()
    first.communicate()
    after = started(tmp_path)
    assert after.communicate("")[1] == ""
    assert after.returncode == 0


def test_planning_beside_a_run_leaves_its_jobs_as_they_are(tmp_path: Path) -> None:
    """They read how they run from their plan files when they start, which may be hours later."""
    (tmp_path / "results").mkdir()

    def planned(*overrides: str) -> dict[Path, bytes]:
        given = ["scale=smoke", "figures=[demystifying_resnet/fig07]", f"paths.results={tmp_path / 'results'}"]
        JobsOfRules([*given, *overrides], CHECKOUT / "config", writes=True).write_plan()
        return {path: path.read_bytes() for path in tmp_path.glob("results/plan/*/*.json")}

    before = planned("checkpoint_seconds=1")
    run = started(tmp_path)
    beside = planned("checkpoint_seconds=2", "seed=2")
    assert before.items() < beside.items()
    run.communicate("")
    after = planned("checkpoint_seconds=2")
    assert all(after[path] != content for path, content in before.items())


@pytest.mark.parametrize("error", [errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK])
def test_where_there_are_no_locks_a_run_goes_on_with_one_warning(
    error: int, without_locks: Environment, tmp_path: Path
) -> None:
    environment = without_locks(tmp_path / "results", error)
    run = started(tmp_path, environment)
    (line,) = run.communicate("")[1].splitlines()
    assert WARNING.search(line)
    assert run.returncode == 0
    asked = (
        "from pathlib import Path; from resaudit.runtime.locks import is_held; print(is_held(Path('results/.lock')))"
    )
    again = run_command(sys.executable, "-c", asked, cwd=tmp_path, environment=environment)
    assert again.stdout == "False\n", again.stderr


def test_a_device_is_used_unclaimed_where_there_are_no_locks(without_locks: Environment, tmp_path: Path) -> None:
    claim = "from resaudit.runtime.devices import claim_device; print(claim_device())"
    environment = without_locks(Path("/")) | {"CUDA_VISIBLE_DEVICES": "3"}
    run = run_command(sys.executable, "-c", claim, cwd=tmp_path, environment=environment)
    assert (run.returncode, run.stdout.split()) == (0, ["3"])
    assert re.fullmatch(r"resaudit: warning: .*flock.*TMPDIR.*\n", run.stderr)


def test_the_workflow_goes_on_without_locks(mnist_config: Config, without_locks: Environment, tmp_path: Path) -> None:
    """A real run of Snakemake, of a job that needs nothing but the data's files."""
    target = f"results/whiten/{next(iter(make_plan(mnist_config).jobs_of('whiten')))}/moments.npz"
    given = f"overrides=[paths.data={CHECKOUT / 'data'}]"
    command = snakemake_command(target, "--config", "scale=smoke", given)
    run = run_command(*command, cwd=tmp_path, environment=without_locks(tmp_path))
    assert run.returncode == 0, run.stderr[-3000:]
    assert WARNING.search(run.stdout + run.stderr)
    assert (tmp_path / target).is_file()
