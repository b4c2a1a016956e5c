"""Ratios of two means, at every pair of tied learning rates."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from resaudit.claims.checks.measured import Effect, Measured, effect_of

if TYPE_CHECKING:
    import pandas as pd


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
