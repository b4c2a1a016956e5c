"""Oracle: identity is a function of the settings. Sees ensembles trained twice, and ids that miss a setting."""

import json
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from resaudit.audit.job import AuditJob
from resaudit.claims.job import robustness_job
from resaudit.data.dataset import FILES, Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Whiten
from resaudit.figures.snapshots import snapshot_epochs
from resaudit.jobs.job import Job, content_id
from resaudit.plan.composition import load
from resaudit.plan.experiment import Experiment, at
from resaudit.plan.models import CONFIGURED, CONTROL
from resaudit.plan.plan import Plan, make_plan, plan_figure, with_inputs
from resaudit.plan.plans import Plans
from residual.demystifying_resnet.experiments.best_rate_spectra import SpectraConfirmation
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks.ensemble import Ensemble
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.theory.cases import Cases
from tests.conftest import of_kind
from tests.refusals import refused

DATASET = Dataset.model_validate(
    {"name": "it", "title": "It", "citation": "", "licence": "", "classes": 10, "sources": ["folder"],
     "files": {name: {"name": name, "size": 1, "sha256": "0" * 64} for name in FILES}}
)  # fmt: skip


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


def with_other_bytes(name: str) -> Dataset:
    other = DATASET.files[name].model_copy(update={"sha256": "1" * 64})
    return DATASET.model_copy(update={"files": DATASET.files | {name: other}})


FETCH = Fetch(DATASET, "data/it")
WHITEN = Whiten(FETCH, 10, True)
NETWORK = Network(2, 4, 10)
ENSEMBLE = Ensemble(NETWORK, "xavier", 0.01, 1, 3)
TRAIN = Train(WHITEN, ENSEMBLE, 5, (0.1,))


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


@cache
def trained(*overrides: str) -> frozenset[str]:
    """The ids of all trainings."""
    return frozenset(of_kind(plan(*overrides), Train))


def trainings(figure: str, *overrides: str) -> dict[tuple[str, int], Train]:
    """A figure's sweeps of learning rates, by network and depth."""
    (part,) = plan(f"figures=[{figure}]", *overrides).figures.values()
    found = {(dict(where)["network"], dict(where)["depth"]): job for where, job in part.jobs.items()}
    return {key: job for key, job in found.items() if isinstance(job, Train)}


def test_figures_share_ensembles() -> None:
    fig07 = trained("figures=[fig07]")
    fig08 = trained("figures=[fig08]")
    fig03 = trained("figures=[demystifying_resnet/fig03]")
    assert fig03 < fig07 | fig08
    assert fig03 & fig07
    assert fig03 & fig08
    for scale in ("laptop", "paper"):
        figures = plan("figures=[demystifying_resnet/fig03,fig08]", f"scale={scale}").figures
        left, right = (figures[f"demystifying_resnet/{name}"].jobs for name in ("fig03", "fig08"))
        assert {where: job.id for where, job in left.items() if ("network", "2-shortcut-relu") in where} == {
            where: job.id for where, job in right.items() if ("network", "2-shortcut-relu") in where
        }
    everything = trained(
        "figures=[demystifying_resnet/fig03,demystifying_resnet/fig05,demystifying_resnet/fig06,fig07]"
    )
    # Six sweeps a network of Figure 7, of two networks with three blocks of fresh runs each; three of ReLUs in Figure 3
    # with one; in Figure 5 one block with Hessians along the training and one at its end.
    assert len(everything) == 6 * (2 * (1 + 3) + (1 + 1)) + 3 * (1 + 1) + 3 * 2
    assert set(of_kind(plan("figures=[demystifying_resnet/fig05]"), Hessians)) == set(
        of_kind(plan("figures=[demystifying_resnet/fig06]"), Hessians)
    )


def test_other_shortcut_depths_can_be_asked_for() -> None:
    asked = plan(
        "figures=[demystifying_resnet/fig04]",
        "figure.demystifying_resnet.fig04.protocol.networks=[1-shortcut,orthogonal]",
    )
    starts = [job.ensemble for job in of_kind(asked, Hessians).values()]
    networks = {e.network.shortcut_depth: (e.initialization, e.scale) for e in starts}
    assert networks == {1: ("xavier", 0.01), 0: ("orthogonal", 1.0)}


def test_ids_do_not_depend_on_device_folders_or_chosen_figures() -> None:
    elsewhere = plan("device=cpu", "paths.results=/tmp/x", "figures=[fig07]")
    assert set(of_kind(elsewhere, Train)) < trained()


@pytest.mark.parametrize("override", ["seed=2", "whitening.centered=false", "dataset=fashion_mnist"])
def test_ids_change_with_what_results_depend_on(override: str) -> None:
    assert not trained() & trained(override)


CHANGES: list[tuple[Job, dict[str, Any]]] = [
    (WHITEN, {"data": replace(FETCH, dataset=with_other_bytes("test_labels")), "components": 9, "centered": False,
              "signs": "nearest"}),
    (TRAIN, {
        "data": replace(WHITEN, components=9), "ensemble": replace(ENSEMBLE, runs=4), "epochs": 6,
        "learning_rates": (0.2,), "sweep": TRAIN, "rate": "tied_for_best", "snapshot_epochs": (0,),
    }),
    (Hessians(WHITEN, ENSEMBLE, "float64", "counts"), {
        "data": replace(WHITEN, components=9), "ensemble": replace(ENSEMBLE, runs=4), "precision": "float32",
        "method": "dense", "training": TRAIN,
    }),
    (Theorem(WHITEN, "theorem_1", Cases(1, 2)), {
        "data": replace(WHITEN, components=9), "statement": "theorem_2", "cases": Cases(1, 3),
    }),
]  # fmt: skip


@pytest.mark.parametrize(("job", "changes"), CHANGES, ids=[job.kind for job, _ in CHANGES])
def test_every_field_of_a_job_changes_its_id(job: Job, changes: dict[str, Any]) -> None:
    assert set(changes) == {f.name for f in fields(job)}
    ids = {replace(job, **{name: value}).id for name, value in changes.items()}
    assert len(ids | {job.id}) == len(changes) + 1
    assert content_id(job.stem, json.loads(json.dumps(job.identity))) == job.id


def test_every_field_of_an_ensemble_changes_the_id_of_its_training() -> None:
    changes = {
        "network": replace(NETWORK, depth=8), "initialization": "orthogonal", "scale": 1.0, "seed": 2, "runs": 4,
        "first": 3,
    }  # fmt: skip
    assert set(changes) == {f.name for f in fields(Ensemble)}
    changed = [replace(ENSEMBLE, **{name: value}) for name, value in changes.items()]  # type: ignore[arg-type]
    changed += [replace(ENSEMBLE, network=replace(NETWORK, **{key: "relu"})) for key in ("pre", "mid", "post")]  # type: ignore[arg-type]
    assert len({replace(TRAIN, ensemble=ensemble).id for ensemble in (ENSEMBLE, *changed)}) == len(changed) + 1


def test_where_the_bytes_come_from_and_lie_is_in_no_id() -> None:
    assert replace(FETCH, raw="elsewhere").id == FETCH.id
    assert replace(FETCH, dataset=DATASET.model_copy(update={"sources": ["wheel"]})).id == FETCH.id


def test_ids_are_readable() -> None:
    ids = [job.id.rpartition("-")[0] for job in (FETCH, *(job for job, _ in CHANGES))]
    assert ids == ["it", "it-pca10-centered", "shortcut2-linear-depth4", "shortcut2-linear-depth4-float64-counts",
                   "theorem-1"]  # fmt: skip


def test_a_job_reads_what_its_inputs_write() -> None:
    """Else Snakemake would not wait for them."""
    for job in plan("scale=smoke").jobs.values():
        written = {file for needed in job.inputs.values() for file in needed.written(Path("results"))}
        assert set(job.reads(Path("results"))) <= written
        assert {file.parent for file in job.reads(Path("results"))} == {file.parent for file in written}


def test_an_unknown_job_is_refused() -> None:
    with refused("unknown-job", key="train/nothing"):
        Plans.composed(["figures=[demystifying_resnet/fig04]"]).job("train/nothing")


def test_the_precision_of_hessians_changes_their_id_and_not_the_ensemble() -> None:
    single = plan(
        "figures=[demystifying_resnet/fig05]", "figure.demystifying_resnet.fig05.protocol.hessian_precision=float32"
    )
    double = plan("figures=[demystifying_resnet/fig05]")
    assert set(of_kind(single, Train)) == set(of_kind(double, Train))
    assert not set(of_kind(single, Hessians)) & set(of_kind(double, Hessians))


def test_a_variant_trains_again_only_what_it_changes() -> None:
    plans = Plans.composed([f"figures=[{','.join(f'demystifying_resnet/fig0{number}' for number in (4, 5, 6))}]"])

    def under(variant: str) -> set[str]:
        return set(of_kind(plans.under(variant), Train))

    control = under(CONTROL)
    assert under("float32-hessians") == control
    assert under("every-minus-sign") == control
    assert under("exactly-zero") == control
    slower = under("tenth-of-best-rate")
    # Both blocks of the three networks at another rate; their sweeps are shared.
    assert len(slower - control) == 6
    assert not under("not-centred") & control


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


def test_jobs_of_variants_are_found() -> None:
    plans = Plans.composed(["figures=[demystifying_resnet/fig04]"])
    wanted = next(iter(set(plans.under("not-centred").jobs) - set(plans.base.jobs)))
    found = plans.job(wanted)
    assert found.key == wanted
    assert Plans.composed(["figures=[demystifying_resnet/fig04]", "variant=not-centred"]).job(wanted) == found


@pytest.mark.parametrize("count", [2, 3, 10, 60, 1000, 5000, None])
def test_snapshots_hold_both_ends_and_ascend(count: int | None) -> None:
    epochs = snapshot_epochs(1000, count)
    assert (epochs[0], epochs[-1]) == (0, 1000)
    assert list(epochs) == sorted(set(epochs))
    assert len(epochs) == min(count or 1001, 1001)


def test_what_each_network_starts_from() -> None:
    ensembles = {name: job.ensemble for (name, _), job in trainings("fig07").items()}
    found = {name: (ensemble.initialization, ensemble.scale) for name, ensemble in ensembles.items()}
    assert found == {"2-shortcut": ("xavier", 0.01), "orthogonal": ("orthogonal", 1.0), "xavier": ("xavier", 1.0)}


def test_fresh_runs_follow_the_sweep_of_their_own_network_the_first_ten_along_the_training() -> None:
    (part,) = plan("figures=[demystifying_resnet/fig05]").figures.values()
    for network in ("2-shortcut", "orthogonal", "xavier"):
        sweep = part.jobs[at(part="sweep", network=network, depth=16)]
        assert isinstance(sweep, Train)
        for first, runs, snapshots in ((10, 10, 60), (20, 50, 1)):
            fresh, hessians = (
                part.jobs[at(part=name, first=first, network=network, depth=16)]
                for name in ("confirmation", "hessians")
            )
            assert isinstance(fresh, Train)
            assert isinstance(hessians, Hessians)
            assert (fresh.sweep, hessians.training) == (sweep, fresh)
            assert fresh.ensemble == hessians.ensemble == replace(sweep.ensemble, first=first, runs=runs)
            assert (fresh.epochs, sweep.epochs) == (1000, 1000)
            assert (hessians.snapshots, fresh.snapshot_epochs[-1]) == (snapshots, 1000)
    # The screening has no Hessians.
    assert len(part.jobs) == 3 * (1 + 2 + 2)
    expected = part.figure.protocol.expected(part.jobs, part.figure.keys, pd.DataFrame({"epoch": range(1001)}))
    along = {"run": range(10, 20), "epoch": snapshot_epochs(1000, 60)}
    rows = [along, {"run": range(20, 70), "epoch": (1000,)}]
    assert expected == {at(network=name): rows for name in ("2-shortcut", "orthogonal", "xavier")}


def test_a_confirmation_cannot_follow_more_runs_than_it_has() -> None:
    with pytest.raises(ValidationError, match="allowed: up to 3, its number of runs"):
        SpectraConfirmation(runs=3, along=4)
    assert SpectraConfirmation(runs=3, along=3).blocks(2) == [(2, 3)]


def test_more_fresh_runs_keep_the_jobs_there_are() -> None:
    figure = "figures=[demystifying_resnet/fig05]"
    more = plan(figure, "figure.demystifying_resnet.fig05.protocol.confirm.runs=110")
    assert set(plan(figure).jobs) < set(more.jobs)


@pytest.mark.parametrize("name", FILES)
def test_the_data_id_changes_with_the_bytes(name: str) -> None:
    assert replace(WHITEN, data=replace(FETCH, dataset=with_other_bytes(name))).id != WHITEN.id


def test_networks_with_activations_have_an_id_of_their_own() -> None:
    with_relus = trainings("fig08")["orthogonal-relu", 16].ensemble
    assert with_relus.network == Network(0, 16, 10, mid="relu")
    assert with_relus.initialization == "orthogonal"
    assert with_relus.stem == "orthogonal-identity-relu-identity-depth16"
    assert replace(with_relus, network=Network(0, 16, 10)).stem == "orthogonal-linear-depth16"


def test_what_is_set_for_one_network_holds_for_it_alone() -> None:
    changed = "[{network:xavier-relu,depths:[2],runs:1,learning_rates:[0.5,0.25]}]"
    asked = trainings("fig08", f"figure.demystifying_resnet.fig08.protocol.per_network={changed}")
    assert [depth for name, depth in asked if name == "xavier-relu"] == [2]
    assert asked["xavier-relu", 2].ensemble.runs == 1
    assert asked["xavier-relu", 2].learning_rates == (0.5, 0.25)
    assert asked["orthogonal-relu", 4].ensemble.runs == 3
    assert len(asked["orthogonal-relu", 4].learning_rates) == 6


def test_figures_of_a_run_may_be_of_different_data_or_of_none() -> None:
    prefix = "figure.demystifying_resnet"
    own = plan(
        "figures=[demystifying_resnet/fig04,fig07]", f"{prefix}.fig04.dataset=fashion_mnist", f"{prefix}.fig07.seed=7"
    )
    by_figure = {name.split("/")[1]: with_inputs(part.jobs.values()).values() for name, part in own.figures.items()}
    data = {name: {job.stem for job in jobs if isinstance(job, Whiten)} for name, jobs in by_figure.items()}
    assert data == {"fig04": {"fashion_mnist-pca10-centered"}, "fig07": {"mnist-pca10-centered"}}
    assert {job.ensemble.seed for job in by_figure["fig04"] if isinstance(job, Hessians)} == {1}
    assert {job.ensemble.seed for job in by_figure["fig07"] if isinstance(job, Train)} == {7}
    with refused("missing-data", figure="demystifying_resnet/fig07", experiment="rate_sweep"):
        plan_figure(own.config.figure["demystifying_resnet/fig07"].model_copy(update={"dataset": None}), "data")
