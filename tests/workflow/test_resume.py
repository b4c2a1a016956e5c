"""A training stopped on its way and run again, as real processes. Oracle: the bytes of one that was left alone."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from resaudit.composition import load
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, run_command

OVERRIDES = [
    "scale=smoke", "figures=[fig07]", "figure.demystifying_resnet.fig07.protocol.epochs=4000",
    f"paths.data={CHECKOUT / 'data'}",
]  # fmt: skip
OFTEN = "checkpoint_seconds=0.05"


@pytest.fixture(scope="module")
def ensemble() -> str:
    plan = make_plan(load(OVERRIDES))
    return next(name for name, e in plan.trained.items() if e.network.depth == 4)


@pytest.fixture
def folder(smoked: Path, tmp_path: Path) -> Path:
    """Nothing but the whitened data."""
    shutil.copytree(smoked / "results" / "whiten", tmp_path / "results" / "whiten")
    return tmp_path


@pytest.fixture(scope="module")
def undisturbed(smoked: Path, ensemble: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(smoked / "results" / "whiten", folder / "results" / "whiten")
    done = run_command("resaudit", "train", ensemble, *OVERRIDES, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not (folder / "results" / "state").exists() or not list((folder / "results" / "state").iterdir())
    return (folder / "results" / "train" / ensemble / "trajectory.npz").read_bytes()


def start(folder: Path, ensemble: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "resaudit", "train", ensemble, *OVERRIDES, OFTEN]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def stopped_after(folder: Path, ensemble: str, number: int, checkpoints: int) -> tuple[int, str]:
    """Send a signal once that many checkpoints were written; gives the exit status and what was said."""
    job, path, seen = start(folder, ensemble), folder / "results" / "state" / ensemble / "checkpoint", set[int]()
    while job.poll() is None and len(seen) < checkpoints:
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(0.005)
    assert job.poll() is None, job.communicate()[1]
    job.send_signal(number)
    said = job.communicate(timeout=60)[1]
    return job.returncode, said


def ends_the_same(folder: Path, ensemble: str, undisturbed: bytes) -> None:
    again = run_command("resaudit", "train", ensemble, *OVERRIDES, OFTEN, cwd=folder)
    assert again.returncode == 0, again.stderr
    assert "goes on from" in again.stderr
    assert (folder / "results" / "train" / ensemble / "trajectory.npz").read_bytes() == undisturbed
    assert not (folder / "results" / "state" / ensemble).exists()


# 85 is what workflow/profiles and schedulers are told: a number, wherever it is defined.
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 85), (signal.SIGINT, 130)])
def test_told_to_stop_it_keeps_what_was_done(
    number: signal.Signals, status: int, folder: Path, ensemble: str, undisturbed: bytes
) -> None:
    code, said = stopped_after(folder, ensemble, number, 2)
    assert code == status
    assert f"resaudit: interrupted: what was done is kept in results/state/{ensemble}/checkpoint" in said
    assert "Traceback" not in said
    assert not (folder / "results" / "train" / ensemble / "trajectory.npz").exists()
    ends_the_same(folder, ensemble, undisturbed)


def test_killed_again_and_again_it_goes_on_to_the_same_bytes(folder: Path, ensemble: str, undisturbed: bytes) -> None:
    chance = random.Random(1)
    for _ in range(3):
        code, _ = stopped_after(folder, ensemble, signal.SIGKILL, chance.randint(1, 3))
        assert code == -signal.SIGKILL
    ends_the_same(folder, ensemble, undisturbed)


def test_another_seed_does_not_go_on_from_it(folder: Path, ensemble: str) -> None:
    stopped_after(folder, ensemble, signal.SIGKILL, 1)
    state = folder / "results" / "state"
    other = next(n for n, e in make_plan(load([*OVERRIDES, "seed=2"])).trained.items() if e.network.depth == 4)
    (state / ensemble).rename(state / other)
    done = run_command("resaudit", "train", other, *OVERRIDES, "seed=2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "is not gone on from: it is of another settings; starting afresh" in done.stderr


@pytest.mark.parametrize("file", ["networks/linear.py", "training/ensemble.py"])
def test_other_code_does_not_go_on_from_it(file: str, folder: Path, ensemble: str) -> None:
    """Its bits might be others."""
    stopped_after(folder, ensemble, signal.SIGKILL, 1)
    for name in ("src", "config"):
        shutil.copytree(CHECKOUT / name, folder / "changed" / name)
    with (folder / "changed" / "src" / "resaudit" / file).open("a") as code:
        code.write("# changed\n")
    command = [sys.executable, "-m", "resaudit", "train", ensemble, *OVERRIDES]
    done = run_command(*command, cwd=folder, environment={"PYTHONPATH": str(folder / "changed" / "src")})
    assert done.returncode == 0, done.stderr
    assert "is not gone on from: it is of another code version; starting afresh" in done.stderr


@pytest.mark.parametrize("file", ["trajectory.npz", "provenance.json"])
def test_what_was_done_is_kept_until_the_result_is_written(
    file: str, folder: Path, ensemble: str, undisturbed: bytes
) -> None:
    """Nothing can be written over a folder, as nothing can on a disk that is full just then."""
    stopped_after(folder, ensemble, signal.SIGKILL, 1)
    blocked = folder / "results" / "train" / ensemble / file
    blocked.mkdir(parents=True)
    done = run_command("resaudit", "train", ensemble, *OVERRIDES, cwd=folder)
    assert done.returncode == 1, done.stderr
    assert f"cannot write results/train/{ensemble}/{file}" in done.stderr
    blocked.rmdir()
    ends_the_same(folder, ensemble, undisturbed)
