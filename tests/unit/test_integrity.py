"""Oracle: dates of files as a wrong clock leaves them. Sees one file of the future among many that are not."""

import os
import time
from pathlib import Path

import pytest

from resaudit.config import Paths
from resaudit.errors import ResauditError
from resaudit.layout import Layout
from resaudit.integrity import check_dates

NAMES = ("results/train/a/trajectory.npz", "results/logs/a.log", "figures/paper/fig04.csv", "figures/audit.html")


@pytest.mark.parametrize("name", NAMES)
def test_one_file_of_the_future_is_said_wherever_it_lies(name: str, tmp_path: Path) -> None:
    for other in NAMES:
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other).touch()
    layout, path = Layout(Paths("data", str(tmp_path / "results"), str(tmp_path / "figures"))), tmp_path / name
    # Clocks of a file server and its clients differ by seconds.
    os.utime(path, (time.time() + 60,) * 2)
    check_dates(layout)
    os.utime(path, (time.time() + 3600,) * 2)
    with pytest.raises(ResauditError, match=rf"{path} is dated 1\.0 hours in the future"):
        check_dates(layout)
