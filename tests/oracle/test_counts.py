"""Oracles: eigenvalues and products of the dense Hessian, the reference implementation of the compiled kernel.

They see a lost or doubled eigenvalue, a pivot divided by that should have been put off, a transposed factor, statistics
of the wrong rank, and a kernel for one width of vectors that differs from the others.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments
from residual.demystifying_resnet.curvature.counts import count_below, library
from residual.demystifying_resnet.curvature.products import HessianProduct, largest_magnitude
from residual.demystifying_resnet.curvature.structured import structured_spectra_along, trusted_counts
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.hessians import hessians, spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import initial_weights
from tests.oracle.test_hessians import flatten

compiled = pytest.mark.skipif(library() is None, reason="the compiled kernel was not built")
EPS = np.finfo(np.float64).eps

SMALL = [(0, 1), (0, 5), (1, 4), (2, 2), (2, 6), (3, 6), (5, 10), (4, 4)]
POINTS = [
    # shortcut depth, depth, initialization, scale
    (0, 16, "orthogonal", 1.0),
    (0, 16, "xavier", 1.0),
    (1, 16, "xavier", 0.01),
    (2, 16, "xavier", 0.01),
    (2, 16, "xavier", 1.0),
    (3, 15, "xavier", 0.3),
    (2, 16, "xavier", 0.0),
    (1, 8, "xavier", 0.0),
    (3, 6, "xavier", 0.0),
]
# Learning rates of Figure 5's best, or somewhat below, by network.
TRAINED = [(2, "xavier", 0.01, 1.0), (0, "orthogonal", 1.0, 0.1), (0, "xavier", 1.0, 0.01), (1, "xavier", 0.01, 0.1)]


@cache
def small_moments() -> Moments:
    """Of inputs that are not white, of width 3, so that a transposed S_XX would be seen."""
    rng = np.random.default_rng(3)
    mixed = np.triu(np.ones((3, 3))) @ rng.normal(size=(3, 40))
    return Moments.of(mixed, rng.normal(size=(3, 40)))


def bounds_of(eigenvalues: np.ndarray, per_sign: int = 14) -> np.ndarray:
    """Bounds of both signs from a little above the dense noise floor to beyond the largest absolute eigenvalue."""
    largest = max(float(np.abs(eigenvalues).max()), 1e-3)
    floor = 1.5 * EPS * len(eigenvalues) * largest
    magnitudes = np.geomspace(floor, 1.1 * largest, per_sign)
    tenth = np.quantile(np.abs(eigenvalues), 0.1) * np.array([0.999, 1.001])
    magnitudes = np.concatenate([magnitudes, tenth[tenth > floor]])
    return np.concatenate([-magnitudes, magnitudes])


def assert_counted(weights: torch.Tensor, network: Network, moments: Moments) -> None:
    """Counts equal the number of dense eigenvalues wherever a bound is no closer to one than dense rounding errors."""
    for run, chain in enumerate(HessianProduct(weights, network, moments).chains()):
        eigenvalues = np.linalg.eigvalsh(hessians(weights[:, [run]], network, moments)[0].numpy())
        bounds = bounds_of(eigenvalues)
        rounding = EPS * np.sqrt(len(eigenvalues)) * np.abs(eigenvalues).max()
        bounds = bounds[np.abs(bounds[:, None] - eigenvalues).min(axis=1) > rounding]
        assert len(bounds) > 10
        counted = [below for below, _ in trusted_counts(chain, bounds.tolist())]
        np.testing.assert_array_equal(counted, np.searchsorted(eigenvalues, bounds))


@pytest.mark.parametrize(("shortcut_depth", "depth"), SMALL)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_the_reference_implementation_counts_what_lapack_finds(shortcut_depth: int, depth: int, scale: float) -> None:
    network, moments = Network(shortcut_depth, depth, 3), small_moments()
    weights = initial_weights(network, "xavier", scale, 2, 1)
    (chain,) = HessianProduct(weights, network, moments).chains()
    eigenvalues = np.linalg.eigvalsh(hessians(weights, network, moments)[0].numpy())
    bounds = bounds_of(eigenvalues, 5)
    counts = count_below(chain, bounds.tolist(), compiled=False)
    np.testing.assert_array_equal(counts.below, np.searchsorted(eigenvalues, bounds))
    determinants = np.log(np.abs(eigenvalues - bounds[:, None])).sum(axis=1)
    np.testing.assert_allclose(counts.log_determinant, determinants, atol=1e-4)


@compiled
@pytest.mark.parametrize(("shortcut_depth", "depth"), SMALL)
@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_the_kernel_counts_as_its_reference_implementation_does(shortcut_depth: int, depth: int, scale: float) -> None:
    network, moments = Network(shortcut_depth, depth, 3), small_moments()
    (chain,) = HessianProduct(initial_weights(network, "xavier", scale, 2, 1), network, moments).chains()
    bounds = [-1.0, -0.1, -1e-3, 1e-6, 1e-3, 0.1, 1.0, 100.0]
    ours, plain = (count_below(chain, bounds, compiled=kernel) for kernel in (True, False))
    np.testing.assert_array_equal(ours.below, plain.below)
    np.testing.assert_allclose(ours.log_determinant, plain.log_determinant, atol=1e-6)


@compiled
@pytest.mark.parametrize("settings", POINTS)
def test_counts_are_lapacks_at_initial_points(settings: tuple[int, int, str, float], moments: Moments) -> None:
    shortcut_depth, depth, initialization, scale = settings
    network = Network(shortcut_depth, depth, 10)
    assert_counted(initial_weights(network, initialization, scale, 5, 1), network, moments)


@compiled
@pytest.mark.parametrize(
    ("shortcut_depth", "initialization", "scale"),
    [pytest.param(0, "orthogonal", 1.0, marks=pytest.mark.slow), (0, "xavier", 1.0), (2, "xavier", 0.01)],
)
def test_counts_are_lapacks_at_depth_32(
    shortcut_depth: int, initialization: str, scale: float, moments: Moments
) -> None:
    network = Network(shortcut_depth, 32, 10)
    assert_counted(initial_weights(network, initialization, scale, 7, 1), network, moments)


def trained(
    shortcut_depth: int, initialization: str, scale: float, rate: float, moments: Moments
) -> Iterator[torch.Tensor]:
    """Weights in the middle of training and when it has converged."""
    network = Network(shortcut_depth, 16, 10)
    trajectory = descend(
        LinearObjective.of(network, moments, torch.device("cpu")),
        initial_weights(network, initialization, scale, 1, 1),
        torch.tensor([rate], dtype=torch.float64), 1000, (20, 1000), lambda epochs: epochs,
    )  # fmt: skip
    # The oracle needs a run that does not diverge.
    assert np.isfinite(trajectory.excess_loss).all()
    yield from torch.from_numpy(trajectory.snapshots)


@compiled
@pytest.mark.parametrize("settings", TRAINED)
def test_counts_and_statistics_are_lapacks_along_training(
    settings: tuple[int, str, float, float], moments: Moments
) -> None:
    network, points = Network(settings[0], 16, 10), list(trained(*settings, moments))
    for weights in points:
        assert_counted(weights, network, moments)
    ours, dense = (along(points, network, moments) for along in (structured_spectra_along, spectra_along))
    np.testing.assert_allclose(ours.lambda_max, dense.lambda_max, rtol=1e-8)
    np.testing.assert_array_equal(ours.index, dense.index)
    np.testing.assert_array_equal(ours.sizeable_index, dense.sizeable_index)
    np.testing.assert_array_equal(ours.resolved, dense.resolved)
    known = ours.resolved
    allowed = 1e-6 * dense.lambda_p10 + 0.01 * dense.noise_floor
    assert (np.abs(ours.lambda_p10 - dense.lambda_p10)[known] <= allowed[known]).all()


@compiled
def test_every_width_of_vectors_counts_alike(moments: Moments, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(2, 4, 10)
    (chain,) = HessianProduct(initial_weights(network, "xavier", 1.0, 5, 1), network, moments).chains()
    bounds = [-1e-2, -1e-5, 1e-8, 1e-5, 1e-2]
    expected = count_below(chain, bounds, compiled=False)
    found = {}
    for lanes in (2, 4, 8):
        monkeypatch.setattr("residual.demystifying_resnet.curvature.counts.lanes", lambda lanes=lanes: lanes)
        if lanes <= library().resaudit_lanes():
            found[lanes] = count_below(chain, bounds, compiled=True)
    assert found
    for counts in found.values():
        np.testing.assert_array_equal(counts.below, expected.below)
        np.testing.assert_allclose(counts.log_determinant, expected.log_determinant, atol=1e-4)


@pytest.mark.parametrize(("shortcut_depth", "depth"), SMALL)
def test_products_are_those_with_the_dense_hessian(shortcut_depth: int, depth: int) -> None:
    network, moments = Network(shortcut_depth, depth, 3), small_moments()
    weights = initial_weights(network, "xavier", 0.7, 4, 2)
    direction = torch.randn(weights.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    product = HessianProduct(weights, network, moments)(direction)
    for run, hessian in enumerate(hessians(weights, network, moments)):
        expected = hessian @ flatten(direction[:, run])
        assert (flatten(product[:, run]) - expected).norm() <= 1e-12 * expected.norm()


@pytest.mark.parametrize("settings", [(0, 8, "orthogonal", 1.0), (2, 8, "xavier", 0.01), (0, 8, "xavier", 1.0)])
def test_lanczos_finds_the_largest_absolute_eigenvalue(settings: tuple[int, int, str, float], moments: Moments) -> None:
    network = Network(settings[0], settings[1], 10)
    weights = initial_weights(network, settings[2], settings[3], 3, 3)
    expected = torch.linalg.eigvalsh(hessians(weights, network, moments)).abs().amax(dim=1)
    product = HessianProduct(weights, network, moments)
    found = largest_magnitude(product)
    torch.testing.assert_close(found.magnitude, expected, rtol=1e-9, atol=0)
    torch.testing.assert_close(largest_magnitude(product, found.vector).magnitude, expected, rtol=1e-9, atol=0)
