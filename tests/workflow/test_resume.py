"""A training stopped on its way and run again, as real processes. Oracle: the bytes of one that was left alone.

Sees work that is lost, and a checkpoint of another job, of other settings or of other code that is resumed.
"""

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, Completed, run_command
from tests.refusals import assert_exits

OVERRIDES = [
    "scale=smoke", "figures=[fig07]", "figure.demystifying_resnet.fig07.protocol.epochs=4000",
    f"paths.data={CHECKOUT / 'data'}",
]  # fmt: skip
OFTEN = Execution(checkpoint_seconds=0.05)


def training(*overrides: str) -> Job:
    plan = make_plan(load([*OVERRIDES, *overrides]))
    return next(job for job in plan.jobs_of("train").values() if job.ensemble.network.depth == 4)


@pytest.fixture(scope="module")
def job() -> Job:
    return training()


def with_data(folder: Path, finished: Path, job: Job) -> Path:
    """A folder that holds nothing but whitened data and the job's plan."""
    shutil.copytree(finished / "results" / "whiten", folder / "results" / "whiten")
    write_job(job, OFTEN, folder / "results")
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, job: Job) -> Path:
    return with_data(tmp_path, finished, job)


@pytest.fixture(scope="module")
def undisturbed(finished: Path, job: Job, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = with_data(tmp_path_factory.mktemp("undisturbed"), finished, job)
    done = run(folder, job)
    assert done.returncode == 0, done.stderr
    assert not list((folder / "results").glob("checkpoints/*/*"))
    return result_of(folder, job).read_bytes()


def run(folder: Path, job: Job, environment: dict[str, str] | None = None) -> Completed:
    return run_command(sys.executable, "-m", "resaudit", "run", job.key, cwd=folder, environment=environment)


def result_of(folder: Path, job: Job) -> Path:
    return folder / job.folder(Path("results")) / "trajectory.npz"


def checkpoint_of(folder: Path, job: Job) -> Path:
    return folder / "results" / "checkpoints" / job.key / "checkpoint"


def stopped_after(folder: Path, job: Job, number: int, checkpoints: int) -> tuple[int, str]:
    """Send a signal once that many checkpoints were written; gives the exit status and what was said."""
    command = [sys.executable, "-m", "resaudit", "run", job.key]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    path, seen = checkpoint_of(folder, job), set[int]()
    while process.poll() is None and len(seen) < checkpoints:
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(0.005)
    assert process.poll() is None, process.communicate()[1]
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    return process.returncode, said


def ends_the_same(folder: Path, job: Job, undisturbed: bytes, environment: dict[str, str] | None = None) -> None:
    again = run(folder, job, environment)
    assert again.returncode == 0, again.stderr
    assert "resumes from" in again.stderr
    assert result_of(folder, job).read_bytes() == undisturbed
    assert not checkpoint_of(folder, job).parent.exists()


# 85 is what profiles and schedulers are told: a number, wherever it is defined.
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 85), (signal.SIGINT, 130)])
def test_told_to_stop_it_keeps_what_was_done(
    number: signal.Signals, status: int, folder: Path, job: Job, undisturbed: bytes
) -> None:
    code, said = stopped_after(folder, job, number, 2)
    assert code == status
    assert re.search(rf"^resaudit: interrupted: .*{job.key}/checkpoint", said, re.MULTILINE), said
    assert "Traceback" not in said
    assert not result_of(folder, job).exists()
    ends_the_same(folder, job, undisturbed)


def test_another_seed_does_not_resume_it(folder: Path, job: Job) -> None:
    stopped_after(folder, job, signal.SIGKILL, 1)
    other = training("seed=2")
    write_job(other, OFTEN, folder / "results")
    checkpoint_of(folder, job).parent.rename(checkpoint_of(folder, other).parent)
    done = run(folder, other)
    assert done.returncode == 0, done.stderr
    assert "another settings;" in done.stderr


def changed_code(folder: Path, file: str, line: str) -> dict[str, str]:
    """The environment of a checkout in which one file has one line more."""
    shutil.copytree(CHECKOUT / "config", folder / "changed" / "config")
    source = Path(shutil.copytree(CHECKOUT / "src", folder / "changed" / "src"))
    with (source / "residual/demystifying_resnet" / file).open("a") as code:
        code.write(line)
    return {"PYTHONPATH": str(source)}


@pytest.mark.parametrize("file", [pytest.param("networks/linear.py", marks=pytest.mark.slow), "training/ensemble.py"])
def test_other_code_does_not_resume_it(file: str, folder: Path, job: Job) -> None:
    """Its bits might be others."""
    stopped_after(folder, job, signal.SIGKILL, 1)
    done = run(folder, job, changed_code(folder, file, "CHANGED = 1\n"))
    assert done.returncode == 0, done.stderr
    assert "code version;" in done.stderr


def test_an_edited_comment_is_no_other_code(folder: Path, job: Job, undisturbed: bytes) -> None:
    stopped_after(folder, job, signal.SIGKILL, 1)
    ends_the_same(folder, job, undisturbed, changed_code(folder, "training/ensemble.py", "# changed\n"))


# What is kept until the last file is written is kept until any is.
@pytest.mark.parametrize("file", [pytest.param("trajectory.npz", marks=pytest.mark.slow), "provenance.json"])
def test_what_was_done_is_kept_until_the_result_is_written(
    file: str, folder: Path, job: Job, undisturbed: bytes
) -> None:
    """Nothing can be written over a folder, as nothing can on a disk that is full just then."""
    stopped_after(folder, job, signal.SIGKILL, 1)
    blocked = result_of(folder, job).with_name(file)
    blocked.mkdir(parents=True)
    done = run(folder, job)
    assert_exits(done, f"results/{job.key}/{file}")
    blocked.rmdir()
    ends_the_same(folder, job, undisturbed)
