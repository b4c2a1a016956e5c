"""Confidence intervals over runs: the jackknife with Student's t, on a log scale for positive effects.

docs/intervals.md has their measured coverage. An effect is computed from the means over runs and, in the same way, from
the means with each run left out in turn (Quenouille 1956). Its standard error is the jackknife's, its interval that of
Student's t (Tukey 1958). For the mean of a quantity of each run (a logarithm, a slope, the logarithm of a ratio) this
is exactly the paired t-interval.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

TRIALS = 10_000
MANY = 100
SEED = 1
FEWEST = 6
"""Fewer runs do not bound a median at 95 %: all five lie on one side of it with probability 2/2^5."""


def replicate_means(values: np.ndarray) -> np.ndarray:
    """The mean over runs, then the means with each run left out in turn.

    Args:
        values: shape (runs,) or (runs, k). NaN: the run has no value and does not count, so that leaving it out changes
            nothing. Infinite: the run diverged, and so does every mean with it (both signs: NaN).

    Returns:
        Shape (1 + runs,) or (1 + runs, k); NaN if no run is left.
    """
    if not len(values):
        return np.full((1, *values.shape[1:]), np.nan)
    known, finite = ~np.isnan(values), np.isfinite(values)
    least = np.where(finite, values, np.inf).min(axis=0)
    least = np.where(np.isfinite(least), least, 0.0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        # Sums of non-negative terms on either side of the run left out: nothing cancels, equal runs stay equal.
        above = np.where(known, values - least, 0.0)
        before, after = np.cumsum(above, axis=0), np.cumsum(above[::-1], axis=0)[::-1]
        nothing = np.zeros_like(above[:1])
        without = np.concatenate([nothing, before[:-1]]) + np.concatenate([after[1:], nothing])
        sums, counts = np.concatenate([before[-1:], without]), known.sum(axis=0) - known
        return np.asarray(least + sums / np.concatenate([known.sum(axis=0, keepdims=True), counts]))


class LeftOut(NamedTuple):
    """An effect without each run in turn, for a group of runs that is independent of all others.

    Attributes:
        effects: shape (..., runs).
        runs: number of runs of the smallest mean: the degrees of freedom and 1.
    """

    effects: np.ndarray
    runs: int


def half_width(moved: Sequence[LeftOut], level: float) -> np.ndarray:
    """Half the width of an interval: Student's t times the jackknife's standard error.

    Variances of independent groups add up, with the degrees of freedom of Welch (1947) and Satterthwaite (1946). For
    one group these are its runs minus 1.

    Args:
        moved: each group's effects with each run left out minus the effect; a group has at least 2 runs.
        level: the interval's confidence level.
    """
    from scipy.special import stdtrit

    counts = [group.effects.shape[-1] for group in moved]
    squares = [np.sum(group.effects**2, axis=-1) for group in moved]
    variances = np.stack([(n - 1) / n * each for n, each in zip(counts, squares, strict=True)])
    total = variances.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = variances / total
        freedom = 1 / sum(share**2 / (group.runs - 1) for group, share in zip(moved, shares, strict=True))
        return np.where(total > 0, stdtrit(freedom, (1 + level) / 2) * np.sqrt(total), 0.0)


def interval(effect: float, replicates: Sequence[LeftOut], level: float, logarithmic: bool) -> tuple[float, float]:
    """A confidence interval for an effect.

    If the effect is infinite (a run diverged; on a log scale also zero) there is no standard error: the interval then
    spans the effect and its replicates. If a finite effect is not finite without one of the runs, or a group has only
    one run, the interval is unbounded.

    Args:
        effect: the effect over all runs.
        replicates: the replicates of each independent group of runs.
        level: the interval's confidence level.
        logarithmic: whether the effect is positive and its standard error is that of its logarithm.
    """
    everything = (0.0 if logarithmic else -np.inf, np.inf)
    scale = np.log if logarithmic else np.asarray
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = scale(effect)
        moved = [LeftOut(scale(group.effects) - middle, group.runs) for group in replicates]
        if not np.isfinite(middle):
            every = np.append(np.concatenate([group.effects for group in replicates]), effect)
            return everything if np.isnan(every).any() else (float(every.min()), float(every.max()))
        if not all(group.runs > 1 and np.isfinite(group.effects).all() for group in moved):
            return everything
        half = float(half_width(moved, level))
        if logarithmic:
            return float(effect * np.exp(-half)), float(effect * np.exp(half))
        return float(effect - half), float(effect + half)


def share_interval(counted: tuple[tuple[float, int], ...], level: float) -> tuple[float, float]:
    """An interval for a share of runs (exact, Clopper and Pearson 1934), or for the difference of two.

    The difference's is Newcombe's (1998, method 10), from Wilson's score intervals of both shares.

    Args:
        counted: one count, or two: how many of how many runs. A single one need not be whole (a mean over pairings of
            runs): each end is that of the whole number beyond it.
        level: the interval's confidence level.

    >>> [round(end, 4) for end in share_interval(((5, 10),), 0.95)]
    [0.1871, 0.8129]
    >>> [round(end, 4) for end in share_interval(((56, 70), (48, 80)), 0.95)]  # Newcombe's own example (a)
    [0.0524, 0.3339]
    """
    if len(counted) == 1:
        hits, runs = counted[0]
        return exact_share(math.floor(hits), runs, level)[0], exact_share(math.ceil(hits), runs, level)[1]
    (one, first), (other, second) = ((hits / runs, wilson_share(hits, runs, level)) for hits, runs in counted)
    return (
        float(one - other - np.hypot(one - first[0], second[1] - other)),
        float(one - other + np.hypot(first[1] - one, other - second[0])),
    )


def median_interval(ordered: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for a median, between order statistics (Thompson 1936): it covers at least its level for any law.

    Its ends are the k-th least and the k-th largest value, with the largest k for which each errs at most half of what
    the level leaves; minus infinity and infinity if the runs are too few for any. An unknown value may be anything: it
    counts as the least for the lower end and as the largest for the upper one.

    Args:
        ordered: the runs' values, ascending; unknown ones, NaN, come last.
        level: the interval's confidence level.

    >>> median_interval(range(1, 11), 0.95), median_interval(range(1, 6), 0.95)
    ((2.0, 9.0), (-inf, inf))
    """
    from scipy.special import bdtr

    runs = len(ordered)
    k = int(np.sum(bdtr(np.arange(runs), runs, 0.5) <= (1 - level) / 2))
    known = [value for value in ordered if not math.isnan(value)]
    unknown = [math.inf] * (runs - len(known))
    lows, highs = [*(-value for value in unknown), *known], [*known, *unknown]
    return (float(lows[k - 1]), float(highs[-k])) if k else (-math.inf, math.inf)


def median_ratio_interval(above: Sequence[float], below: Sequence[float], level: float) -> tuple[float, float]:
    """An interval for the ratio of two medians of positive values: the quotients of the ends of their intervals.

    Each errs half as often, so that together they cover at least their level (Bonferroni).

    >>> median_ratio_interval(range(10, 110, 10), range(1, 11), 0.95)
    (2.2222222222222223, 45.0)
    """
    (low, high), (least, most) = (median_interval(each, (1 + level) / 2) for each in (above, below))
    return max(low, 0.0) / most if most else math.inf, high / least if least > 0 else math.inf


# Both are those of scipy.stats.binomtest, which searches for their ends and takes two seconds to load.
def exact_share(hits: int, runs: int, level: float) -> tuple[float, float]:
    """The exact interval for a share of runs (Clopper and Pearson 1934), from quantiles of the beta distribution."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = betaincinv(hits, runs - hits + 1, tail) if hits else 0.0
    high = betaincinv(hits + 1, runs - hits, 1 - tail) if hits < runs else 1.0
    return float(low), float(high)


def wilson_share(hits: float, runs: int, level: float) -> tuple[float, float]:
    """The score interval for a share of runs (Wilson 1927)."""
    from scipy.special import ndtri

    share, weight = hits / runs, float(ndtri((1 + level) / 2)) ** 2 / runs
    middle, half = share + weight / 2, math.sqrt(weight * (share * (1 - share) + weight / 4))
    return (middle - half) / (1 + weight), (middle + half) / (1 + weight)


@cache
def covered(runs: int, level: float, logarithmic: bool) -> float:
    """The share of intervals that cover the arithmetic mean of skewed runs, simulated with a fixed seed.

    Runs are log-normal with a standard deviation of the logarithm of 1: of the laws in docs/intervals.md the one with
    the lowest coverage, but for a larger deviation. More than :data:`MANY` runs count as :data:`MANY`; their coverage
    is higher.

    Args:
        runs: number of runs, at least 2.
        level: the nominal level.
        logarithmic: whether the interval is made on a log scale.
    """
    rng = np.random.default_rng(SEED)
    runs = min(runs, MANY)
    means = replicate_means(np.exp(rng.standard_normal((runs, TRIALS))))
    effects, truth = (np.log(means), 0.5) if logarithmic else (means, np.exp(0.5))
    half = half_width([LeftOut((effects[1:] - effects[0]).T, runs)], level)
    return float(np.mean(np.abs(effects[0] - truth) <= half))
