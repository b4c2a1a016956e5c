"""Oracle: identity is a function of the settings. Sees ensembles trained twice, and ids that miss a setting."""

import json
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from resaudit.data.dataset import FILES, Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Whiten
from resaudit.figures.curves import snapshot_epochs
from resaudit.jobs.job import Job, content_id
from resaudit.plan.composition import load
from resaudit.plan.experiment import at
from resaudit.plan.models import CONTROL
from resaudit.plan.plan import Plan, make_plan
from resaudit.plan.plans import Plans
from residual.demystifying_resnet.experiments.training import SpectraConfirmation
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.theory.records import Cases
from residual.demystifying_resnet.training.ensemble import Ensemble

DATASET = Dataset.model_validate(
    {"name": "it", "title": "It", "citation": "", "licence": "", "classes": 10, "sources": ["folder"],
     "files": {name: {"name": name, "size": 1, "sha256": "0" * 64} for name in FILES}}
)  # fmt: skip


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
    return frozenset(plan(*overrides).jobs_of("train"))


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
    assert set(plan("figures=[demystifying_resnet/fig05]").jobs_of("hessians")) == set(
        plan("figures=[demystifying_resnet/fig06]").jobs_of("hessians")
    )


def test_other_shortcut_depths_can_be_asked_for() -> None:
    asked = plan(
        "figures=[demystifying_resnet/fig04]",
        "figure.demystifying_resnet.fig04.protocol.networks=[1-shortcut,orthogonal]",
    )
    starts = [job.ensemble for job in asked.jobs_of("hessians").values()]
    networks = {e.network.shortcut_depth: (e.initialization, e.scale) for e in starts}
    assert networks == {1: ("xavier", 0.01), 0: ("orthogonal", 1.0)}


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


def test_ids_are_readable() -> None:
    ids = [job.id.rpartition("-")[0] for job in (FETCH, *(job for job, _ in CHANGES))]
    assert ids == ["it", "it-pca10-centered", "shortcut2-linear-depth4", "shortcut2-linear-depth4-float64-counts",
                   "theorem-1"]  # fmt: skip


def test_where_the_bytes_come_from_and_lie_is_in_no_id() -> None:
    assert replace(FETCH, raw="elsewhere").id == FETCH.id
    assert replace(FETCH, dataset=DATASET.model_copy(update={"sources": ["wheel"]})).id == FETCH.id


def test_the_precision_of_hessians_changes_their_id_and_not_the_ensemble() -> None:
    single = plan(
        "figures=[demystifying_resnet/fig05]", "figure.demystifying_resnet.fig05.protocol.hessian_precision=float32"
    )
    double = plan("figures=[demystifying_resnet/fig05]")
    assert set(single.jobs_of("train")) == set(double.jobs_of("train"))
    assert not set(single.jobs_of("hessians")) & set(double.jobs_of("hessians"))


def test_a_variant_trains_again_only_what_it_changes() -> None:
    plans = Plans.composed([f"figures=[{','.join(f'demystifying_resnet/fig0{number}' for number in (4, 5, 6))}]"])

    def under(variant: str) -> set[str]:
        return set(plans.under(variant).jobs_of("train"))

    control = under(CONTROL)
    assert under("float32-hessians") == control
    assert under("every-minus-sign") == control
    assert under("exactly-zero") == control
    slower = under("tenth-of-best-rate")
    # Both blocks of the three networks at another rate; their sweeps are shared.
    assert len(slower - control) == 6
    assert not under("not-centred") & control


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


def test_ids_do_not_depend_on_device_folders_or_chosen_figures() -> None:
    elsewhere = plan("device=cpu", "paths.results=/tmp/x", "figures=[fig07]")
    assert set(elsewhere.jobs_of("train")) < trained()


@pytest.mark.parametrize("override", ["seed=2", "whitening.centered=false", "dataset=fashion_mnist"])
def test_ids_change_with_what_results_depend_on(override: str) -> None:
    assert not trained() & trained(override)
