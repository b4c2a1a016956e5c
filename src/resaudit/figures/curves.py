"""Quantities along a training: the epochs that have snapshots, interpolation by the loss, steps to a loss, slopes."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd

EPOCHS_IN_LARGE_REFERENCE = 60
NO_EPOCH = -1
"""Of rows that are of no epoch."""


def snapshot_epochs(epochs: int, count: int | None) -> tuple[int, ...]:
    """``count`` of the epochs 0 … ``epochs``, with both ends, as evenly as possible on a logarithmic scale.

    >>> snapshot_epochs(1000, 8)
    (0, 1, 3, 10, 32, 101, 318, 1000)
    >>> snapshot_epochs(3, None)
    (0, 1, 2, 3)
    """
    if count is None or count > epochs:
        return tuple(range(epochs + 1))
    chosen = [0]
    for left in range(count - 1, 1, -1):
        last = chosen[-1]
        # While even steps are shorter than one epoch, take every epoch and spread the rest again.
        chosen.append(max(last + 1, round(last * (epochs / last) ** (1 / left)) if last else 1))
    return (*chosen, epochs)


def recorded_epochs(planned: Sequence[int], present: Collection[int]) -> Sequence[int]:
    """Those of the planned epochs that a table must have, by the epochs that it has.

    A table that has no others than a large reference keeps, ``snapshot_epochs(last, 60)``, is taken for one.

    >>> recorded_epochs(range(1001), range(1001)) == range(1001)
    True
    >>> recorded_epochs(range(1001), snapshot_epochs(1000, 60)) == list(snapshot_epochs(1000, 60))
    True
    """
    kept = {NO_EPOCH, *snapshot_epochs(int(max(present, default=0)), EPOCHS_IN_LARGE_REFERENCE)}
    return [epoch for epoch in planned if epoch in kept] if kept.issuperset(present) else planned


def whole_runs(table: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the runs that the table follows from its first epoch on; the others have only the last one."""
    runs = table.set_index(["network", "run"]).index
    return table[runs.isin(runs[table["epoch"] == table["epoch"].min()])]


def descending(run: "pd.DataFrame", column: str) -> tuple[np.ndarray, np.ndarray]:
    """One run's losses at epochs with a new least loss, and the column there; each of shape (such epochs,)."""
    run = run[np.isfinite(run["loss"])].sort_values("epoch")
    losses = run["loss"].to_numpy()
    is_new_least = losses < np.minimum.accumulate(np.concatenate([[np.inf], losses[:-1]]))
    return losses[is_new_least], run[column].to_numpy()[is_new_least]


def interpolate(grid: np.ndarray, losses: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at the losses of a grid; NaN outside the run's range and next to a NaN value."""
    if not len(losses):
        return np.full(len(grid), np.nan)
    return np.asarray(np.interp(grid, losses[::-1], values[::-1], left=np.nan, right=np.nan))


def steps_to_target(rows: "pd.DataFrame") -> "pd.Series":
    """Steps of one network, depth and learning rate until the loss first is the target, by run; infinite if never.

    A window's loss counts at its middle; between two middles it is interpolated linearly.
    """
    import pandas as pd

    steps = {}
    for number, run in rows.groupby("run"):
        run = run.sort_values("step")
        target, losses = float(run["target_loss"].iloc[0]), run["loss"].to_numpy()
        middles = run["step"].to_numpy() - run["step"].iloc[0] / 2
        reached = np.flatnonzero(losses <= target)
        if not len(reached):
            steps[number] = np.inf
        elif (k := int(reached[0])) == 0:
            steps[number] = float(middles[0])
        else:
            share = (losses[k - 1] - target) / (losses[k - 1] - losses[k])
            steps[number] = float(middles[k - 1] + share * (middles[k] - middles[k - 1]))
    return pd.Series(steps, dtype=float)


def slope(places: ArrayLike, values: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of values (..., k) at places (k,), shape (...); NaN where a value is.

    >>> float(slope([1.0, 2.0, 6.0], np.array([3.0, 5.0, 13.0])))
    2.0
    """
    at = np.asarray(places, dtype=float)
    centred = at - at.mean()
    with np.errstate(invalid="ignore"):
        return np.asarray(values @ centred / np.sum(centred**2))
