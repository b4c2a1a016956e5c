"""Oracle: identity is a function of the settings. Sees ensembles trained twice, and ids that miss a setting."""

import dataclasses
import json

import pytest

from resaudit.config.composition import load
from resaudit.config.models import CONTROL
from resaudit.errors import ResauditError
from resaudit.networks.network import Network
from resaudit.plan import Ensemble, Plan, content_id, make_plan, snapshot_epochs
from resaudit.programme import Programme


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


def test_figures_share_ensembles() -> None:
    fig07 = set(plan("figures=[fig07]").trained)
    fig08 = set(plan("figures=[fig08]").trained)
    fig03 = set(plan("figures=[fig03]").trained)
    assert fig03 < fig07 | fig08
    assert fig03 & fig07
    assert fig03 & fig08
    for scale in ("laptop", "paper"):
        figures = plan("figures=[fig03,fig08]", f"scale={scale}").figures
        left, right = (figures[f"demystifying_resnet/{name}"].sweeps for name in ("fig03", "fig08"))
        assert {e.id for (name, _), e in left.items() if name == "2-shortcut-relu"} == {
            e.id for (name, _), e in right.items() if name == "2-shortcut-relu"
        }
    everything = set(plan("figures=[fig03,fig05,fig06,fig07]").trained)
    assert len(everything) == 18 + 3 + 3
    assert set(plan("figures=[fig05]").hessians) == set(plan("figures=[fig06]").hessians)


def test_other_shortcut_depths_can_be_asked_for() -> None:
    asked = plan("figures=[fig04]", "figure.demystifying_resnet.fig04.protocol.networks=[1-shortcut,orthogonal]")
    starts = [h.ensemble for h in asked.hessians.values()]
    networks = {e.network.shortcut_depth: (e.initialization, e.scale) for e in starts}
    assert networks == {1: ("xavier", 0.01), 0: ("orthogonal", 1.0)}


def test_ids_do_not_depend_on_device_folders_or_chosen_figures() -> None:
    elsewhere = plan("device=cpu", "paths.results=/tmp/x", "figures=[fig07]")
    assert set(elsewhere.trained) < set(plan().trained)


@pytest.mark.parametrize("override", ["seed=2", "whitening.centered=false", "dataset=fashion_mnist"])
def test_ids_change_with_what_results_depend_on(override: str) -> None:
    assert not set(plan().trained) & set(plan(override).trained)


def test_every_field_of_an_ensemble_changes_its_id() -> None:
    ensemble = Ensemble("data", Network(2, 4, 10), "xavier", 0.01, 1, 3)
    others = {
        "data": "other", "network": Network(2, 8, 10), "initialization": "orthogonal", "scale": 1.0, "seed": 2,
        "runs": 4, "epochs": 5, "learning_rates": (0.1,), "rate_from": "x", "rate": "best",
        "snapshot_epochs": (0,),
    }  # fmt: skip
    assert set(others) == {f.name for f in dataclasses.fields(Ensemble)}
    ids = {dataclasses.replace(ensemble, **{name: value}).id for name, value in others.items()}
    assert len(ids | {ensemble.id}) == len(others) + 1


def test_ids_are_readable_and_settings_are_json() -> None:
    ensemble = Ensemble("data", Network(2, 16, 10), "xavier", 0.01, 1, 3)
    assert ensemble.id.startswith("shortcut2-linear-depth16-")
    assert content_id("shortcut2-linear-depth16", json.loads(json.dumps(ensemble.settings))) == ensemble.id


def test_an_unknown_ensemble_is_refused() -> None:
    for find in (Programme().ensemble, Programme().hessians, Programme().verification, Programme().data):
        with pytest.raises(ResauditError, match=r"no .* 'nothing' in this configuration or its variants"):
            find("nothing")


def test_the_precision_of_hessians_changes_their_id_and_not_the_ensemble() -> None:
    single = plan("figures=[fig05]", "figure.demystifying_resnet.fig05.protocol.hessian_precision=float32")
    assert set(single.trained) == set(plan("figures=[fig05]").trained)
    assert not set(single.hessians) & set(plan("figures=[fig05]").hessians)


def test_a_variant_trains_again_only_what_it_changes() -> None:
    programme = Programme(["figures=[fig04,fig05,fig06]"])
    control = set(programme.under(CONTROL).trained)
    assert set(programme.under("float32-hessians").trained) == control
    assert set(programme.under("every-minus-sign").trained) == control
    assert set(programme.under("exactly-zero").trained) == control
    slower = set(programme.under("tenth-of-best-rate").trained)
    assert len(slower - control) == 3, "the three networks at another rate; their sweeps are shared"
    assert not set(programme.under("not-centred").trained) & control


def test_what_a_variant_does_not_change_has_its_home_elsewhere() -> None:
    programme = Programme()
    fig = "demystifying_resnet/{}".format
    assert programme.home(CONTROL, fig("fig07")) is programme.base
    assert programme.home("exactly-zero", fig("fig07")) is programme.base
    assert programme.home("exactly-zero", fig("fig05")) is programme.under(CONTROL)
    assert programme.home("exactly-zero", fig("fig04")) is programme.under("exactly-zero")
    assert programme.home("tenth-of-best-rate", fig("fig03")) is programme.under("tenth-of-best-rate")


def test_jobs_of_variants_are_found_with_and_without_a_hint() -> None:
    programme = Programme(["figures=[fig04]"])
    wanted = next(iter(set(programme.under("not-centred").hessians) - set(programme.base.hessians)))
    plan_found, found = programme.hessians(wanted)
    assert found.id == wanted
    assert not plan_found.config.whitening.centered
    assert Programme(["figures=[fig04]", "variant=not-centred"]).hessians(wanted)[1] == found
    assert programme.data(plan_found.data.id).data == plan_found.data


@pytest.mark.parametrize("count", [2, 3, 10, 60, 1000, 5000, None])
def test_snapshots_hold_both_ends_and_ascend(count: int | None) -> None:
    epochs = snapshot_epochs(1000, count)
    assert (epochs[0], epochs[-1]) == (0, 1000)
    assert list(epochs) == sorted(set(epochs))
    assert len(epochs) == min(count or 1001, 1001)


def test_what_each_network_starts_from() -> None:
    sweeps = plan("figures=[fig07]").figures["demystifying_resnet/fig07"].sweeps
    found = {name: (e.initialization, e.scale) for (name, _), e in sweeps.items()}
    assert found == {"2-shortcut": ("xavier", 0.01), "orthogonal": ("orthogonal", 1.0), "xavier": ("xavier", 1.0)}


def test_each_ensemble_follows_the_sweep_of_its_own_network_as_long() -> None:
    part = plan("figures=[fig05]").figures["demystifying_resnet/fig05"]
    followed = {key: h.ensemble.rate_from for key, h in part.hessians.items()}
    assert followed == {k: s.id for k, s in part.sweeps.items()}
    assert {e.epochs for e in part.ensembles} == {1000}


@pytest.mark.parametrize("key", ["train_images", "train_labels"])
def test_the_data_id_changes_with_the_bytes(key: str) -> None:
    config = load()
    before = make_plan(config).data.id
    config.dataset.files[key].sha256 = "0" * 64
    assert make_plan(config).data.id != before


def test_networks_with_activations_have_an_id_and_a_precision_of_their_own() -> None:
    sweeps = plan("figures=[fig08]").figures["demystifying_resnet/fig08"].sweeps
    with_relus = sweeps["orthogonal-relu", 16]
    assert with_relus.network == Network(0, 16, 10, mid="relu")
    assert with_relus.initialization == "orthogonal"
    assert with_relus.settings["dtype"] == "float32"
    linear = dataclasses.replace(with_relus, network=Network(0, 16, 10))
    assert linear.settings["dtype"] == "float64"
    assert linear.id.startswith("orthogonal-linear-depth16-")


def test_what_is_otherwise_for_a_network_holds_for_it_alone() -> None:
    changed = "[{network:xavier-relu,depths:[2],runs:1,learning_rates:[0.5,0.25]}]"
    other = plan("figures=[fig08]", f"figure.demystifying_resnet.fig08.protocol.otherwise={changed}")
    asked = other.figures["demystifying_resnet/fig08"].sweeps
    assert [depth for name, depth in asked if name == "xavier-relu"] == [2]
    assert asked["xavier-relu", 2].runs == 1
    assert asked["xavier-relu", 2].learning_rates == (0.5, 0.25)
    assert asked["orthogonal-relu", 4].runs == 3
    assert len(asked["orthogonal-relu", 4].learning_rates) == 12
