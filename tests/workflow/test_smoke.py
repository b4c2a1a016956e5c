"""The whole workflow, run as a user runs it: every figure at scale smoke, run again, reported.

Sees a rule that misses an input, a job that is run twice, a result that depends on what happened on the way.
"""

import re
import shutil
from pathlib import Path

import pytest

from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import Completed, configured, smoke
from tests.residual.test_smoke import TABLES, assert_as_expected


def tables(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("figures/demystifying_resnet/*.csv"))}


def jobs(run: Completed) -> int:
    """How many jobs a dry run says are to be done."""
    total = re.search(r"^total\s+(\d+)$", run.stdout + run.stderr, re.MULTILINE)
    return int(total[1]) if total else 0


def test_the_tables_are_what_they_were(finished: Path) -> None:
    for name in TABLES:
        assert_as_expected(name, finished)


def test_nothing_is_left_to_do_and_another_scale_shares_what_it_can(finished: Path) -> None:
    assert jobs(smoke(finished, "--dry-run")) == 0
    chosen = smoke(finished, "--dry-run", config=("figures=[demystifying_resnet/fig03]",))
    assert set(re.findall(r"\n(?:local)?rule (\w+):", chosen.stdout + chosen.stderr)) <= {"audit", "all"}


def test_what_is_edited_or_lost_is_made_again(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    (folder / "figures/demystifying_resnet/fig04.png").unlink()
    again = smoke(folder)
    assert again.returncode == 0
    assert "rule show" in again.stdout + again.stderr
    assert jobs(smoke(folder, "--dry-run")) == 0
    assert tables(folder) == tables(finished)


def test_cheap_figures_are_drawn_before_dear_ones_are_computed(finished: Path) -> None:
    drawn, computed = (
        sorted(file.stat().st_mtime for file in finished.glob(files))
        for files in ("figures/*/*.png", "results/*/*/provenance.json")
    )
    assert drawn[len(drawn) // 4] < computed[len(computed) // 2]


def test_one_file_can_be_asked_for(finished: Path) -> None:
    run = smoke(finished, "--dry-run", "--force", "figures/demystifying_resnet/fig04.pdf")
    assert jobs(run) == 1
    assert "rule show" in run.stdout + run.stderr


def test_the_report_holds_figures_and_captions(finished: Path) -> None:
    run = smoke(finished, "--report", "report.html")
    assert run.returncode == 0, run.stderr[-3000:]
    report = (finished / "report.html").read_text(encoding="utf-8")
    assert "does not change with depth" in report
    assert "fig07.png" in report
    assert "with ReLUs inside the units" in report
    assert "audit.html" in report


@pytest.mark.slow
def test_one_core_gives_the_same_tables_in_another_folder(finished: Path, tmp_path: Path) -> None:
    """Of every figure; tests/faults/test_elsewhere.py has it of a few."""
    run = smoke(tmp_path, cores="1")
    assert run.returncode == 0, run.stderr[-3000:]
    assert "Provided cores: 1" in run.stdout + run.stderr
    files = [f for kind in ("csv", "pdf", "svg", "png") for f in tmp_path.glob(f"figures/*/*.{kind}")]
    assert len(files) == 4 * len(TABLES)
    for file in files:
        assert file.read_bytes() == (finished / file.relative_to(tmp_path)).read_bytes(), file


def test_every_job_bounds_its_threads(mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    run = smoke(tmp_path, "--dry-run", "--printshellcmds")
    commands = re.findall(r" -m resaudit (\w+ \S+) (.*)$", run.stdout + run.stderr, re.MULTILINE)
    bounded = {job.split("/")[0] for job, arguments in commands if re.search("--threads [12]", arguments)}
    unbounded = {job.split("/")[0] for job, arguments in commands if "--threads " not in arguments}
    kinds = {job.kind for job in make_plan(configured("scale=smoke")).jobs.values()} - {"fetch"} | {"draw", "audit"}
    assert bounded == {f"run {kind}" for kind in kinds}
    assert unbounded <= {"run fetch"}
