"""The workflow and its tests where there is no network at all, and nothing that README's commands do not install.

Sees a job other than a fetch that would reach for a network, and a test that needs what it does not say.
"""

import os
import sys
from pathlib import Path

import pytest

from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import fetch_of
from tests.cluster.slurm import ACCOUNTING, PROGRAMS
from tests.conftest import CHECKOUT, OFFLINE, Completed, run_command, why_not_offline
from tests.refusals import assert_exits

REACH = (
    "import socket\n"
    "assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
    "try: socket.create_connection(('192.0.2.1', 80), timeout=5)\n"
    "except OSError as error: assert error.errno == 101, error\n"
    "else: raise SystemExit('there is a network')\n"
)


def without_network(*command: str, cwd: Path, timeout: float = 900) -> Completed:
    return run_command(*OFFLINE, *command, cwd=cwd, timeout=timeout)


@pytest.fixture(autouse=True)
def _namespaces_are_allowed() -> None:
    reason = why_not_offline()
    if reason:
        pytest.skip(reason)


def test_there_is_no_network_in_the_namespace(tmp_path: Path) -> None:
    run = without_network(sys.executable, "-c", REACH, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_fetch_alone_says_that_it_needs_one(tmp_path: Path) -> None:
    """The counterpart: where data are not there yet, that job is what fails, in one line."""
    (dataset,) = load(["dataset.sources=[torchvision]"]).datasets()
    fetch = fetch_of(dataset, "data")
    write_job(fetch, Execution(), tmp_path / "results")
    run = without_network(sys.executable, "-m", "resaudit", "run", fetch.key, cwd=tmp_path)
    assert_exits(run, "no source has MNIST")
    assert run.stderr.count("\n") == 1


# One of each kind that needs, or once needed, what may be missing; all others are collected.
PROBES = (
    "test_search_wants_every_word", "test_cancelled_it_is_run_again", "test_a_package_that_does_not_exist_is_a_refusal",
    "test_fashion_mnist_comes_from_debians_folder_when_it_is_there",
    "test_bad_input_is_refused_in_one_line and sede and overrides",
)  # fmt: skip


def bare_path(folder: Path) -> str:
    """All programs of this machine but a browser, Slurm and the database of its accounts."""
    folder.mkdir()
    hidden = {"chromium", "unshare", *PROGRAMS, *ACCOUNTING}
    for place in reversed(os.get_exec_path()):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if program.name not in hidden:
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    return str(folder)


LACKING = {
    "no chromium here: apt-get install chromium",
    f"no Slurm here (missing: {', '.join(PROGRAMS)}); apt-get install slurm-wlm munge",
}


# Of skips that have nothing to do with it, what each says: the card, the user, the namespace, and extras.
FURTHER = (
    "no CUDA device", "root may write anywhere", "no unshare", "cannot be asked", "not permitted", "of the extra dev",
    "the extra docs", "no C compiler", "torch can use a GPU", "another CPU platform",
)  # fmt: skip


def unless_further(skipped: set[str]) -> set[str]:
    """The reasons but for these."""
    return {reason for reason in skipped if not any(known in reason for known in FURTHER)}


def on_a_bare_machine(folder: Path, *arguments: str, timeout: float) -> tuple[str, set[str]]:
    """What pytest says, and the reasons for which it skips tests, without network, browser and Slurm."""
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
    path = bare_path(folder / "programs")
    run = without_network("env", f"PATH={path}", sys.executable, *tests, cwd=CHECKOUT, timeout=timeout)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said[-3000:]
    return said, {line.split(": ", 1)[1] for line in said.splitlines() if line.startswith("SKIPPED")}


def test_what_the_tests_lack_on_a_bare_machine_is_skipped_by_name(mnist_config: Config, tmp_path: Path) -> None:
    """Everything is collected, and what cannot run says why."""
    assert mnist_config
    said, skipped = on_a_bare_machine(tmp_path, "-n", "0", "-m", "", "-k", " or ".join(PROBES), timeout=900)
    assert unless_further(skipped) == LACKING
    assert any(line.startswith(f"{len(PROBES) - 2} passed, ") for line in said.splitlines())


@pytest.mark.slow
def test_all_tests_pass_on_a_bare_machine(mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    _, skipped = on_a_bare_machine(tmp_path, timeout=3600)
    assert unless_further(skipped) == LACKING
