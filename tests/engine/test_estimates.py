"""Oracle: the kinds' own costs. Sees what jobs took that is lost on its way to estimates and limits of time."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from resaudit.base.text import in_minutes
from resaudit.cli import workflow
from resaudit.cli.insides import Insides
from resaudit.cli.workflow import JobsOfRules
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.plan_files import plan_file
from resaudit.plan.composition import load
from resaudit.plan.estimates import Estimates, cheapest_first, planned_size
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, first_of, run_planned
from tests.ran import HEADER, benchmark, ran_here


def given(results: Path) -> list[str]:
    return ["device=cpu", "figures=[fig02,stable_scaling/training,fig07]", f"paths.results={results}"]


def one_of(kind: str, results: Path) -> Job:
    """The longest of a kind."""
    jobs = make_plan(load(given(results))).jobs_of(kind).values()
    return max(jobs, key=lambda job: job.cost(Execution()).seconds)


@pytest.mark.parametrize("kind", ["train", "train_images"])
@pytest.mark.parametrize("times", [0.5, 8.0])
def test_estimates_and_limits_of_time_follow_what_jobs_took(kind: str, times: float, tmp_path: Path) -> None:
    job, other = one_of(kind, tmp_path), one_of("train_scaled", tmp_path)
    ran_here(job, tmp_path, times)
    config, built_in = load(given(tmp_path)), job.cost(Execution())
    estimates = Estimates.of(config)
    assert estimates.cost(job).seconds == pytest.approx(times * built_in.seconds, rel=1e-3)
    assert asdict(estimates.cost(job)) | {"seconds": 0} == asdict(built_in) | {"seconds": 0}
    assert estimates.cost(other) == other.cost(Execution())
    assert kind in estimates.origin
    jobs = JobsOfRules(given(tmp_path), CHECKOUT / "config", writes=False)
    assert jobs.cost(job) == estimates.here(job)
    # A job that was stopped and resumed seems short.
    assert jobs.minutes_asked(job, 2) == max(built_in.minutes_asked(2), estimates.here(job).minutes_asked(2))


def test_on_a_gpu_it_is_the_gpus_estimate_that_is_corrected(tmp_path: Path) -> None:
    job = one_of("train_images", tmp_path)
    ran_here(job, tmp_path, 3, "cuda")
    cost, built_in = Estimates.of(load(given(tmp_path))).cost(job), job.cost(Execution())
    assert cost.gpu_seconds == pytest.approx(3 * built_in.gpu_seconds, rel=1e-3)
    assert cost.seconds == built_in.seconds


def test_what_is_no_measurement_of_todays_job_says_nothing(tmp_path: Path) -> None:
    job = one_of("train_images", tmp_path)
    built_in = job.cost(Execution())
    file = ran_here(job, tmp_path, 5)

    def now() -> float:
        return Estimates.of(load(given(tmp_path))).cost(job).seconds

    assert now() == pytest.approx(5 * built_in.seconds, rel=1e-3)
    later = file.stat().st_mtime + 10
    os.utime(plan_file(tmp_path, job.key), (later, later))  # another device, or another estimate
    assert now() == built_in.seconds
    for text in ("", HEADER, f"{HEADER}\nNA\tNA\n", f"{HEADER}\nnan\n", f"{HEADER}\n1e999\n"):
        ran_here(job, tmp_path, 5)
        os.utime(benchmark(job, tmp_path, text), (2 * later, 2 * later))
        assert now() == built_in.seconds, text
    ran_here(job, tmp_path, 5)
    plan = plan_file(tmp_path, job.key)
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"cost": {"speed": 1}}))
    os.utime(plan, (1, 1))
    assert now() == built_in.seconds


def test_a_run_reads_again_what_its_jobs_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = one_of("train_images", tmp_path)
    jobs = JobsOfRules(given(tmp_path), CHECKOUT / "config", writes=False)
    before = jobs.cost(job).seconds
    ran_here(job, tmp_path, 4)
    assert jobs.cost(job).seconds == before
    monkeypatch.setattr(workflow, "SECONDS_BETWEEN_READINGS", 0)
    assert jobs.cost(job).seconds == pytest.approx(4 * before, rel=1e-3)


def test_the_disk_that_a_plan_knows_is_what_the_files_take_but_for_their_headers(tmp_path: Path) -> None:
    job = first_of(make_plan(load(["scale=smoke", "figures=[shortcut_importance/table1]"])), "simulate")
    run_planned(job, tmp_path)
    files = [job.folder(tmp_path) / name for name in job.files]
    arrays = sum(len(job.arrays_of(name)) for name in job.files)
    planned, took = planned_size(job), sum(file.stat().st_size for file in files)
    assert planned
    assert planned < took < planned + 600 * arrays
    # How many rows a theorem's table has, its computation decides.
    assert planned_size(first_of(make_plan(load(["figures=[theorem1]"])), "theorem")) is None


@pytest.mark.parametrize(
    ("chain", "other", "before"), [((40, 5), 0, 0), ((25, 5), 20, 3), ((5, 5), 50, 4), ((3, 2), 0, 0)]
)
def test_cheap_figures_come_first_but_a_long_chain_starts_in_time(
    chain: tuple[float, float], other: float, before: int
) -> None:
    """On two cores: a figure of four jobs of 10 s each, and one of a chain and another job."""
    jobs: dict[str, tuple[Cost, list[str]]] = {f"cheap{number}": (Cost(10, 0), []) for number in range(4)}
    figures = {"cheap": list(jobs), "dear": ["start", "end", "other"]}
    start, end = chain
    jobs |= {"start": (Cost(start, 0), []), "end": (Cost(end, 0), ["start"]), "other": (Cost(other, 0), [])}
    order = cheapest_first(figures, jobs, cores=2)
    assert sorted(order) == sorted(jobs)
    assert len([key for key in order[: order.index("start")] if key.startswith("cheap")]) == before


class Waiting:
    """One of Snakemake's jobs."""

    def __init__(self, job: Job) -> None:
        self.params = {"job": job.key}


@pytest.mark.parametrize(("gpus", "at_once"), [(None, None), (1, 1), (2, 2)])
def test_the_time_left_counts_gpus_or_without_a_bound_the_cores(
    gpus: int | None, at_once: int | None, tmp_path: Path
) -> None:
    overrides = ["device=cuda", "figures=[stable_scaling/training]", f"paths.results={tmp_path}"]
    jobs = JobsOfRules(overrides, CHECKOUT / "config", writes=True)
    jobs.write_plan()
    trainings = list(jobs.plan.jobs_of("train_scaled").values())
    inside = SimpleNamespace(on_cluster=None, gpus=gpus, waiting=lambda: {Waiting(job): [] for job in trainings})
    seconds = [jobs.cost(job).seconds for job in trainings]
    expected = max(sum(seconds) / (at_once or 4), *seconds)
    assert jobs.time_left(cast(Insides, inside), 4) == in_minutes(expected)
