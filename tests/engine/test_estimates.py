"""Oracle: the kinds' own costs. Sees a calibration that is dropped on its way to estimates and limits of time."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from resaudit.base.errors import ResultsError
from resaudit.cli.workflow import JobsOfRules
from resaudit.jobs.job import Execution, Job
from resaudit.plan.composition import load
from resaudit.plan.estimates import FILE, Estimates, calibrate
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, first_of, run_command
from tests.refusals import refused

FIGURES = "figures=[fig02,stable_scaling/training,fig07]"
MEASURED = {"machine": "made", "when": "2026-11-26T06:00:00+00:00", "cpu": {"train": 0.5, "train_images": 8.0}}


def given(results: Path) -> list[str]:
    return ["device=cpu", FIGURES, f"paths.results={results}"]


def written(results: Path, **changes: object) -> Path:
    results.mkdir(exist_ok=True)
    (results / FILE).write_text(json.dumps(MEASURED | changes))
    return results


def one_of(kind: str, results: Path) -> Job:
    return first_of(make_plan(load(given(results))), kind)


# Of what was not measured the geometric mean: sqrt(0.5 x 8).
@pytest.mark.parametrize(("kind", "times"), [("train", 0.5), ("train_images", 8.0), ("train_scaled", 2.0)])
def test_estimates_and_limits_of_time_are_those_of_the_calibration(kind: str, times: float, tmp_path: Path) -> None:
    written(tmp_path, cuda={"train_images": 3.0})
    job = one_of(kind, tmp_path)
    built_in, config = job.cost(Execution()), load(given(tmp_path))
    cost = Estimates.of(config).cost(job)
    assert cost.seconds == pytest.approx(times * built_in.seconds)
    assert cost.gpu_seconds == pytest.approx(3 * built_in.gpu_seconds)
    assert cost.megabytes == built_in.megabytes
    limit = JobsOfRules(given(tmp_path), CHECKOUT / "config", writes=False).cost(job)
    assert limit == Estimates.of(config).here(job) == cost
    assert Estimates.of(load(given(tmp_path / "none"))).cost(job) == built_in


def test_a_calibration_writes_what_kinds_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def slowness(device: str) -> float:
        asked.append(device)
        return 1.25

    job, said = one_of("train_images", tmp_path), list[str]()
    monkeypatch.setattr(type(job), "slowness", slowness)
    calibrate(tmp_path, said.append)
    assert Estimates.of(load(given(tmp_path))).cost(job).seconds == pytest.approx(1.25 * job.cost(Execution()).seconds)
    assert "1.25" in said[0]
    assert asked[0] == "cpu"


SPOILT = ({"cpu": {"train": -1}}, {"cpu": {"train": 1e308}}, {"cuda": {"train": 1e-308}}, {"speed": 1})


@pytest.mark.parametrize("spoil", [partial(written, **spoilt) for spoilt in SPOILT])
def test_a_damaged_calibration_is_refused(spoil: Callable[[Path], Path], tmp_path: Path) -> None:
    config = load(given(spoil(tmp_path)))
    with refused(ResultsError, "calibration.json"):
        Estimates.of(config)


@pytest.mark.slow
def test_this_machine_is_measured_and_explained(tmp_path: Path) -> None:
    done = run_command("resaudit", "calibrate", f"paths.results={tmp_path}", cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    measured = json.loads((tmp_path / FILE).read_text())["cpu"]["train_images"]
    assert 0.1 < measured < 10
    # A step against one whose networks are estimated alike: the same machine, minutes later.
    assert one_of("train_images", tmp_path).slowness("cpu") == pytest.approx(measured, rel=0.5)
    explained = run_command("resaudit", "explain", "fig02", f"paths.results={tmp_path}", cwd=CHECKOUT)
    assert "as calibrated on" in explained.stdout
