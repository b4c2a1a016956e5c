"""A file system without locks. Oracle: flock itself, replaced by one that is refused as such file systems do.

Sees a run that is turned away, a second one that is let in where it can be known, a lock that outlives a killed run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.config import Config
from resaudit.plan import make_plan
from tests.conftest import CHECKOUT, Completed, run_command, snakemake_command

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
from resaudit.workflow import _at_work, errors_in_one_line, hold_lock
print("at work" if _at_work(Path("results")) else "free", flush=True)
with errors_in_one_line():
    hold_lock(Path("results"))
print("held", flush=True)
sys.stdin.read()
"""
WARNING = "resaudit: warning: the file system of results has no locks"
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

    def environment(below: Path, error: str = "ENOTSUP") -> dict[str, str]:
        number = {"ENOTSUP": 95, "ENOSYS": 38, "ENOLCK": 37}[error]
        return {
            "LD_PRELOAD": str(shim), "WITHOUT_LOCKS": str(below), "REFUSED_BY": str(number),
            "TMPDIR": str(tmp_path / "tmp"),
        }  # fmt: skip

    return environment


def started(folder: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=folder, env=os.environ | environment, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def said_by(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(2)]


def second(folder: Path, environment: dict[str, str]) -> Completed:
    return run_command(sys.executable, "-c", HOLD, cwd=folder, environment=environment)


@pytest.mark.parametrize("error", ["ENOTSUP", "ENOSYS", "ENOLCK"])
def test_without_locks_a_second_run_on_this_machine_is_told_and_a_killed_one_bars_nobody(
    error: str, without_locks: Environment, tmp_path: Path
) -> None:
    environment = without_locks(tmp_path / "results", error)
    first = started(tmp_path, environment)
    assert said_by(first) == ["free", "held"]
    refused = second(tmp_path, environment)
    assert refused.stdout.split() == ["at", "work"]
    assert f"error: another run (process {first.pid}) is at work in results" in refused.stderr
    first.kill()
    assert first.communicate()[1].startswith(WARNING)
    after = started(tmp_path, environment)
    assert said_by(after) == ["free", "held"]
    after.communicate("")


def test_where_there_are_no_locks_at_all_a_run_goes_on_and_says_so(without_locks: Environment, tmp_path: Path) -> None:
    first = started(tmp_path, without_locks(Path("/")))
    assert said_by(first) == ["free", "held"]
    assert second(tmp_path, without_locks(Path("/"))).stdout.split() == ["free", "held"]
    assert first.communicate("")[1].startswith(WARNING)


def test_a_device_is_used_unclaimed_where_there_are_no_locks(without_locks: Environment, tmp_path: Path) -> None:
    claim = "from resaudit.devices import claim_device; print(claim_device())"
    environment = without_locks(Path("/")) | {"CUDA_VISIBLE_DEVICES": "3"}
    run = run_command(sys.executable, "-c", claim, cwd=tmp_path, environment=environment)
    assert (run.returncode, run.stdout.split()) == (0, ["3"])
    assert "without locks, so jobs may meet on one GPU; set TMPDIR to another" in run.stderr


def test_the_workflow_goes_on_without_locks(mnist_config: Config, without_locks: Environment, tmp_path: Path) -> None:
    """A real run of Snakemake, of a job that needs nothing but the data's files."""
    target = f"results/whiten/{make_plan(mnist_config).data.id}/moments.npz"
    given = f"overrides=[paths.data={CHECKOUT / 'data'}]"
    command = snakemake_command(target, "--config", "scale=smoke", given)
    run = run_command(*command, cwd=tmp_path, environment=without_locks(tmp_path))
    assert run.returncode == 0, run.stderr[-3000:]
    assert WARNING in run.stdout + run.stderr
    assert (tmp_path / target).is_file()
