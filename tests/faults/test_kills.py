"""Kills by SIGKILL at random moments, then run again. Oracle: the bytes of a run that was left alone.

Sees half-written files that are taken for whole ones, work that is not gone on with, jobs that outlive their Snakemake
and get in the way of the next one.
"""

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.config import Config
from tests.conftest import CHECKOUT, Completed, run_command, snakemake_command
from tests.faults.conftest import PAPER, drawn, few, few_command, nothing_half_written, started

TARGETS = ("group", "snakemake", "job")
LAPTOP = ("--config", "figures=[fig03,fig07]", f"overrides=[paths.data={CHECKOUT / 'data'},checkpoint_seconds=5]")
Finish = Callable[[Path], Completed]


def processes_of(group: int) -> dict[int, str]:
    """The processes of a group that are alive, with their command lines."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (ProcessLookupError, FileNotFoundError):
            continue
    return found


def strike(run: subprocess.Popen[str], target: str, chance: random.Random) -> bool:
    """Kill a run, or a part of it; False if there was none."""
    if target == "group":
        os.killpg(run.pid, signal.SIGKILL)
    elif target == "snakemake":
        run.kill()
    else:
        jobs = [pid for pid, said in processes_of(run.pid).items() if " -m resaudit " in said and "bash" not in said]
        if not jobs:
            return False
        os.kill(chance.choice(jobs), signal.SIGKILL)
    return True


def killed(command: list[str], folder: Path, target: str, seconds: float, chance: random.Random) -> bool:
    """Start a run and kill it after so many seconds; False if it was done before, or had no job to kill."""
    run = started(command, folder)
    try:
        run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        if strike(run, target, chance):
            if target == "job":
                assert run.wait(timeout=600) != 0, "a run whose job was killed says so"
            run.wait()
            return True
        run.communicate()
    return False


def kills(command: list[str], finish: Finish, folder: Path, wanted: int, longest: float, seed: int) -> Counter[str]:
    """Kill runs at random moments, targets in turn, three to a folder; each folder is then finished and compared."""
    chance, done = random.Random(seed), Counter[str]()
    for number in range(10 * wanted):
        here = folder / str(number)
        here.mkdir()
        for _ in range(3):
            target = TARGETS[sum(done.values()) % 3]
            if sum(done.values()) < wanted and killed(command, here, target, chance.uniform(0, longest), chance):
                done[target] += 1
        last = finish(here)
        assert last.returncode == 0, last.stdout[-2000:] + last.stderr[-3000:]
        print(f"{sum(done.values())} kills so far: {dict(done)}", flush=True)
        if sum(done.values()) >= wanted:
            return done
    raise AssertionError(f"of {wanted} kills only {sum(done.values())} met a run")


def finished_few(undisturbed: Path) -> Finish:
    def finish(folder: Path) -> Completed:
        last = few(folder)
        assert drawn(folder) == drawn(undisturbed)
        nothing_half_written(folder / "results", folder / "figures")
        return last

    return finish


def test_a_few_kills_lose_no_byte(undisturbed: Path, tmp_path: Path) -> None:
    assert sum(kills(few_command(), finished_few(undisturbed), tmp_path, 3, 12, seed=1).values()) == 3


@pytest.mark.slow
def test_thirty_kills_lose_no_byte(undisturbed: Path, tmp_path: Path) -> None:
    start = time.monotonic()
    few(tmp_path)
    longest = time.monotonic() - start
    (tmp_path / "kills").mkdir()
    done = kills(few_command(), finished_few(undisturbed), tmp_path / "kills", 30, longest, seed=2)
    assert all(done[target] >= 10 for target in TARGETS)


@pytest.mark.slow
def test_kills_of_a_laptop_run_lose_no_byte(mnist_config: Config, tmp_path: Path) -> None:
    """Figures 3 and 7 as the paper has them: jobs of minutes, gone on with from their checkpoints."""
    assert mnist_config
    (tmp_path / "undisturbed").mkdir()
    command = snakemake_command(*LAPTOP)
    start = time.monotonic()
    assert run_command(*command, cwd=tmp_path / "undisturbed", timeout=7200).returncode == 0
    longest = time.monotonic() - start

    def finish(folder: Path) -> Completed:
        last = run_command(*command, cwd=folder, timeout=7200)
        assert drawn(folder, "csv") == drawn(tmp_path / "undisturbed", "csv")
        assert any("goes on from" in f.read_text() for f in folder.glob("results/logs/train/*.log")), PAPER
        return last

    (tmp_path / "kills").mkdir()
    kills(command, finish, tmp_path / "kills", 6, longest / 2, seed=3)
