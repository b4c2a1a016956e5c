"""Two runs at once in one folder, and the same run under other circumstances. Oracle: the bytes of the plain run.

Sees a lock that does not hold, a path that is not quoted, a result that depends on cores, locale, time zone, hash seed
or umask.
"""

import fcntl
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Completed
from tests.faults.conftest import drawn, error_of, few, few_command, started, wait_for

Elsewhere = tuple[Path, Completed]
NAMES = ["paths.results='my results'", "paths.figures='Bilder für später'"]
OTHER = {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "LC_ALL": "C"}


def locales() -> list[str]:
    """Those of this machine that write numbers or letters in another way."""
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.split()
    return [name for name in known if name.startswith(("tr_TR", "de_DE"))]


@pytest.fixture(scope="module")
def elsewhere(undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """A folder of a difficult name with a finished run on one core, and a second run that came while it was at work."""
    assert undisturbed
    folder = tmp_path_factory.mktemp("there") / "Größe, 'x' und Ωmega (2)"
    folder.mkdir()
    before = os.umask(0o077)
    first = started(few_command(cores="1", overrides=NAMES), folder, OTHER)
    os.umask(before)
    lock = folder / "my results" / ".lock"
    wait_for(lambda: lock.exists() and lock.read_text() != "", first, "its lock was held")
    second = few(folder, overrides=NAMES)
    # The first run was still at work when the second was told.
    assert first.poll() is None
    said = first.communicate(timeout=900)[0]
    assert first.returncode == 0, said[-3000:]
    second.args = str(first.pid)
    return folder, second


def test_of_two_runs_at_once_the_second_is_told_why_not(
    elsewhere: Elsewhere,
) -> None:
    folder, second = elsewhere
    assert {str(second.args), "my results"} <= {*re.findall(r"\d+|my results", error_of(second))}
    assert few(folder, "--dry-run", overrides=NAMES).returncode == 0


def test_a_second_run_takes_nothing_away_from_the_first(tmp_path: Path) -> None:
    """What a killed writer left looks like what a writer is at work on: only who holds the lock may sweep."""
    (tmp_path / "results").mkdir()
    being_written = tmp_path / "results" / ".trajectory.npz.1.part"
    being_written.touch()
    with (tmp_path / "results" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = few(tmp_path)
        assert run.returncode != 0
        assert "results" in error_of(run)
    assert being_written.exists()


def test_another_folder_core_locale_time_zone_and_umask_give_the_same_bytes(
    elsewhere: Elsewhere, undisturbed: Path
) -> None:
    assert drawn(elsewhere[0], figures="Bilder für später") == drawn(undisturbed)
    assert (elsewhere[0] / "Bilder für später" / "audit.html").stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cores", "environment"),
    [
        ("1", {}),
        ("2", {}),
        ("1", {"PYTHONHASHSEED": "1", "TZ": "America/St_Johns"}),
        ("2", {"PYTHONHASHSEED": "2", "LC_ALL": "C", "LANG": "C"}),
        ("2", {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2", "LC_ALL": "C.UTF-8"}),
        *(("2", {"LC_ALL": name, "LANG": name, "LANGUAGE": name}) for name in locales()),
    ],
)
def test_five_runs_give_the_same_bytes(
    cores: str, environment: dict[str, str], undisturbed: Path, tmp_path: Path
) -> None:
    run = few(tmp_path, cores=cores, environment=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert drawn(tmp_path) == drawn(undisturbed)
