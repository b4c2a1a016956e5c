"""Kills by SIGKILL at random moments, then run again. Oracle: the bytes of a run that was left alone.

Sees half-written files that are taken for whole ones, work that is not resumed, jobs that outlive their Snakemake
and get in the way of the next one.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.plan.models import Config
from tests.conftest import CHECKOUT, Completed, run_command, smoke_command, snakemake_command
from tests.faults.conftest import PAPER, drawn, few_command, nothing_half_written, started

TARGETS = ("group", "snakemake", "job")
LAPTOP = (
    "--config",
    "figures=[demystifying_resnet/fig03,fig07]",
    f"overrides=[paths.data={CHECKOUT / 'data'},checkpoint_seconds=5]",
)
FIG07 = f"figure.{PAPER}.fig07.protocol"
ONE_FIGURE = snakemake_command(
    f"figures/{PAPER}/fig07.csv", "--config", "scale=smoke", "figures=[fig07]",
    f"overrides=[paths.data={CHECKOUT / 'data'},{FIG07}.networks=[2-shortcut],{FIG07}.depths=[2],{FIG07}.epochs=20000,"
    "checkpoint_seconds=0.2]",
)  # fmt: skip
OF_THE_FEW = few_command(f"figures/{PAPER}/fig05.csv")
KILLS_IN_A_FOLDER = 10
Finish = Callable[[Path], Completed]


def processes_of(group: int, group_of: Callable[[int], int] = os.getpgid) -> dict[int, str]:
    """The processes of a group that are alive, with their command lines, empty once they have ended."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and group_of(int(entry.name)) == group:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (ProcessLookupError, FileNotFoundError):
            continue
    return found


def strike(run: subprocess.Popen[str], target: str, chance: random.Random) -> bool:
    """Kill a run, or a part of it; False if it ended before there was one."""
    if target == "group":
        os.killpg(run.pid, signal.SIGKILL)
    elif target == "snakemake":
        run.kill()
    else:
        while True:
            jobs = [p for p, said in processes_of(run.pid).items() if said.split(" ")[1:3] == ["-m", "resaudit"]]
            if jobs and stopped(job := chance.choice(jobs)):
                os.kill(job, signal.SIGKILL)
                break
            if run.poll() is not None:
                return False
            time.sleep(0.05)
    return True


def stopped(process: int) -> bool:
    """Stop a process; False if it has ended meanwhile, when a kill would do nothing."""
    try:
        os.kill(process, signal.SIGSTOP)
        while (state := Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]) not in "TZX":
            time.sleep(0.001)
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state == "T"


def killed(command: list[str], folder: Path, target: str, seconds: float, chance: random.Random) -> bool:
    """Start a run and kill it after so many seconds; False if it was done before."""
    run = started(command, folder)
    try:
        run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        if strike(run, target, chance):
            if target == "job":
                run.communicate(timeout=600)
                assert run.returncode != 0, "a run whose job was killed says so"
            run.wait()
            return True
        run.communicate()
    return False


def kills(command: list[str], finish: Finish, folder: Path, wanted: int, longest: float, seed: int) -> Counter[str]:
    """Kill runs at random moments, targets in turn, ten to a folder; each folder is then finished and compared.

    Moments lie between 0 and ``longest`` seconds, or half of what a run from the start took that ended before its kill.
    """
    chance, done = random.Random(seed), Counter[str]()
    for number in range(10 * wanted):
        here = folder / str(number)
        here.mkdir()
        for earlier in range(KILLS_IN_A_FOLDER):
            target, start = TARGETS[done.total() % 3], time.monotonic()
            if done.total() == wanted or not killed(command, here, target, chance.uniform(0, longest), chance):
                if not earlier:
                    longest = min(longest, (time.monotonic() - start) / 2)
                break
            done[target] += 1
        last = finish(here)
        assert last.returncode == 0, last.stdout[-2000:] + last.stderr[-3000:]
        print(f"{done.total()} kills so far: {dict(done)}", flush=True)
        if done.total() == wanted:
            return done
    raise AssertionError(f"of {wanted} kills only {done.total()} met a run")


def left_alone(command: list[str], folder: Path) -> tuple[Path, float]:
    """A folder in which nothing goes wrong, and how many seconds that takes."""
    start = time.monotonic()
    run = run_command(*command, cwd=folder, timeout=7200)
    assert run.returncode == 0, run.stderr[-3000:]
    return folder, time.monotonic() - start


def compared_with(undisturbed: Path, command: list[str]) -> Finish:
    def finish(folder: Path) -> Completed:
        last = run_command(*command, cwd=folder, timeout=7200)
        made, expected = drawn(folder), drawn(undisturbed)
        assert made == {name: expected[name] for name in made} != {}
        nothing_half_written(folder / "results", folder / "figures")
        return last

    return finish


def test_a_few_kills_lose_no_byte(undisturbed: Path, tmp_path: Path) -> None:
    """Of one of the few figures, which takes about two thirds of the time of both."""
    longest = float((undisturbed / "seconds").read_text()) / 3
    assert kills(OF_THE_FEW, compared_with(undisturbed, OF_THE_FEW), tmp_path, 3, longest, seed=1).total() == 3


@pytest.mark.slow
@pytest.mark.parametrize("command", [ONE_FIGURE, smoke_command()], ids=["one-figure", "all-figures"])
def test_thirty_kills_lose_no_byte(command: list[str], mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    (tmp_path / "undisturbed").mkdir()
    (tmp_path / "kills").mkdir()
    folder, longest = left_alone(command, tmp_path / "undisturbed")
    done = kills(command, compared_with(folder, command), tmp_path / "kills", 30, 0.5 * longest, seed=2)
    assert all(done[target] >= 10 for target in TARGETS)


@pytest.mark.slow
def test_kills_of_a_laptop_run_lose_no_byte(mnist_config: Config, tmp_path: Path) -> None:
    """Figures 3 and 7 as the paper has them: jobs of minutes, resumed from their checkpoints."""
    assert mnist_config
    (tmp_path / "undisturbed").mkdir()
    command = snakemake_command(*LAPTOP)
    _, longest = left_alone(command, tmp_path / "undisturbed")

    def finish(folder: Path) -> Completed:
        last = run_command(*command, cwd=folder, timeout=7200)
        assert drawn(folder, "csv") == drawn(tmp_path / "undisturbed", "csv")
        assert any("resumes from" in f.read_text() for f in folder.glob("results/logs/train/*.log")), PAPER
        return last

    (tmp_path / "kills").mkdir()
    kills(command, finish, tmp_path / "kills", 6, longest / 2, seed=3)


def test_terminated_tests_leave_no_snakemake_behind(tmp_path: Path) -> None:
    """Sees fork servers' children that work on for a test that has ended."""
    number = tmp_path / "number"
    (tmp_path / "Snakefile").write_text("rule one:\n    shell: 'echo $$ > number; exec sleep 600'\n")
    (tmp_path / "a_test.py").write_text(
        "from pathlib import Path\nfrom tests import forked\n"
        "if __name__ == '__main__':\n    forked.snakemake('--cores', '1', cwd=Path(__file__).parent)\n"
    )
    tests = started([sys.executable, str(tmp_path / "a_test.py")], CHECKOUT, {"PYTHONPATH": str(CHECKOUT)})
    while not (number.is_file() and number.read_text()):
        assert tests.poll() is None
        time.sleep(0.1)
    tests.terminate()
    tests.wait()
    until = time.monotonic() + 60
    while any(processes_of(tests.pid, os.getsid).values()):
        assert time.monotonic() < until
        time.sleep(0.1)
