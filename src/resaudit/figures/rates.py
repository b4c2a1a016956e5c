"""The best learning rate of a sweep and the rates tied with it: the only definition.

The paper's best rate has the least average final loss (Demystifying ResNet, section 5.3.1). A last digit can change it:
near the edge of stability, processors differ in whether a run diverges. So the rate shown is the *smallest* one whose
average is within :data:`NEAR` of the least, which is the same on the figure's logarithmic axis; and everything that
depends on the choice is evaluated at every rate of :attr:`BestRate.tied`. Imports only NumPy and SciPy.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

NEAR = 1.1
"""Averages within this factor of the least look equal on the figure: 0.04 decades, less than a marker's width."""
LEVEL = 0.95
"""Probability that the rate with the least expected loss is tied."""
STILL_FALLING = 1.01
"""A grid ends too early if the average at its end is the least, by more than this factor below its neighbour.

So does a grid of a single rate.
"""


@dataclass(frozen=True)
class BestRate:
    """The best learning rate of a sweep.

    Tied are the rates within :data:`NEAR` of the least average, and those that are not worse by a one-sided paired
    t-test of the averages, nor by a sign test of the pairs. A rate at which a run diverges is worse than one at which
    none does.
    """

    shown: float | None  # the smallest rate within NEAR of the least average; None if each rate has a diverged run
    tied: tuple[float, ...]  # ascending, including the one shown
    at_edge: bool  # the grid's first or last rate is tied, so that rates outside it may be as good
    still_falling: bool  # the least average lies at such an end and still falls there, or is of the only rate

    @property
    def order(self) -> tuple[float, ...]:
        """The tied rates, the shown one first."""
        return tuple(sorted(self.tied, key=lambda rate: (rate != self.shown, rate)))

    # Averages beyond double precision are infinite, as those of diverged runs are.
    @classmethod
    @np.errstate(over="ignore")
    def choose(
        cls, rates: np.ndarray, losses: np.ndarray, level: float = LEVEL, grid: np.ndarray | None = None
    ) -> Self:
        """The best learning rate of a sweep, or of those that a screening left.

        Args:
            rates: ascending, shape (k,).
            losses: final losses, or their distances to the optimum, by run and rate, shape (runs, k); infinite where a
                run diverged. Runs of a row share their random draws.
            level: probability that the rate with the least expected loss is tied. The two tests of each other rate
                share the error rate (1 - level) / (k - 1) (Bonferroni).
            grid: the rates of the screening, ascending, if others than ``rates`` were worse there; its ends are the
                edges.

        >>> losses = np.array([[3.0, 1.0, np.inf], [3.1, 1.1, np.inf], [2.9, 0.9, np.inf]])
        >>> BestRate.choose(np.array([0.01, 0.1, 1.0]), losses)
        BestRate(shown=0.1, tied=(0.1,), at_edge=False, still_falling=False)
        """
        average = losses.mean(axis=0)
        if not np.isfinite(average).any():
            return cls(None, (), False, False)
        least = int(np.argmin(average))
        near = average <= NEAR * average[least]
        tail = (1 - level) / max(1, len(rates) - 1) / 2
        worse = [_is_worse(losses[:, k], losses[:, least], tail) for k in range(len(rates))]
        tied = np.flatnonzero(near | ~np.array(worse))
        grid = rates if grid is None else grid
        # The neighbours of each end; a single rate is both ends and has none.
        edges = {float(grid[0]): grid[1:2], float(grid[-1]): grid[-2:-1]} if len(grid) else {}
        return cls(
            shown=float(rates[np.flatnonzero(near)[0]]),
            tied=tuple(float(rate) for rate in rates[tied]),
            at_edge=bool(edges.keys() & set(rates[tied].tolist())),
            still_falling=float(rates[least]) in edges
            # A neighbour that the screening left out is worse.
            and not (average[np.isin(rates, edges[float(rates[least])])] <= STILL_FALLING * average[least]).any(),
        )

    @classmethod
    def to_confirm(cls, rates: np.ndarray, losses: np.ndarray) -> tuple[float, ...]:
        """The rates that a screening leaves for fresh runs: the tied ones, the shown one first.

        If each rate has a diverged run, the one with the fewest (:func:`least_diverged`).
        """
        return cls.choose(rates, losses).order or (least_diverged(rates, losses),)


def least_diverged(rates: np.ndarray, losses: np.ndarray) -> float:
    """The rate with the fewest diverged runs, of these the one with the least average: shown to none, but measured.

    >>> least_diverged(np.array([0.1, 1.0]), np.array([[np.inf, np.inf], [2.0, np.inf]]))
    0.1
    """
    finite = np.isfinite(losses)
    with np.errstate(over="ignore"):
        return float(rates[np.lexsort((losses.sum(axis=0, where=finite), (~finite).sum(axis=0)))[0]])


def is_only_bounded(trains: bool, grid: np.ndarray, left: np.ndarray, best: BestRate) -> bool:
    """Whether fresh runs bound a network's loss from below, and its best rate from above, without showing either.

    Some of them diverge at each rate that the screening left. By the screening each other rate is worse than these, or
    a run diverges there.

    Args:
        trains: whether the screening has a rate at which no run diverged.
        grid: its rates, ascending.
        left: those that it left, ascending.
        best: the choice among these by fresh runs.
    """
    return trains and best.shown is None and not np.array_equal(left, grid)


def _is_worse(losses: np.ndarray, least: np.ndarray, tail: float) -> bool:
    """Whether a rate is worse than the one with the least average, by either test; with less than two runs, no."""
    from scipy.special import bdtrc, stdtrit

    runs = len(losses)
    if not np.isfinite(losses).all():
        return True
    if runs < 2:
        return False
    # A sign test: one run far above all others leaves the t-test without power, but not this one.
    larger, unequal = int((losses > least).sum()), int((losses != least).sum())
    if larger > 0 and bdtrc(larger - 1, unequal, 0.5) <= tail:
        return True
    # A t-test of the logarithm of the ratio of averages, with the delta method's standard error over paired runs.
    average, least_average = losses.mean(), least.mean()
    if least_average == 0.0 or average <= least_average:
        return bool(average > least_average)
    error = (losses / average - least / least_average).std(ddof=1) / np.sqrt(runs)
    return bool(np.log(average / least_average) > stdtrit(runs - 1, 1 - tail) * error)
