"""Ratios of two means, each pair at every choice of the learning rates that are tied for the best."""

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
    """Add the ratio of two means over the runs that both have, or leave it out where these are too few.

    Args:
        measured: to add to.
        where: the place.
        above: of the numerator, values by run, at the learning rate shown first, then at those tied with it.
        below: of the denominator, likewise.
        least_runs: at the rates shown; at others whatever has not diverged counts.
        of_logarithms: whether values are logarithms, and means geometric.
        further: effects that may be as well.
    """
    effects: list[Effect] = []
    for pair in product(above, below):
        both = pd.concat(pair, axis=1, join="inner").to_numpy(dtype=float)
        if not effects and len(both) < least_runs:
            measured.left_out.append(f"{where}: {len(both)} runs that both have, {least_runs} are needed")
            return
        # A run that is not known at a tied rate leaves that ratio open: those known may be the smaller ones.
        both = both[:0] if np.isnan(both).any() else both
        one, other = replicate_means(both).T
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            effects.append((np.exp(one - other) if of_logarithms else one / other, len(both)))
    measured.add_tied(where, [*effects, *further])
