"""Oracle: linear algebra on all of MNIST. Sees a wrong mean, scale, order or number of components."""

from itertools import product
from typing import get_args

import numpy as np
import pytest

from resaudit.base.errors import ConfigError
from resaudit.data.dataset import Signs
from resaudit.data.whiten import Moments, Whitened, whiten
from tests.refusals import refused


def test_all_samples_are_there_and_white(whitened: Whitened, moments: Moments) -> None:
    assert whitened.inputs.shape == (10, 60_000)
    assert whitened.inputs.dtype == np.float64
    assert np.abs(moments.xx - np.eye(10)).max() < 1e-12
    assert np.abs(whitened.inputs.mean(axis=1)).max() < 1e-12


def test_optimal_loss_of_centred_mnist(moments: Moments) -> None:
    assert moments.optimal_loss == pytest.approx(0.33714, abs=5e-6)


def test_optimal_loss_is_least_squares_own(whitened: Whitened, moments: Moments) -> None:
    solution, *_ = np.linalg.lstsq(whitened.inputs.T, whitened.targets.T, rcond=None)
    residual = whitened.targets - solution.T @ whitened.inputs
    assert moments.optimal_loss == pytest.approx(0.5 * np.sum(residual**2) / 60_000, rel=1e-12)


def test_components_are_the_leading_ones(mnist: tuple[np.ndarray, np.ndarray], whitened: Whitened) -> None:
    pixels = mnist[0][:5000].reshape(5000, -1).astype(float)
    subset = whiten(*(part[:5000] for part in mnist), components=10, centered=True)
    singular = np.linalg.svd(pixels - pixels.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(subset.explained_variance, (singular**2 / np.sum(singular**2))[:10], rtol=1e-9)
    assert np.all(np.diff(whitened.explained_variance) < 0)


def test_not_centring_raises_the_rank_of_the_cross_moment(
    mnist: tuple[np.ndarray, np.ndarray], moments: Moments
) -> None:
    raw = whiten(*mnist, components=10, centered=False)
    raw_moments = Moments.of(raw.inputs, raw.targets)
    assert np.abs(raw_moments.xx - np.eye(10)).max() < 1e-12
    assert np.linalg.matrix_rank(moments.yx, tol=1e-10) == 9
    assert np.linalg.matrix_rank(raw_moments.yx, tol=1e-10) == 10


def test_signs_do_not_depend_on_the_eigensolver(mnist: tuple[np.ndarray, np.ndarray]) -> None:
    images, labels = mnist[0][:2000], mnist[1][:2000]
    inputs = whiten(images, labels, 3, centered=True).inputs
    pixels = images.reshape(len(images), -1).astype(float)
    axes = (pixels - pixels.mean(axis=0)).T @ inputs.T
    assert np.all(axes[np.abs(axes).argmax(axis=0), range(3)] > 0)


@pytest.mark.parametrize("centered", [True, False])
def test_the_identity_is_nearest_and_farthest_of_all_signs(
    mnist: tuple[np.ndarray, np.ndarray], centered: bool
) -> None:
    images, labels = mnist[0][:2000], mnist[1][:2000]
    fixed, nearest, farthest = (
        Moments.of(found.inputs, found.targets).yx
        for found in (whiten(images, labels, 10, centered, signs) for signs in get_args(Signs))
    )
    every = [np.linalg.norm(fixed * np.array(signs) - np.eye(10)) for signs in product((1, -1), repeat=10)]
    assert np.linalg.norm(nearest - np.eye(10)) == pytest.approx(min(every), rel=1e-12)
    assert np.linalg.norm(farthest - np.eye(10)) == pytest.approx(max(every), rel=1e-12)
    np.testing.assert_array_equal(nearest, -farthest)
    np.testing.assert_array_equal(np.abs(nearest), np.abs(fixed))


def test_more_components_than_directions_are_refused() -> None:
    images = np.zeros((4, 2, 2), dtype=np.uint8)
    images[:2, 0, 0] = 9
    with refused(ConfigError, 2, 1):
        whiten(images, np.zeros(4, dtype=np.uint8), 2, centered=True)


def test_labels_have_as_many_classes_as_there_are_components() -> None:
    images = np.random.default_rng(0).integers(0, 255, (50, 4, 4)).astype(np.uint8)
    labels = np.arange(50, dtype=np.uint8) % 5
    targets = whiten(images, labels, 5, centered=True).targets
    np.testing.assert_array_equal(targets, labels == np.arange(5)[:, None])
