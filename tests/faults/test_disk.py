"""A full or read-only file system. Oracle: one line that says so, nothing half-written, then the plain run's bytes."""

import errno
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.conftest import run_command
from tests.faults.conftest import FEW_OVERRIDES, FIGURES, NOTHING, PAPER, drawn, error_of, few, nothing_half_written

Mount = Callable[..., Path]
OVERRIDES = ["scale=smoke", FIGURES, *FEW_OVERRIDES]


def fill(folder: Path) -> Path:
    """Take all space that is left, to the last byte."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (2**20, 2**12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_results_folder_is_said_and_resumed(undisturbed: Path, tmp_path: Path, tmpfs: Mount) -> None:
    results = tmpfs(tmp_path / "results", "size=2m")
    line = error_of(few(tmp_path))
    assert "cannot write" in line
    assert "results/whiten/" in line
    assert os.strerror(errno.ENOSPC) in line
    nothing_half_written(results)
    assert not list(results.glob("*/*/*.npz"))
    tmpfs(results, "size=200m")
    table = f"figures/{PAPER}/theorem1.csv"
    again = few(tmp_path, table)
    assert again.returncode == 0, again.stderr[-3000:]
    assert (tmp_path / table).read_bytes() == (undisturbed / table).read_bytes()


def test_a_full_figures_folder_is_said_and_resumed(copy: Path, undisturbed: Path, tmpfs: Mount) -> None:
    shutil.rmtree(copy / "figures")
    figures = tmpfs(copy / "figures", "size=96k")
    (figures / "kept").touch()  # else Snakemake tidies the empty folder away and stumbles over the mount
    run = few(copy)
    assert run.returncode != 0
    assert re.search(rf"cp: .*'figures/.*': {os.strerror(errno.ENOSPC)}", run.stderr), run.stderr[-3000:]
    assert "Traceback" not in run.stderr
    nothing_half_written(figures)
    for name, content in drawn(copy).items():
        assert content == drawn(undisturbed)[name]  # what is there is whole
    tmpfs(figures, "size=50m")
    again = few(copy)
    assert again.returncode == 0, again.stderr[-3000:]
    assert drawn(copy) == drawn(undisturbed)


def train(folder: Path, undisturbed: Path, stderr: str) -> tuple[int, str, bool]:
    """Train the sweep with another run's whitened data; gives the exit status, what was said, whether bytes agree."""
    sweep = next(job for job in make_plan(load(OVERRIDES)).jobs_of("train").values() if job.sweep is None)
    shutil.copytree(undisturbed / "results" / "whiten", folder / "results" / "whiten")
    write_job(sweep, Execution(checkpoint_seconds=0.05), folder / "results")
    command = [sys.executable, "-m", "resaudit", "run", sweep.key]
    done = run_command("bash", "-c", f'"$@" 2{stderr}', "run", *command, cwd=folder)
    path = sweep.folder(Path("results")) / "trajectory.npz"
    same = (folder / path).exists() and (folder / path).read_bytes() == (undisturbed / path).read_bytes()
    return done.returncode, done.stdout + done.stderr, same


def test_work_goes_on_where_no_checkpoint_can_be_written(undisturbed: Path, tmp_path: Path, tmpfs: Mount) -> None:
    fill(tmpfs(tmp_path / "results" / "checkpoints", "size=16k"))
    code, said, same = train(tmp_path, undisturbed, ">&1")
    assert code == 0, said
    assert re.search(r"^resaudit: .*cannot write results/checkpoints/train/", said, re.MULTILINE)
    assert os.strerror(errno.ENOSPC) in said
    assert same


def test_work_goes_on_where_its_log_is_on_a_full_disk(undisturbed: Path, tmp_path: Path) -> None:
    assert train(tmp_path, undisturbed, ">/dev/full") == (0, "", True)


def test_an_error_is_said_even_where_the_log_is_on_a_full_disk(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m resaudit run train/nothing 2> /dev/full'
    run = run_command("bash", "-c", command, cwd=tmp_path)
    assert run.returncode == 1
    assert run.stdout.startswith("resaudit: error: ")
    assert "train/nothing" in run.stdout


@pytest.mark.parametrize("key", ["results", pytest.param("figures", marks=pytest.mark.slow)])
def test_a_read_only_folder_is_said_before_any_job(key: str, tmp_path: Path, tmpfs: Mount) -> None:
    folder = tmpfs(tmp_path / key, "size=1m")
    tmpfs(folder, "ro")
    run = few(tmp_path)
    line = error_of(run)
    assert line.endswith(f"paths.{key}")
    assert str(folder) in line
    assert "rule whiten" not in run.stdout + run.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {key, ".snakemake"}


@pytest.mark.parametrize("key", ["results", "figures"])
def test_a_run_with_nothing_to_do_is_done_in_a_read_only_folder(key: str, copy: Path, tmpfs: Mount) -> None:
    shutil.move(copy / key, copy / "moved")
    folder = tmpfs(copy / key, "size=200m")
    shutil.copytree(copy / "moved", folder, dirs_exist_ok=True, symlinks=True)
    tmpfs(folder, "ro")
    run = few(copy)
    assert run.returncode == 0, run.stderr[-3000:]
    assert NOTHING in run.stdout + run.stderr


@pytest.mark.slow
def test_results_that_become_read_only_on_the_way_are_said(copy: Path, tmpfs: Mount, undisturbed: Path) -> None:
    """As a file system does that finds an error on its disk."""
    kept = tmpfs(copy / "kept", "size=50m")
    shutil.move(copy / "figures" / PAPER, kept / PAPER)
    (copy / "figures" / PAPER).symlink_to(kept / PAPER)
    (kept / PAPER / "theorem1.csv").unlink()
    tmpfs(kept, "ro")
    run = few(copy)
    assert run.returncode != 0
    assert "Write-protected output" in run.stderr
    tmpfs(kept, "rw")
    assert few(copy).returncode == 0
    assert drawn(copy) == drawn(undisturbed)


def test_read_only_modes_are_said_to_who_is_not_root(copy: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere, whatever the mode")
    (copy / "figures").chmod(0o555)
    try:
        assert error_of(few(copy)).endswith("paths.figures")
    finally:
        (copy / "figures").chmod(0o755)
