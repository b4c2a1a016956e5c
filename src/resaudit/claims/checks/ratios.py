"""Ratios of two means, at every pair of tied learning rates."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

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
    at_equal_rates: bool = False,
) -> None:
    """Add the ratio of two means over the runs of two networks or depths; it is missing if these are too few.

    Runs of other networks and depths are independent: that two have the same number means nothing.

    Args:
        measured: the measurement to add to.
        where: the place.
        above: values of the numerator by run, at the learning rate shown, then at those tied with it.
        below: values of the denominator, likewise.
        least_runs: needed at the rates shown.
        of_logarithms: whether values are logarithms (geometric means).
        further: other possible effects.
        at_equal_rates: whether the lists are at the same rates, and only equal ones are compared.
    """

    def ratio(above: np.ndarray, below: np.ndarray) -> Effect:
        if np.isnan(above).any() or np.isnan(below).any():
            return Effect(np.nan)  # an unknown run may be the largest
        return effect_of(lambda one, other: np.exp(one - other) if of_logarithms else one / other, above, below)

    if measured.has_enough(where, min(len(above[0]), len(below[0])), least_runs):
        pairs = zip(above, below, strict=True) if at_equal_rates else product(above, below)
        effects = [ratio(one.to_numpy(float), other.to_numpy(float)) for one, other in pairs]
        measured.add_tied(where, [*effects, *further])


def ratio_of_same_runs(above: "pd.Series", below: "pd.Series") -> Effect:
    """The ratio of two means over the same runs, which are paired: a network and depth at two learning rates."""
    import pandas as pd

    both = pd.concat([above, below], axis=1, join="inner").to_numpy(dtype=float)
    return effect_of(lambda means: means[:, 0] / means[:, 1], both)
