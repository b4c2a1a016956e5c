"""Oracle: the same job left alone. Sees spectra of weights that the training no longer has."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import torch

from resaudit.base.files import sha256_of, write_json
from resaudit.data.whiten import Moments, Whiten
from resaudit.jobs.job import Execution, Work
from resaudit.jobs.results import save_arrays
from resaudit.plan.plan import plan_figure, with_inputs
from residual.demystifying_resnet.jobs import hessians
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks import hessians as dense
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import Ensemble
from tests.conftest import smoke_figure
from tests.ran import RAN

ENSEMBLE = Ensemble(Network(2, 2, 10), "xavier", 0.01, seed=1, runs=4)


class Stop(Exception):
    """Leaves a job, as a killed process does."""


def stopping(number: int) -> Callable[..., Spectra]:
    """What computes spectra, but for the batch of this number, the first of which is 1."""
    given, calls = dense.spectra_along, list[int]()

    def along(points: Iterable[torch.Tensor], network: Network, moments: Moments) -> Spectra:
        calls.append(1)
        if len(calls) == number:
            raise Stop
        return given(points, network, moments)

    return along


@pytest.fixture
def job(moments: Moments, monkeypatch: pytest.MonkeyPatch) -> Hessians:
    """All eigenvalues at the snapshots of four runs, two at once."""
    monkeypatch.setattr(hessians, "SECONDS_AT_ONCE", 0.0)
    monkeypatch.setattr(Whiten, "moments", lambda *_: moments)
    planned = plan_figure(smoke_figure("demystifying_resnet/fig05"), "data")
    data = next(job for job in with_inputs(planned.jobs.values()).values() if isinstance(job, Whiten))
    training = Train(data, ENSEMBLE, 2, learning_rates=(0.1,), snapshot_epochs=(0, 2))
    return Hessians(data, ENSEMBLE, "float64", "dense", training)


def trained(training: Train, results: Path, factor: float) -> None:
    """Write a training whose weights end at a multiple of the initial ones."""
    weights, losses = ENSEMBLE.initial_weights().numpy(), np.ones((3, ENSEMBLE.runs))
    ends = np.stack([weights, factor * weights])
    made = Trajectory(np.full(ENSEMBLE.runs, 0.1), np.array(0.0), losses, losses, losses, np.array([0, 2]), ends)
    folder = training.folder(results)
    save_arrays(folder / "trajectory.npz", made)
    write_json(folder / "settings.json", training.identity)
    sha256 = {"trajectory.npz": sha256_of(folder / "trajectory.npz")}
    write_json(folder / "provenance.json", RAN | {"sha256": sha256})


def computed(job: Hessians, results: Path, checkpoints: str) -> tuple[Spectra, dict[str, object]]:
    work = Work(results, Execution(checkpoint_seconds=0.0), "cpu", results / checkpoints, {"device": "cpu"})
    return job.run(work)["spectra.npz"], work.record


@pytest.mark.parametrize(("factor", "resumed"), [(2.0, 2), (3.0, None)])
def test_a_job_resumes_only_while_its_training_is_the_same(
    job: Hessians, factor: float, resumed: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert job.training
    trained(job.training, tmp_path, 2.0)
    with monkeypatch.context() as patch:
        patch.setattr(dense, "spectra_along", stopping(2))
        with pytest.raises(Stop):
            computed(job, tmp_path, "stopped")
    trained(job.training, tmp_path, factor)
    found, record = computed(job, tmp_path, "stopped")
    assert record.get("resumed from run") == resumed
    alone, _ = computed(job, tmp_path, "alone")
    for f in fields(Spectra):
        np.testing.assert_array_equal(getattr(found, f.name), getattr(alone, f.name))
