"""Raw data where no source has them. Oracle: the files' bytes before. Sees right files that a failing fetch removes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import Completed, run_snakemake
from tests.faults.conftest import FIGURES

FILES = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "train-images-idx3-ubyte", "train-labels-idx1-ubyte")


@pytest.fixture
def shared(mnist_config: Config, tmp_path: Path) -> Path:
    """A folder of data that others use too."""
    (tmp_path / "mine").mkdir()
    return Path(shutil.copytree(Path(mnist_config.paths.data) / "mnist", tmp_path / "shared" / "mnist"))


def whitened(shared: Path, folder: Path, *arguments: str) -> Completed:
    """The run of the job that reads the files; the only source is a folder of the user's, ``mine``."""
    (whiten,) = make_plan(load(["scale=smoke", FIGURES])).jobs_of("whiten").values()
    target = str(whiten.record(Path("results")))
    data = f"overrides=[paths.data={shared.parent},dataset.sources=[folder],dataset.folder={folder / 'mine'}]"
    config = ("--config", "scale=smoke", FIGURES, data)
    return run_snakemake(target, *arguments, *config, cwd=folder)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and date of each file."""
    return {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}


@pytest.mark.parametrize("flags", [["-F"], ["-R", "fetch_mnist"], ["-f"], ["--delete-all-output"]])
def test_right_files_are_never_removed(flags: list[str], shared: Path, tmp_path: Path) -> None:
    before = contents(shared)
    run = whitened(shared, tmp_path, *flags)
    assert run.returncode == 0, run.stderr[-3000:]
    assert contents(shared) == before


@pytest.mark.parametrize("flags", [[], ["-F"], ["-R", "fetch_mnist"]])
@pytest.mark.parametrize("missing", [[FILES[0]], [FILES[1], FILES[2]]])
def test_a_fetch_that_fails_leaves_the_files_that_are_there(
    flags: list[str], missing: list[str], shared: Path, tmp_path: Path
) -> None:
    for name in missing:
        (shared / name).unlink()
    before = contents(shared)
    run = whitened(shared, tmp_path, *flags)
    assert run.returncode != 0
    assert "no source has" in run.stderr
    assert contents(shared) == before


def test_a_fetch_takes_what_is_missing_alone(shared: Path, tmp_path: Path) -> None:
    before = contents(shared)
    (shared / FILES[1]).rename(tmp_path / "mine" / FILES[1])
    run = whitened(shared, tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    assert {name: content for name, (content, _) in contents(shared).items()} == {
        name: content for name, (content, _) in before.items()
    }
    assert [name for name, content in contents(shared).items() if content != before[name]] == [FILES[1]]


@pytest.mark.parametrize("flags", [[], ["-F"]])
def test_a_read_only_folder_of_right_files_is_accepted(
    flags: list[str], shared: Path, tmp_path: Path, tmpfs: Callable[..., Path]
) -> None:
    disk = tmpfs(tmp_path / "disk", "size=100m")
    shutil.copytree(shared, disk / "mnist")
    tmpfs(disk, "ro")
    run = whitened(disk / "mnist", tmp_path, *flags)
    assert run.returncode == 0, run.stderr[-3000:]


def test_a_read_only_folder_that_lacks_a_file_is_said_before_any_job(
    shared: Path, tmp_path: Path, tmpfs: Callable[..., Path]
) -> None:
    (shared / FILES[3]).unlink()
    disk = tmpfs(tmp_path / "disk", "size=100m")
    shutil.copytree(shared, disk / "mnist")
    tmpfs(disk, "ro")
    run = whitened(disk / "mnist", tmp_path)
    assert run.stderr.strip().endswith("paths.data")
