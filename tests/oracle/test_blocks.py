"""Oracle: a run alone. Sees a run whose bytes depend on the block that it is computed in."""

from collections.abc import Callable
from dataclasses import astuple

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments, Whitened
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import network_named
from residual.demystifying_resnet.training.ensemble import Ensemble
from residual.demystifying_resnet.training.sampled import sampled_objective
from residual.stable_scaling.network.training import ShuffledBatches, drawn, train
from tests.kernels import needs_kernel

CPU = torch.device("cpu")
RATES = (0.01, 0.1, 1.0, 30.0)
"""One for each run in turn; at the last one most diverge."""
BLOCKS = (range(37, 38), range(30, 40), range(90))
"""Run 37 alone, in a block of ten, and in one of ninety."""
RUN = 37

Arrays = tuple[np.ndarray, ...]


def linear(runs: range, _whitened: Whitened, moments: Moments) -> Arrays:
    network = network_named("2-shortcut", 16, 10)
    weights = Ensemble(network, "xavier", 0.3, 1, len(runs), runs.start).initial_weights()
    rates = torch.tensor([RATES[run % len(RATES)] for run in runs], dtype=torch.float64)
    objective = LinearObjective.of(network, moments, CPU)
    return astuple(descend(objective, weights, rates, 30, snapshot_epochs=(10, 30)))


def relu(runs: range, whitened: Whitened, kernel: str) -> Arrays:
    network = network_named("2-shortcut-relu", 4, 10)
    weights = Ensemble(network, "xavier", 0.3, 1, len(runs), runs.start).initial_weights()
    rates = torch.tensor([RATES[run % len(RATES)] for run in runs], dtype=torch.float64)
    samples = Whitened(whitened.inputs[:, :3000].copy(), whitened.labels[:3000], whitened.explained_variance)
    objective, _ = sampled_objective(network, samples, CPU, kernel)
    return astuple(descend(objective, weights, rates, 4, snapshot_epochs=(4,)))


def relu_in_torch(runs: range, whitened: Whitened, _moments: Moments) -> Arrays:
    return relu(runs, whitened, "torch")


def relu_in_the_kernel(runs: range, whitened: Whitened, _moments: Moments) -> Arrays:
    return relu(runs, whitened, "fused")


def scaled(runs: range, _whitened: Whitened, _moments: Moments) -> Arrays:
    rng = np.random.default_rng(2)
    images, labels = rng.integers(1, 255, (50, 4, 4), dtype=np.uint8), rng.integers(0, 10, 50, dtype=np.uint8)
    weights = drawn(16, 12, 5, 10, 1, runs, plain=False)
    batches = ShuffledBatches(images, labels, 10, 8, 1, runs, weights.last)
    return (train(weights, 0.5, (1.0,), batches, 12),)


def hessians(runs: range, moments: Moments, dense: bool) -> Arrays:
    network = network_named("2-shortcut", 4 if dense else 16, 10)
    weights = Ensemble(network, "xavier", 0.3, 1, len(runs), runs.start).initial_weights()
    along = spectra_along if dense else structured_spectra_along
    return astuple(along([weights, 1.01 * weights], network, moments))


def counted(runs: range, _whitened: Whitened, moments: Moments) -> Arrays:
    return hessians(runs, moments, dense=False)


def dense(runs: range, _whitened: Whitened, moments: Moments) -> Arrays:
    return hessians(runs, moments, dense=True)


RUNS_AXIS = {2: 1, 5: 2}
"""Of recorded quantities (steps, runs), and of snapshots (snapshots, depth, runs, width, width)."""


def of_run(arrays: Arrays, runs: range) -> list[bytes]:
    """The bytes of run 37 in every array of runs."""
    of_runs = [(each, RUNS_AXIS[each.ndim]) for each in arrays if np.ndim(each) in RUNS_AXIS]
    assert of_runs
    assert all(each.shape[axis] == len(runs) for each, axis in of_runs)
    return [np.take(each, runs.index(RUN), axis).tobytes() for each, axis in of_runs]


@pytest.mark.parametrize(
    "compute",
    [
        linear,
        relu_in_torch,
        pytest.param(relu_in_the_kernel, marks=needs_kernel),
        scaled,
        pytest.param(counted, marks=pytest.mark.workflow),
        dense,
    ],
)
def test_a_run_has_the_same_bytes_alone_and_in_any_block(
    compute: Callable[[range, Whitened, Moments], Arrays], whitened: Whitened, moments: Moments
) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = {len(runs): compute(runs, whitened, moments) for runs in BLOCKS}
    finally:
        torch.set_num_threads(threads)
    alone, in_ten, in_ninety = (of_run(found[len(runs)], runs) for runs in BLOCKS)
    assert alone == in_ten == in_ninety
