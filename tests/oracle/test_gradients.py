"""Oracles: autograd on the sample loss of all 60 000 real images, finite differences. Sees any error in the moments."""

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments, Whitened
from residual.demystifying_resnet import plain
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import initial_weights

CPU = torch.device("cpu")
NETWORKS = [(0, "orthogonal", 1.0), (0, "xavier", 1.0), (1, "xavier", 0.01), (2, "xavier", 0.01), (2, "xavier", 1.0),
            (3, "xavier", 0.5)]  # fmt: skip


@pytest.mark.parametrize(("shortcut_depth", "initialization", "scale"), NETWORKS)
def test_loss_and_gradient_equal_autograd_on_all_samples(
    shortcut_depth: int, initialization: str, scale: float, whitened: Whitened, moments: Moments
) -> None:
    network = Network(shortcut_depth, 6, 10)
    weights = initial_weights(network, initialization, scale, 7, 2)
    excess, gradient = LinearObjective.of(network, moments, CPU)(weights)
    samples = torch.from_numpy(whitened.inputs), torch.from_numpy(whitened.targets)
    for run in range(2):
        expected, value = torch.func.grad_and_value(plain.loss)(weights[:, run], *samples, shortcut_depth)
        assert (gradient[:, run] - expected).norm() <= 1e-10 * expected.norm()
        assert (excess[run] + moments.optimal_loss - value).abs() <= 1e-10 * value


def test_gradient_equals_finite_differences(moments: Moments) -> None:
    network = Network(3, 6, 10)
    weights = initial_weights(network, "xavier", 0.7, 7, 1)
    objective = LinearObjective.of(network, moments, CPU)
    _, gradient = objective(weights)
    direction = torch.randn(weights.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    step = 1e-5
    forward, backward = (objective(weights + sign * step * direction)[0].item() for sign in (1, -1))
    assert (forward - backward) / (2 * step) == pytest.approx((gradient * direction).sum().item(), rel=1e-7)


def test_loss_and_gradient_where_the_inputs_are_not_white(few_samples: tuple[np.ndarray, np.ndarray, Moments]) -> None:
    """On 1000 of the samples S_XX is not the identity, so that no factor of it can be missing."""
    inputs, targets, moments = few_samples
    network = Network(2, 4, 10)
    weights = initial_weights(network, "xavier", 1.0, 7, 1)
    excess, gradient = LinearObjective.of(network, moments, CPU)(weights)
    samples = torch.from_numpy(inputs), torch.from_numpy(targets)
    expected, value = torch.func.grad_and_value(plain.loss)(weights[:, 0], *samples, 2)
    assert np.abs(moments.xx - np.eye(10)).max() > 0.01
    assert (gradient[:, 0] - expected).norm() <= 1e-10 * expected.norm()
    assert (excess[0] + moments.optimal_loss - value).abs() <= 1e-10 * value
