"""Files with dates of a clock that was wrong. Oracle: the bytes of a run in whose folder nobody was.

Sees work that is thrown away for a date alone.
"""

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from resaudit.cli.workflow import set_dates_in_the_future
from tests.faults.conftest import NOTHING, drawn, few


def files_in(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def test_dates_in_the_future_throw_no_work_away(copy: Path, undisturbed: Path) -> None:
    late = time.time() + 86_400
    for file in [*files_in(copy / "results" / "whiten"), *files_in(copy / "results" / "plan")]:
        os.utime(file, (late, late))
    for folder in ("results/theorem", "results/draw", "figures"):
        shutil.rmtree(copy / folder)
    run = few(copy)
    assert run.returncode == 0, run.stderr[-3000:]
    assert re.search(r"^resaudit: \d+ files ", run.stderr, re.MULTILINE)
    assert drawn(copy) == drawn(undisturbed)
    again = few(copy, "--dry-run")
    assert NOTHING in again.stdout + again.stderr


def test_only_dates_in_the_future_are_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = time.time()
    dates = {"old": now - 1e6, "new": now - 1, "soon": now + 60, "late": now + 1e6}
    files = {name: tmp_path / name for name in (*dates, "absent")}
    for name, date in dates.items():
        files[name].touch()
        os.utime(files[name], (date, date))
    set_dates_in_the_future(files.values())
    found = {name: files[name].stat().st_mtime for name in dates}
    assert found["old"] == pytest.approx(dates["old"])
    assert found["new"] == pytest.approx(dates["new"])
    assert now <= found["soon"] <= time.time()
    assert now <= found["late"] <= time.time()
    assert capsys.readouterr().err.startswith("resaudit: 2 files ")
