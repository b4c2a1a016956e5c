"""What Snakemake's own processes on a cluster know of a run. Oracle: the run's plan, composed.

Sees a job that is computed otherwise there than planned, and one that composes every figure before it starts.
"""

import re
from pathlib import Path

import pytest

from resaudit.base.errors import ConfigError
from resaudit.cli.workflow import JobsOfRules, started_for
from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import read_job
from resaudit.plan import composition
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan, with_inputs
from tests.conftest import CHECKOUT
from tests.refusals import refused

SNAKEMAKE = ["snakemake", "--snakefile", "Snakefile", "--target-jobs"]


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["train:id=a-1", "--allowed-rules", "train"], ["train/a-1"]),
        (["train:id=a-1", "draw:id=b", "--cores", "all"], ["train/a-1", "draw/b"]),
        (["train:id=a-1", "audit:"], []),
        (["robustness_matrix:paper=x", "--force"], []),
    ],
)
def test_jobs_without_an_id_have_no_file_to_read(words: list[str], keys: list[str]) -> None:
    assert started_for([*SNAKEMAKE, *words]) == keys
    assert started_for(["snakemake", "--cores", "all", *words]) == []


@pytest.mark.parametrize(("scale", "long"), [("smoke", 0), ("paper", 10)])
def test_jobs_of_more_than_a_day_are_said_until_they_are_done(scale: str, long: int, tmp_path: Path) -> None:
    given = [f"scale={scale}", "figures=[stable_scaling/products,demystifying_resnet/fig05]"]
    given += ["products.runs=2000"] if long else []
    jobs = JobsOfRules([*given, f"paths.results={tmp_path}"], CHECKOUT / "config", writes=False)
    said = jobs.long_in_words()
    assert len(said) == long
    assert all(re.match(r"long: product_norms/.*: about [\d.]+ (hours|days);", line) for line in said)
    for job in jobs.plan.jobs.values():
        for file in job.written(tmp_path):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    assert jobs.long_in_words() == []


def test_jobs_of_the_figure_with_the_least_work_left_come_first(tmp_path: Path) -> None:
    given = ["scale=smoke", "figures=[fig07,demystifying_resnet/fig04,theorem1]", f"paths.results={tmp_path}"]

    def order() -> list[str]:
        jobs = JobsOfRules(given, CHECKOUT / "config", writes=False)
        priorities = jobs.priorities(2)
        assert all(0 <= priorities[key] < 1 for key in jobs.plan.jobs)
        first = {
            name: max(priorities[job.key] for job in part.jobs.values()) for name, part in jobs.plan.figures.items()
        }
        return sorted((name.split("/")[1] for name in first), key=lambda n: -first[f"demystifying_resnet/{n}"])

    assert order() == ["theorem1", "fig04", "fig07"]
    for job in make_plan(load([*given[:1], "figures=[fig07]", given[2]])).jobs.values():
        for file in job.written(tmp_path):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    assert order() == ["fig07", "theorem1", "fig04"]


def test_a_process_for_one_job_reads_it_and_its_inputs_and_composes_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ["scale=smoke", "figures=[demystifying_resnet/fig05]", "protocol.runs=3", "checkpoint_seconds=7"]
    given += [f"paths.{key}={tmp_path / key}" for key in ("data", "results", "figures")]
    whole = JobsOfRules(given, CHECKOUT / "config", writes=True)
    whole.write_plan()
    monkeypatch.delattr(composition, "_figure")
    job = next(iter(whole.plan.jobs_of("hessians").values()))
    one = JobsOfRules(given, CHECKOUT / "config", writes=False, only=[job.key])
    assert one.execution == Execution(checkpoint_seconds=7)
    for needed in (job, *whole.plan.jobs_of("train").values()):
        assert one.of(needed.kind, id=needed.id) == needed
        assert one.cost(needed) == whole.cost(needed)
    assert one.plan.figures == {}


def test_a_process_for_one_job_writes_its_plan_where_no_disk_is_shared(tmp_path: Path) -> None:
    given = ["scale=smoke", "figures=[demystifying_resnet/fig05]", f"paths.results={tmp_path}"]
    job = next(iter(make_plan(load(given)).jobs_of("hessians").values()))
    jobs = JobsOfRules(given, CHECKOUT / "config", writes=False, only=[job.key])
    jobs.write_plan()
    assert not list(tmp_path.iterdir())
    assert jobs.of("hessians", id=job.id) == read_job(tmp_path, job.key)[0] == job
    assert len(list(tmp_path.glob("plan/*/*"))) == len(with_inputs([job]))
    with refused(ConfigError, "train/x"):
        JobsOfRules(given, CHECKOUT / "config", False, ["train/x"]).of("train", id="x")


def test_a_drawing_that_no_figure_has_is_refused(tmp_path: Path) -> None:
    """Its folder may be asked of Snakemake as a target, perhaps of an earlier configuration."""
    given = ["scale=smoke", "figures=[stable_scaling/map]", f"paths.results={tmp_path}"]
    jobs = JobsOfRules(given, CHECKOUT / "config", writes=False)
    with refused(ConfigError, "draw/x-1"):
        jobs.of("draw", id="x-1")
