"""Oracle: identity is a function of the settings. Sees ensembles trained twice, and ids that miss a setting."""

import dataclasses
import json

import pytest

from resaudit.composition import load
from resaudit.errors import ResauditError
from resaudit.networks.network import Network
from resaudit.plan import Ensemble, Plan, content_id, make_plan, snapshot_epochs


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


def test_figures_share_ensembles() -> None:
    fig07 = set(plan("figures=[fig07]").trained)
    assert set(plan("figures=[fig03]").trained) < fig07
    everything = set(plan("figures=[fig03,fig05,fig06,fig07]").trained)
    assert len(everything) == 18 + 3
    assert set(plan("figures=[fig05]").with_spectra) == set(plan("figures=[fig06]").with_spectra)


def test_other_shortcut_depths_can_be_asked_for() -> None:
    asked = plan("figures=[fig04]", "figure.demystifying_resnet.fig04.protocol.networks=[1-shortcut,orthogonal]")
    networks = {e.network.shortcut_depth: (e.initialization, e.scale) for e in asked.with_spectra.values()}
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
        "runs": 4, "epochs": 5, "learning_rates": (0.1,), "best_rate_of": "x", "snapshot_epochs": (0,),
    }  # fmt: skip
    assert set(others) == {f.name for f in dataclasses.fields(Ensemble)}
    ids = {dataclasses.replace(ensemble, **{name: value}).id for name, value in others.items()}
    assert len(ids | {ensemble.id}) == len(others) + 1


def test_ids_are_readable_and_settings_are_json() -> None:
    ensemble = Ensemble("data", Network(2, 16, 10), "xavier", 0.01, 1, 3)
    assert ensemble.id.startswith("shortcut2-linear-depth16-")
    assert content_id("shortcut2-linear-depth16", json.loads(json.dumps(ensemble.settings))) == ensemble.id


def test_an_unknown_ensemble_is_refused() -> None:
    with pytest.raises(ResauditError, match="no ensemble 'nothing'"):
        plan().ensemble("nothing")


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
    assert {key: e.best_rate_of for key, e in part.with_spectra.items()} == {k: s.id for k, s in part.sweeps.items()}
    assert {e.epochs for e in (*part.with_spectra.values(), *part.sweeps.values())} == {1000}


@pytest.mark.parametrize("key", ["train_images", "train_labels"])
def test_the_data_id_changes_with_the_bytes(key: str) -> None:
    config = load()
    before = make_plan(config).data.id
    config.dataset.files[key].sha256 = "0" * 64
    assert make_plan(config).data.id != before
