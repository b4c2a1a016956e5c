"""Intervals for shares of runs. Oracle: scipy.stats.binomtest, which searches for the ends of the exact one."""

import pytest
from scipy.stats import binomtest

from resaudit.claims.intervals import exact_share, wilson_share


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9975])
@pytest.mark.parametrize(("hits", "runs"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (48, 80), (4999, 5000)])
def test_ends_are_those_of_binomtest(hits: int, runs: int, level: float) -> None:
    test = binomtest(hits, runs)
    assert exact_share(hits, runs, level) == pytest.approx(tuple(test.proportion_ci(level, "exact")), abs=1e-9)
    assert wilson_share(hits, runs, level) == pytest.approx(tuple(test.proportion_ci(level, "wilson")), abs=1e-9)
