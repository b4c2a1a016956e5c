"""A clock that was wrong for a part of a run, as dates of files a year off. Oracle: the bytes of the plain run.

A wrong clock shows in nothing but the dates of files, by which Snakemake sees what is older than what.
"""

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.faults.conftest import done_as_told, drawn, error_of, few

YEAR = 365 * 86400.0


def dated(folder: Path, seconds: float) -> None:
    for path in [folder, *folder.rglob("*")]:
        then = path.lstat().st_mtime + seconds
        os.utime(path, (then, then), follow_symlinks=False)


def second_half_is_left(folder: Path) -> None:
    shutil.rmtree(folder / "figures")
    shutil.rmtree(folder / "results" / "curvature")


@pytest.mark.slow
def test_results_of_a_clock_that_was_a_year_behind_are_gone_on_with(copy: Path, undisturbed: Path) -> None:
    second_half_is_left(copy)
    dated(copy / "results", -YEAR)
    run = few(copy)
    assert run.returncode == 0, run.stderr[-3000:]
    assert drawn(copy) == drawn(undisturbed)


def test_results_of_a_clock_that_was_a_year_ahead_are_never_taken_for_newer(copy: Path, undisturbed: Path) -> None:
    second_half_is_left(copy)
    dated(copy / "results", YEAR)
    line = error_of(few(copy))
    assert "hours in the future, so changes until then would be missed: set the clock right" in line
    done_as_told(line, copy)
    run = few(copy)
    assert run.returncode == 0, run.stderr[-3000:]
    assert drawn(copy) == drawn(undisturbed)
    assert max(path.lstat().st_mtime for path in copy.rglob("*")) < time.time() + 60
    done = few(copy, "--dry-run")
    assert "Nothing to be done" in done.stdout + done.stderr, "it comes to an end"
