"""Oracles: exact bootstrap distributions of small samples, normal theory, numpy's means.

Sees draws that are not resamples with replacement, groups that share draws, infinities or gaps that turn a mean into
nonsense, intervals that are too short.
"""

import numpy as np
import pytest

from resaudit.claims.resampling import DRAWS, all_runs, interval, run_weights, weighted_mean


def test_weights_are_resamples_with_replacement() -> None:
    weights = run_weights(4, "a")
    counts = weights * 4
    assert weights.shape == (DRAWS, 4)
    assert np.array_equal(counts, counts.round())
    assert np.allclose(weights.sum(axis=1), 1)
    # P(a given run is never drawn) = (3/4)^4; P(all four are the same) = 4 / 4^4
    assert (weights[:, 0] == 0).mean() == pytest.approx((3 / 4) ** 4, abs=0.02)
    assert (weights.max(axis=1) == 1).mean() == pytest.approx(4 / 4**4, abs=0.005)


def test_draws_are_the_same_every_time_and_other_for_another_group() -> None:
    assert np.array_equal(run_weights(5, "a"), run_weights(5, "a"))
    correlation = np.corrcoef(run_weights(5, "a")[:, 0], run_weights(5, "b")[:, 0])[0, 1]
    assert abs(correlation) < 0.05


def test_the_interval_of_a_mean_is_that_of_normal_theory() -> None:
    values = np.random.default_rng(0).standard_normal((200, 1))
    low, high = interval(weighted_mean(run_weights(200, "a"), values)[:, 0], 0.95)
    half_width = 1.96 * values.std() / 200**0.5
    assert (low, high) == pytest.approx((values.mean() - half_width, values.mean() + half_width), abs=0.15 * half_width)


def test_gaps_do_not_count_and_infinities_do() -> None:
    values = np.array([[1.0, 1.0, np.nan], [3.0, np.inf, np.nan], [np.nan, 2.0, np.nan]])
    mean = weighted_mean(all_runs(3), values)[0]
    assert mean[0] == 2
    assert mean[1] == np.inf
    assert np.isnan(mean[2])
    without_the_second = weighted_mean(np.array([[0.5, 0.0, 0.5]]), values)[0]
    assert without_the_second[1] == 1.5


def test_an_interval_may_end_at_infinity() -> None:
    draws = np.concatenate([np.ones(90), np.full(10, np.inf)])
    assert interval(draws, 0.95) == (1.0, np.inf)
    assert interval(np.array([1.0, 2.0, np.nan]), 0.99) == (1.0, 2.0)
