"""Oracle: benchmarks/on_gpu.py itself, in small. Sees a part that fails unsaid, and an oracle that it leaves out."""

import re
import sys
from pathlib import Path

import pytest
from benchmarks import on_gpu
from benchmarks.on_gpu import REHEARSAL, TESTS, run

from resaudit.base.errors import ResauditError
from tests.conftest import CHECKOUT, run_command
from tests.made_images import ARCHIVE, make_checkout


def test_every_oracle_that_a_machine_without_a_gpu_skips_is_run() -> None:
    wants_one = re.compile(r"@needs_card|skipif\(not torch\.cuda\.is_available\(\)")
    files = (CHECKOUT / "tests" / "oracle").glob("test_*.py")
    assert {file.stem for file in files if wants_one.search(file.read_text(encoding="utf-8"))} <= set(TESTS)


@pytest.mark.slow
def test_one_command_plans_figure_2_trains_and_reports_it(tmp_path: Path) -> None:
    make_checkout(tmp_path)
    command = [sys.executable, "-m", "benchmarks.on_gpu", "run", "--rehearse", "--part", "figure"]
    environment = {"PYTHONPATH": f"{CHECKOUT / 'src'}:{CHECKOUT}"}
    bare = run_command(*command, cwd=tmp_path, environment=environment)
    assert bare.returncode == 1
    assert re.search(r"^failed: ResauditError: .*ARCHIVE", bare.stdout, re.MULTILINE)
    done = run_command(*command, ARCHIVE, cwd=tmp_path, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    report = (tmp_path / "results" / "on_gpu" / "report.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^- (fetch|train_images|draw)/\S+: exit status 0, \d+ s$", report, re.MULTILINE)) == 3
    assert re.search(r"^\| 8 \| \d+\.\d{3} \| \d+\.\d{2} \|$", report, re.MULTILINE)
    assert any("wrote" in file.read_text() for file in (tmp_path / "results/on_gpu").glob("train_images-*.txt"))


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(on_gpu, "RESULTS", tmp_path)
    return tmp_path / "on_gpu" / "report.md"


def test_a_command_that_takes_too_long_is_ended_and_its_words_are_kept(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu, "LEAST_SECONDS", 2)
    slow = [sys.executable, "-c", "import time; print('so far', flush=True); time.sleep(600)"]
    report.parent.mkdir()
    assert list(on_gpu.said_by("slow", slow, until=0)) == ["```\nso far\n```"]


def test_a_row_that_does_not_fit_takes_no_other_along(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(_trial: object, _network: object, _recipe: object, by_graph: bool) -> on_gpu.Measured:
        if by_graph:
            raise ResauditError("too small")
        return on_gpu.Measured(0.01, 123.4, "eager")

    monkeypatch.setattr(on_gpu, "timed", timed)
    assert run(REHEARSAL, ["steps"], until=float("inf")) == 0
    rows = [line for line in report.read_text(encoding="utf-8").splitlines() if re.match(r"\| (8|14) ", line)]
    assert [row.count("|") for row in rows] == [8, 8, 8, 8]
    assert rows[0].endswith("| 123 |")
    assert rows[1].startswith("| 8 | graph | too small |")


def test_when_the_time_is_over_no_part_begins(report: Path) -> None:
    assert run(REHEARSAL, ["steps", "peer", "arithmetic", "figure"], until=0.0) == 0
    lines = report.read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("no time") for line in lines) == 4
    assert not any(line.startswith(("|", "-")) for line in lines)
