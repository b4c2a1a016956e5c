"""Oracle: made spectra, whose counts and determinants are known.

Sees a wrong rank, a search that does not end or costs far more than it should, trust in counts that contradict each
other, and bad input that is computed with.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from resaudit.data.whiten import Moments
from resaudit.runtime import extensions
from residual.demystifying_resnet.curvature import counts, structured
from residual.demystifying_resnet.curvature.bracketing import Bracketing, CountsInconsistent, Extrapolation
from residual.demystifying_resnet.curvature.counts import Chain, Counts, count_below
from residual.demystifying_resnet.curvature.products import HessianProduct
from residual.demystifying_resnet.curvature.structured import (
    certified_largest,
    structured_spectra_along,
    trusted_counts,
)
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import initial_weights


class Made:
    """Counts of a spectrum that is known."""

    def __init__(self, eigenvalues: np.ndarray) -> None:
        self.eigenvalues, self.taken = eigenvalues, 0

    def __call__(self, bounds: Sequence[float]) -> list[tuple[int, float]]:
        self.taken += len(bounds)
        distances = np.abs(self.eigenvalues - np.array(bounds)[:, None])
        with np.errstate(divide="ignore"):
            logarithms = np.log(distances).sum(axis=1)
        return [(int((self.eigenvalues < t).sum()), float(y)) for t, y in zip(bounds, logarithms, strict=True)]

    def search(self) -> Bracketing:
        top = float(np.abs(self.eigenvalues).max())
        floor = np.finfo(np.float64).eps * len(self.eigenvalues) * top
        return Bracketing(self, len(self.eigenvalues), floor, top * (1 + 1e-8))


def spread(seed: int, size: int) -> np.ndarray:
    """Eigenvalues of both signs over nine orders of magnitude."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1, 1], size) * 10 ** rng.uniform(-8, 1, size)


@given(st.integers(0, 10_000), st.integers(20, 400), st.floats(0.01, 0.9))
@settings(max_examples=60)
def test_a_percentile_is_numpys(seed: int, size: int, share: float) -> None:
    made = Made(spread(seed, size))
    expected = np.quantile(np.abs(made.eigenvalues), share)
    found = made.search().percentile(share)
    assert found is not None
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert made.taken < 150


@pytest.mark.parametrize("off", [0.5, 0.99, 1.0, 1.01, 2.0, 1e6, 1e-12])
def test_a_hint_changes_the_price_and_not_the_answer(off: float) -> None:
    made = Made(spread(1, 300))
    known = made.search().percentile(0.1)
    assert known is not None
    without, made.taken = made.taken, 0
    again = made.search().percentile(0.1, (off * known.bounds[0], off * known.bounds[1]))
    assert again is not None
    assert again.value == pytest.approx(known.value, rel=1e-6)
    if off == 1.0:
        assert made.taken < 0.7 * without


def test_eigenvalues_that_coincide_are_found() -> None:
    singular = np.repeat([0.5, 0.5 * (1 + 1e-7), 0.7, 2.0], 50)
    made = Made(np.concatenate([singular, -singular]))
    found = made.search().percentile(0.1)
    assert found is not None
    assert found.value == pytest.approx(0.5, rel=1e-6)


def test_two_close_eigenvalues_of_one_sign_and_of_two() -> None:
    rest = np.geomspace(0.1, 10, 95)
    for pair in ([0.01, 0.010001], [0.01, -0.010001]):
        made = Made(np.concatenate([[1e-5, -1e-4, 1e-3], pair, rest, [-0.05, 0.05]]))
        found = made.search().percentile(0.035)
        assert found is not None
        assert found.value == pytest.approx(np.quantile(np.abs(made.eigenvalues), 0.035), rel=1e-6)


def test_a_percentile_under_the_noise_floor_is_none() -> None:
    assert Made(np.concatenate([np.full(50, 1e-17), np.linspace(1, 2, 50)])).search().percentile(0.1) is None
    assert Made(np.concatenate([np.zeros(50), np.linspace(1, 2, 50)])).search().percentile(0.1) is None


def test_contradicting_counts_are_not_believed() -> None:
    made = Made(spread(2, 300))

    def lying(bounds: Sequence[float]) -> list[tuple[int, float]]:
        return [(count + (40 if 0 < t < 1e-7 else 0), y) for t, (count, y) in zip(bounds, made(bounds), strict=True)]

    search = made.search()
    search.count = lying
    search.at(2e-7)
    with pytest.raises(CountsInconsistent):
        search.at(5e-8)


def test_an_extrapolation_follows_a_swing() -> None:
    seen = Extrapolation()
    assert seen.hint() is None
    made = Made(np.linspace(1.0, 2.0, 101))
    found = made.search().percentile(0.1)
    assert found is not None
    for _ in range(2):
        seen.remember(found)
    hint = seen.hint()
    assert hint is not None
    assert hint[0] < found.value < hint[1]
    assert math.isclose(hint[0], found.bounds[0], rel_tol=1e-12)


NETWORK = Network(2, 4, 10)


@pytest.fixture
def weights() -> torch.Tensor:
    return initial_weights(NETWORK, "xavier", 0.01, 1, 3)


@pytest.mark.parametrize("bounds", [[math.nan], [0.0, math.inf]])
def test_bounds_must_be_finite(bounds: list[float], weights: torch.Tensor, moments: Moments) -> None:
    with pytest.raises(ValueError, match="finite"):
        count_below(HessianProduct(weights, NETWORK, moments).chains()[0], bounds)


@pytest.mark.parametrize("threshold", [0.0, -1.0, 0.5, math.nan])
def test_a_threshold_has_a_range(threshold: float, weights: torch.Tensor, moments: Moments) -> None:
    with pytest.raises(ValueError, match=r"\(0, 0\.3\]"):
        count_below(HessianProduct(weights, NETWORK, moments).chains()[0], [1.0], threshold)


def test_only_linear_networks_are_counted_and_always_in_double_precision(
    weights: torch.Tensor, moments: Moments
) -> None:
    with pytest.raises(ValueError, match="linear"):
        structured_spectra_along([weights], Network(2, 4, 10, mid="relu"), moments)
    spectra = structured_spectra_along([weights.float()], NETWORK, moments)
    rounded = structured_spectra_along([weights.float().double()], NETWORK, moments)
    np.testing.assert_array_equal(spectra.lambda_p10, rounded.lambda_p10)


def test_a_diverged_run_has_no_spectrum_and_spares_the_others(weights: torch.Tensor, moments: Moments) -> None:
    alone = structured_spectra_along([weights[:, [0, 2]]], NETWORK, moments)
    weights[1, 1] = torch.inf
    spectra = structured_spectra_along([weights, weights], NETWORK, moments)
    assert np.isnan(spectra.index[:, 1]).all()
    assert np.isnan(spectra.lambda_max[:, 1]).all()
    assert not spectra.resolved[:, 1].any()
    np.testing.assert_allclose(spectra.lambda_p10[0, [0, 2]], alone.lambda_p10[0], rtol=1e-6)


def test_weights_whose_products_overflow_have_no_spectrum(weights: torch.Tensor, moments: Moments) -> None:
    weights[:, 0] *= 1e200
    spectra = structured_spectra_along([weights], NETWORK, moments)
    assert np.isnan(spectra.lambda_max[0, 0])
    assert spectra.resolved[0].tolist() == [False, True, True]


def test_without_the_kernel_small_hessians_are_dense(
    weights: torch.Tensor, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structured, "library", lambda: None)
    ours, dense = (along([weights], NETWORK, moments) for along in (structured_spectra_along, spectra_along))
    np.testing.assert_array_equal(ours.lambda_p10, dense.lambda_p10)


def test_an_index_at_zero_that_could_not_be_counted_is_not_known(
    moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At t = 0 pivots of 1e-2 and less have to be put off; here none may be, so that the count is given up."""
    network = Network(2, 8, 10)
    weights = initial_weights(network, "xavier", 0.01, 1, 1)

    def impatient(chain: Chain, bounds: Sequence[float], threshold: float = 1e-4) -> Counts:
        with pytest.MonkeyPatch.context() as patched:
            if list(bounds) == [0.0]:
                patched.setattr(counts, "MOST_DELAYED", 0)
            return count_below(chain, bounds, threshold)

    known = structured_spectra_along([weights], network, moments)
    monkeypatch.setattr(structured, "count_below", impatient)
    spectra = structured_spectra_along([weights], network, moments)
    assert (known.raw_index.item(), known.index.item()) == (0.5, 0.5)
    assert np.isnan(spectra.raw_index.item())
    assert (spectra.index.item(), spectra.lambda_p10.item()) == (0.5, known.lambda_p10.item())


def test_a_hessian_of_zeros_has_no_condition_number(moments: Moments) -> None:
    spectra = structured_spectra_along([torch.zeros(6, 1, 10, 10, dtype=torch.float64)], Network(3, 6, 10), moments)
    assert spectra.lambda_max.item() == 0
    assert np.isnan(spectra.condition_number.item())
    assert not spectra.resolved.item()


def test_without_the_kernel_numpy_counts(
    weights: torch.Tensor, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    (chain,) = HessianProduct(weights[:2, :1], Network(2, 2, 10), moments).chains()
    expected = count_below(chain, [-0.1, 0.1])
    monkeypatch.setattr("residual.demystifying_resnet.curvature.counts.library", lambda: None)
    np.testing.assert_array_equal(count_below(chain, [-0.1, 0.1]).below, expected.below)
    with pytest.raises(ValueError, match=re.escape(extensions.NOT_BUILT)):
        count_below(chain, [0.1], compiled=True)


def test_doubtful_counts_are_taken_again(
    weights: torch.Tensor, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two eliminations with other pivots must agree where rounding may matter; if they do not, nothing is said."""
    (chain,) = HessianProduct(weights[:, :1], NETWORK, moments).chains()

    def disagreeing(at: object, bounds: Sequence[float], threshold: float = 1e-4) -> Counts:
        del at
        some = np.full(len(bounds), 7 if threshold < 1e-3 else 8)
        return Counts(some, some * 0.0, some, np.full(len(bounds), 1e9))

    monkeypatch.setattr(structured, "count_below", disagreeing)
    # Rounding is far below 1, but not below 1e-9.
    assert [n for n, _ in trusted_counts(chain, [1.0])] == [7]
    with pytest.raises(CountsInconsistent):
        trusted_counts(chain, [1e-9])
    untrusted = structured_spectra_along([weights[:, :1]], NETWORK, moments)
    dense = spectra_along([weights[:, :1]], NETWORK, moments)
    # Small Hessians are computed densely instead.
    assert untrusted.lambda_p10 == dense.lambda_p10
    monkeypatch.setattr(structured, "LARGEST_DENSE", 100)
    unknown = structured_spectra_along([weights[:, :1]], NETWORK, moments)
    assert not unknown.resolved.any()
    assert np.isnan(unknown.index).all()
    assert unknown.lambda_max == pytest.approx(dense.lambda_max)


def test_a_largest_eigenvalue_that_lanczos_missed_is_found_by_counts(weights: torch.Tensor, moments: Moments) -> None:
    (chain,) = HessianProduct(weights[:, :1], NETWORK, moments).chains()
    true = spectra_along([weights[:, :1]], NETWORK, moments).lambda_max.item()
    for found in (true, 0.9 * true, 0.1 * true):
        assert certified_largest(chain, found) == pytest.approx(true, rel=2e-8)


def test_a_kernel_that_is_not_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "EXTENSION_SUFFIXES", [".nowhere"])
    monkeypatch.setattr(extensions, "_LANES", {})
    library, lanes = extensions.kernel(Path(counts.__file__).parent, "counts", "counts", 64)
    assert library() is None
    assert lanes() is None
    assert extensions.vector_lanes() == {"counts": None}


@pytest.mark.parametrize("factor", [1e6, 1e9, 1e15])
def test_a_run_on_its_way_to_infinity_has_no_spectrum_and_does_not_disturb_the_others(
    factor: float, moments: Moments
) -> None:
    """Entries of the Hessian go with the thirtieth power of the weights: finite, while their squares are not."""
    network = Network(0, 16, 10)
    weights = initial_weights(network, "xavier", 1.0, 1, 2)
    diverging = torch.cat([weights, factor * weights[:, :1]], dim=1)
    alone, beside = (structured_spectra_along([w], network, moments) for w in (weights, diverging))
    for name in ("lambda_max", "lambda_p10", "index"):
        np.testing.assert_array_equal(getattr(beside, name)[:, :2], getattr(alone, name))
    assert np.isnan(beside.lambda_max[0, 2])
    assert not beside.resolved[0, 2]
