"""Oracle: the configuration. Sees a job that misses an input, a matrix made twice, a figure with another's data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from resaudit.audit.job import AuditJob
from resaudit.base.errors import ConfigError
from resaudit.claims.job import robustness_job
from resaudit.data.whiten import Whiten
from resaudit.figures.curves import snapshot_epochs
from resaudit.jobs.job import Job
from resaudit.plan.composition import load
from resaudit.plan.experiment import Experiment
from resaudit.plan.models import CONFIGURED, CONTROL
from resaudit.plan.plan import Plan, make_plan, plan_figure, with_inputs
from resaudit.plan.plans import Plans
from tests.refusals import refused


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


@dataclass(frozen=True)
class Walk(Job):
    """A job with a setting of its own, two of the experiment and one that has a default."""

    rate: float
    kept: tuple[int, ...]
    steps: int
    first: int = 0

    def run(self, work: Any) -> dict[str, Any]:
        return {}


class Walks(Experiment):
    rates: list[float]
    kept: list[int]
    steps: int


def test_a_job_takes_the_settings_of_its_experiment_that_have_the_name_of_its_fields() -> None:
    walks = Walks(rates=[0.5], kept=[1, 2], steps=3)
    assert walks.job(Walk, rate=0.5) == Walk(rate=0.5, kept=(1, 2), steps=3, first=0)
    assert walks.job(Walk, rate=0.5, steps=4, first=2) == Walk(rate=0.5, kept=(1, 2), steps=4, first=2)
    with pytest.raises(TypeError, match="rate"):
        walks.job(Walk)


def test_a_job_reads_what_its_inputs_write() -> None:
    """Else Snakemake would not wait for them."""
    for job in plan("scale=smoke").jobs.values():
        written = {file for needed in job.inputs.values() for file in needed.written(Path("results"))}
        assert set(job.reads(Path("results"))) <= written
        assert {file.parent for file in job.reads(Path("results"))} == {file.parent for file in written}


def test_what_a_variant_does_not_change_is_the_same_drawing() -> None:
    paper = "demystifying_resnet"
    drawings = robustness_job(Plans.composed(), paper, load(["scale=paper"])).drawings
    fig04, whole = (f"{paper}/{figure}" for figure in ("fig04", "shortcut1"))
    assert drawings["exactly-zero"][whole] == drawings[CONFIGURED][whole]
    assert drawings["exactly-zero"][fig04] not in (drawings[CONFIGURED][fig04], drawings[CONTROL][fig04])


def ids_of_judging(*overrides: str) -> tuple[str, str]:
    plans = Plans.composed(["figures=[demystifying_resnet/fig04]", *overrides])
    matrix = robustness_job(plans, "demystifying_resnet", load(["scale=paper"]))
    return matrix.id, AuditJob(plans.base.config, overrides).id


def test_a_matrix_is_another_only_if_a_verdict_could_be_and_no_id_contains_device_or_folders() -> None:
    """Sees every paper's matrix made again for another folder, or for a word of another paper's."""
    ids = matrix, audit = ids_of_judging()
    assert (
        ids_of_judging("device=cpu", "kernel=torch", "checkpoint_seconds=7", "paths.figures=x", "paths.data=y") == ids
    )
    own, other = "claims.demystifying_resnet", "claims.stable_scaling.forward-stable"
    words = ids_of_judging(f"{own}.plain-condition-explodes.finding=x", f"{other}.checks.inside.at_least=0.9")
    assert words[0] == matrix
    assert words[1] != audit
    assert ids_of_judging(f"{own}.plain-condition-explodes.checks.grows.at_least=0.4")[0] != matrix


@pytest.mark.parametrize("count", [2, 3, 10, 60, 1000, 5000, None])
def test_snapshots_hold_both_ends_and_ascend(count: int | None) -> None:
    epochs = snapshot_epochs(1000, count)
    assert (epochs[0], epochs[-1]) == (0, 1000)
    assert list(epochs) == sorted(set(epochs))
    assert len(epochs) == min(count or 1001, 1001)


def test_figures_of_a_run_may_be_of_different_data_or_of_none() -> None:
    prefix = "figure.demystifying_resnet"
    own = plan(
        "figures=[demystifying_resnet/fig04,fig07]", f"{prefix}.fig04.dataset=fashion_mnist", f"{prefix}.fig07.seed=7"
    )
    by_figure = {name.split("/")[1]: with_inputs(part.jobs.values()).values() for name, part in own.figures.items()}
    data = {name: {job.stem for job in jobs if isinstance(job, Whiten)} for name, jobs in by_figure.items()}
    assert data == {"fig04": {"fashion_mnist-pca10-centered"}, "fig07": {"mnist-pca10-centered"}}
    assert {job.ensemble.seed for job in by_figure["fig04"] if job.kind == "hessians"} == {1}
    assert {job.ensemble.seed for job in by_figure["fig07"] if job.kind == "train"} == {7}
    with refused(ConfigError, "demystifying_resnet/fig07", "rate_sweep"):
        plan_figure(own.config.figure["demystifying_resnet/fig07"].model_copy(update={"dataset": None}), "data")
