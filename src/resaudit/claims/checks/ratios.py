"""Ratios of two means, at every pair of tied learning rates."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Effect, Measured
from resaudit.claims.intervals import replicate_means


def add_ratio(
    measured: Measured,
    where: str,
    above: Sequence[pd.Series],
    below: Sequence[pd.Series],
    least_runs: int,
    of_logarithms: bool = False,
    further: Sequence[Effect] = (),
) -> None:
    """Add the ratio of two means over the common runs; leave it out if these are too few.

    Args:
        measured: to add to.
        where: the place.
        above: values of the numerator by run, at the learning rate shown, then at those tied with it.
        below: values of the denominator, likewise.
        least_runs: needed at the rates shown; at tied rates, all runs that did not diverge count.
        of_logarithms: whether values are logarithms (geometric means).
        further: other possible effects.
    """
    effects: list[Effect] = []
    for pair in product(above, below):
        both = pd.concat(pair, axis=1, join="inner").to_numpy(dtype=float)
        if not effects and len(both) < least_runs:
            measured.left_out.append(f"{where}: {len(both)} runs that both have, {least_runs} are needed")
            return
        # An unknown run at a tied rate leaves that ratio open: the known runs may be the smaller ones.
        both = both[:0] if np.isnan(both).any() else both
        one, other = replicate_means(both).T
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            effects.append((np.exp(one - other) if of_logarithms else one / other, len(both)))
    measured.add_tied(where, [*effects, *further])
