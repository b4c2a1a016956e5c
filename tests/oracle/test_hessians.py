"""Oracles: torch.func and curvlinops on the sample loss of real whitened data, finite differences, Theorem 2.

Together they see a wrong factor, a transposed block, a missing second-order term and a wrong parameter order.
"""

import numpy as np
import pytest
import torch
from curvlinops import HessianLinearOperator

from resaudit.data.whiten import Moments
from residual.demystifying_resnet import plain
from residual.demystifying_resnet.networks.hessians import hessians, spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import initial_weights

Samples = tuple[np.ndarray, np.ndarray, Moments]
NETWORKS = [
    (0, 1, "xavier", 1.0),
    (0, 4, "orthogonal", 1.0),
    (0, 4, "xavier", 1.0),
    (1, 3, "xavier", 0.3),
    (2, 4, "xavier", 0.01),
    (2, 4, "xavier", 1.0),
    (3, 6, "xavier", 0.5),
]


def case(shortcut_depth: int, depth: int, initialization: str, scale: float) -> tuple[Network, torch.Tensor]:
    network = Network(shortcut_depth, depth, 10)
    return network, initial_weights(network, initialization, scale, 5, 2)


@pytest.mark.parametrize("settings", NETWORKS)
def test_equals_torch_func_on_the_sample_loss(settings: tuple[int, int, str, float], few_samples: Samples) -> None:
    inputs, targets, moments = few_samples
    network, weights = case(*settings)
    ours = hessians(weights, network, moments)
    samples = torch.from_numpy(inputs), torch.from_numpy(targets)
    for run in range(2):
        expected = plain.hessian(weights[:, run], *samples, network.shortcut_depth)
        assert (ours[run] - expected).norm() <= 1e-10 * expected.norm()
        assert torch.equal(ours[run], ours[run].mT)


class Residual(torch.nn.Module):
    """The 2-shortcut network as a module, for a library that wants one; samples in rows."""

    def __init__(self, weights: torch.Tensor) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(weights.clone())

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        return plain.network(self.weights, samples.mT, 2).mT


def flatten(weights: torch.Tensor) -> torch.Tensor:
    """One run's weights in the order of Definition 5."""
    return weights.mT.flatten()


def test_equals_curvlinops_on_the_sample_loss(few_samples: Samples) -> None:
    inputs, targets, moments = few_samples
    network, weights = case(2, 4, "xavier", 0.5)
    module = Residual(weights[:, 0])
    # Its loss is a mean over the 10 outputs too, and has no 1/2: five times that is ours.
    data = [(torch.from_numpy(inputs.T.copy()), torch.from_numpy(targets.T.copy()))]
    operator = HessianLinearOperator(module, torch.nn.MSELoss(), list(module.parameters()), data)
    row_major = (operator @ torch.eye(400, dtype=torch.float64)).detach() * 5
    order = torch.arange(400).view(4, 10, 10).mT.reshape(-1)
    expected = row_major[order][:, order]
    assert (hessians(weights[:, :1], network, moments)[0] - expected).norm() <= 1e-10 * expected.norm()


@pytest.mark.parametrize("settings", NETWORKS)
def test_equals_finite_differences_of_the_gradient(settings: tuple[int, int, str, float], moments: Moments) -> None:
    network, weights = case(*settings)
    objective = LinearObjective.of(network, moments, torch.device("cpu"))
    direction = torch.randn(weights.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    step = 1e-5
    forward, backward = (objective(weights + sign * step * direction)[1] for sign in (1, -1))
    for run, hessian in enumerate(hessians(weights, network, moments)):
        expected = flatten((forward - backward)[:, run] / (2 * step))
        assert (hessian @ flatten(direction[:, run]) - expected).norm() <= 1e-7 * expected.norm()


@pytest.mark.parametrize("units", [1, 2, 5])
def test_two_shortcut_hessian_at_zero_is_theorem_2s(units: int, moments: Moments) -> None:
    """Eq. 8's block pattern with A of eq. 23, and eq. 26's eigenvalues with their multiplicities."""
    network = Network(2, 2 * units, 10)
    hessian = hessians(torch.zeros(2 * units, 1, 10, 10, dtype=torch.float64), network, moments)[0].numpy()
    difference = moments.xx - moments.yx
    # A[(j1, i1), (j2, i2)] = [j1 = i2] (S_XX - S_YX)[i1, j2], rows for W^2 and columns for W^1.
    a = np.einsum("pq,ij->pijq", np.eye(10), difference).reshape(100, 100)
    block = np.block([[np.zeros((100, 100)), a.T], [a, np.zeros((100, 100))]])
    np.testing.assert_allclose(hessian, np.kron(np.eye(units), block), atol=1e-13)
    singular = np.linalg.svd(difference, compute_uv=False)
    expected = np.sort(np.concatenate([singular, -singular]).repeat(10 * units))
    np.testing.assert_allclose(np.linalg.eigvalsh(hessian), expected, atol=1e-12)


@pytest.mark.parametrize("units", [1, 4])
def test_condition_number_at_zero_does_not_depend_on_depth(units: int, moments: Moments) -> None:
    zero = torch.zeros(2 * units, 1, 10, 10, dtype=torch.float64)
    spectra = spectra_along([zero], Network(2, 2 * units, 10), moments)
    singular = np.linalg.svd(moments.xx - moments.yx, compute_uv=False).repeat(20 * units)
    assert spectra.condition_number.item() == pytest.approx(singular.max() / np.percentile(singular, 10), rel=1e-12)
    assert spectra.index.item() == 0.5


def test_three_shortcut_hessian_at_zero_is_zero(moments: Moments) -> None:
    hessian = hessians(torch.zeros(6, 1, 10, 10, dtype=torch.float64), Network(3, 6, 10), moments)
    assert hessian.abs().max() == 0


@pytest.mark.parametrize(("shortcut", "layers", "scale", "bound"), [(0.0, 8, 0.6, 14), (1.0, 12, 0.7, 22)])
def test_the_negative_eigenvalues_have_no_bound_from_the_rank_of_the_gauss_newton_part(
    shortcut: float, layers: int, scale: float, bound: int
) -> None:
    """A random search: zero diagonal blocks do not balance a spectrum (docs/curvature.md).

    (N - d^2)/2 is 14 and 22; no eigenvalue is so near zero that rounding decides.
    """
    generator, width, fewest = torch.Generator().manual_seed(1), 2, layers * 4
    for _ in range(40):
        target, start = (
            scale * torch.randn(size, generator=generator, dtype=torch.float64) for size in (4, layers * width**2)
        )

        def loss(weights: torch.Tensor, target: torch.Tensor = target) -> torch.Tensor:
            mapped = torch.eye(width, dtype=torch.float64)
            for first, second in weights.view(-1, 2, width, width):
                mapped = shortcut * mapped + second @ first @ mapped
            return 0.5 * ((mapped - target.view(width, width)) ** 2).sum()

        eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, start))
        fewest = min(fewest, int((eigenvalues < 0).sum()))
        assert eigenvalues.abs().min() > 1e-12 * eigenvalues.abs().max()
    assert fewest < bound
