"""The result of a check's measurement, and ratios of two means at every pair of tied learning rates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from resaudit.claims.intervals import FEWEST, LeftOut, replicate_means

if TYPE_CHECKING:
    import pandas as pd

Counted = tuple[float, int]
"""How many of how many runs, or on average of as many pairs."""


@dataclass(frozen=True)
class Effect:
    """An effect, and the same with each run left out in turn.

    Attributes:
        value: the effect in the unit of the check.
        replicates: its replicates for each independent group of runs; empty if the effect is exact.
        runs: number of runs; of several means, the smallest number.
        choice: what the paper leaves open and is chosen here, such as ``rate 0.1``; empty if nothing is.
        reaching: further ends of its interval, such as infinity if a run's value is known to be larger than recorded.
        counted: the count of a share of runs, or both counts of the first share minus the second; no replicates then.
        ordered: the runs' values, ascending, unknown ones last, if it is their median, or those of two groups if it is
            the ratio of their medians; no replicates then.
        diverged: how many of how many runs diverged, over all its groups.
        printed: whether the second count is one that the paper printed, and so no rerun's.
    """

    value: float
    replicates: tuple[LeftOut, ...] = ()
    runs: int = 0
    choice: str = ""
    reaching: tuple[float, ...] = ()
    counted: tuple[Counted, ...] = ()
    ordered: tuple[tuple[float, ...], ...] = ()
    diverged: Counted = (0, 0)
    printed: bool = False

    @property
    def recounted(self) -> tuple[Counted, ...]:
        """The counts that are others in a rerun."""
        return self.counted[:1] if self.printed else self.counted

    @property
    def is_exact(self) -> bool:
        """Whether it has no spread over runs."""
        return not (self.replicates or self.counted or self.ordered)


UNKNOWN = Effect(np.nan, choice="another rate")
"""An effect that may be anything, since a rate that was not measured may be better."""


def effect_of(function: Callable[..., np.ndarray], *groups: np.ndarray, choice: str = "") -> Effect:
    """A function of the means over runs, with its replicates.

    Args:
        function: a function of one array of means a group, which broadcasts over the first axis.
        groups: values of shape (runs,) or (runs, k), NaN where a run has none. Those of a row are of the same run,
            paired; those of different groups are independent.
        choice: what is chosen here, see :class:`Effect`.
    """
    known = [~np.isnan(values if values.ndim > 1 else values[:, None]) for values in groups]
    groups = tuple(values[counts.any(axis=1)] for values, counts in zip(groups, known, strict=True))
    runs = [int(counts.sum(axis=0).min()) for counts in known]
    if not min(runs):
        return Effect(np.nan, choice=choice)
    means = [replicate_means(values) for values in groups]
    whole = [every[:1] for every in means]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        value = float(function(*whole)[0])
        without = [function(*whole[:i], every[1:], *whole[i + 1 :]) for i, every in enumerate(means)]
    return Effect(value, tuple(map(LeftOut, without, runs)), min(runs), choice, diverged=diverged(*groups))


def median_of(values: np.ndarray, *below: np.ndarray, choice: str = "") -> Effect:
    """The median of runs' values, shape (runs,), or its ratio to that of other runs; NaN where a run has none."""
    groups = (values, *below)
    ordered = tuple(tuple(np.sort(group).tolist()) for group in groups)
    # Between minus infinity and infinity there is no median.
    halves = [
        known[[(len(known) - 1) // 2, len(known) // 2]] / 2 for known in (np.sort(g[~np.isnan(g)]) for g in groups)
    ]
    medians = [float(half.sum()) for half in halves]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(medians[0] / np.float64(medians[1])) if below else medians[0]
    return Effect(value, (), min(map(len, groups)), choice, ordered=ordered, diverged=diverged(*groups))


def diverged(*groups: np.ndarray) -> Counted:
    """How many of how many runs have a value of plus infinity; each group has the shape (runs,) or (runs, k)."""
    infinite = np.concatenate([np.isposinf(values).reshape(len(values), -1).any(axis=1) for values in groups])
    return int(infinite.sum()), len(infinite)


def drawn_anew(runs: int, rng: np.random.Generator) -> np.ndarray:
    """Whole runs as in a simulated rerun, by index: drawn with replacement, by weights that are drawn first.

    So no run's weight is known, as the law is not (the Bayesian bootstrap, Rubin 1981).
    """
    return rng.choice(runs, runs, p=rng.dirichlet(np.ones(runs)))


@dataclass(frozen=True)
class Point:
    """The effects at one place."""

    where: str  # the place, such as ``depth 96`` or ``loss 0.5, xavier``
    effects: tuple[Effect, ...]  # the effect at every choice, at the learning rates shown first
    # of best rates, which have no replicates: the effects in a simulated rerun, by its number
    again: Callable[[int], Sequence[Effect]] | None = None

    @property
    def shown(self) -> Effect:
        """The effect at the learning rates shown."""
        return self.effects[0]


@dataclass(frozen=True)
class Measured:
    """The effects of one check.

    Attributes:
        meaning: what the effect is, in words.
        unit: the unit of the effect.
        points: the effects at every place with enough evidence.
        excluded: places that cannot decide, with reasons, such as eigenvalues beyond double precision.
        missing: places without enough runs, with reasons. A check with one is not supported.
        logarithmic: whether effects are positive (ratios, losses); intervals and drawings then use a logarithmic scale.
        arithmetic: whether effects are of arithmetic means, whose intervals cover less than their level if runs are
            skewed. Geometric means and exponents are means of logarithms and do not.
        spread: what the ends of exact effects range over, in words.
        bounds: the least and the largest effect that can be; intervals end there.
    """

    meaning: str
    unit: str
    points: list[Point] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    logarithmic: bool = False
    arithmetic: bool = False
    spread: str = ""
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def has_enough(self, where: str, count: int, needed: int, what: str = "runs") -> bool:
        """Whether there are enough runs at a place; it is missing if not."""
        if count < needed:
            self.missing.append(f"{where}: {count} {what}, {needed} are needed")
        return count >= needed

    def add(self, where: str, effect: float, replicates: np.ndarray | None, runs: int) -> None:
        """Add a point with replicates over one group of runs, or exact; it is missing if it is not a number."""
        self.add_tied(where, [Effect(float(effect), () if replicates is None else (LeftOut(replicates, runs),), runs)])

    def add_mean(self, where: str, values: np.ndarray, least_runs: int) -> None:
        """Add the mean of the runs' values, shape (runs,), as of :func:`replicate_means`; it is missing if too few."""
        if self.has_enough(where, len(values), least_runs):
            self.add_tied(where, [effect_of(np.asarray, values)])

    def add_median(self, where: str, values: np.ndarray, least_runs: int) -> None:
        """Add the median of the runs' values, shape (runs,), none of them NaN; missing if too few to bound it."""
        if self.has_enough(where, len(values), max(least_runs, FEWEST)):
            self.add_tied(where, [median_of(values)])

    def add_share(self, where: str, *counted: Counted, diverged: Counted = (0, 0), printed: bool = False) -> None:
        """Add a share of runs, of which so many diverged, or the first share minus the second, which may be printed."""
        shares = [hits / runs for hits, runs in counted]
        effect = shares[0] - shares[1] if len(shares) > 1 else shares[0]
        runs = min(runs for _, runs in counted)
        self.add_tied(where, [Effect(effect, runs=runs, counted=counted, diverged=diverged, printed=printed)])

    def add_tied(
        self, where: str, effects: Sequence[Effect], again: Callable[[int], Sequence[Effect]] | None = None
    ) -> None:
        """Add a point with its effects at every choice of tied rates, those at the rates shown first."""
        if np.isnan(effects[0].value):
            self.missing.append(f"{where}: no finite value to compare")
        else:
            self.points.append(Point(where, tuple(effects), again))


def add_ratio(
    measured: Measured,
    where: str,
    above: "Sequence[pd.Series]",
    below: "Sequence[pd.Series]",
    least_runs: int,
    of_logarithms: bool = False,
    further: Sequence[Effect] = (),
    reaching: tuple[float, ...] = (),
    at_equal_rates: bool = False,
) -> None:
    """Add the ratio of two means over the runs of two networks or depths; it is missing if these are too few.

    Runs of other networks and depths are independent: that two have the same number means nothing.

    Args:
        measured: the measurement to add to.
        where: the place.
        above: values of the numerator by run, at the learning rate shown, then at those tied with it; a series' name is
            its rate, if there is one.
        below: values of the denominator, likewise.
        least_runs: needed at every rate.
        of_logarithms: whether values are logarithms (geometric means).
        further: effects at further choices.
        reaching: further ends of every interval.
        at_equal_rates: whether the lists are at the same rates, and only equal ones are compared.
    """

    def ratio(above: "pd.Series", below: "pd.Series") -> Effect:
        choice = choice_of_rates(above, below)
        if above.isna().any() or below.isna().any():
            return Effect(np.nan, choice=choice)  # an unknown run may be the largest
        values = above.to_numpy(float), below.to_numpy(float)
        quotient = (lambda one, other: np.exp(one - other)) if of_logarithms else np.divide
        return effect_of(quotient, *values, choice=choice)

    if measured.has_enough(where, min(len(each) for each in (*above, *below)), least_runs):
        pairs = zip(above, below, strict=True) if at_equal_rates else product(above, below)
        effects = [replace(ratio(one, other), reaching=reaching) for one, other in pairs]
        measured.add_tied(where, [*effects, *further])


def ratio_of_same_runs(above: "pd.Series", below: "pd.Series") -> Effect:
    """The ratio of two means over the same runs, which are paired: a network and depth at two learning rates."""
    import pandas as pd

    both = pd.concat([above, below], axis=1, join="inner").to_numpy(dtype=float)
    return effect_of(lambda means: means[:, 0] / means[:, 1], both, choice=choice_of_rates(above, below))


def choice_of_rates(*values: "pd.Series") -> str:
    """The learning rates that values are of, which are their names, in words; empty without."""
    return in_words(*(each.name for each in values))


def in_words(*rates: Any) -> str:
    """Learning rates in words; None: no rate.

    >>> in_words(0.1, 1.7783), in_words(1.0, None), in_words(None)
    ('rates 0.1 and 1.78', 'rate 1', '')
    """
    known = [f"{rate:.3g}" for rate in rates if rate is not None]
    return f"rate{'s' * (len(known) > 1)} {' and '.join(known)}" if known else ""
