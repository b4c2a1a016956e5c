"""Quantities along a training: the epochs that have snapshots, interpolation by the loss, slopes."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:  # checks and experiments import this module and need no plots
    import pandas as pd
    from matplotlib.axes import Axes

EPOCHS_IN_LARGE_REFERENCE = 60
NO_EPOCH = -1
"""Of rows that are of no epoch."""
POINTS = 200
LEAST_EXCESS = 1e-8
"""Distances to the optimum that the axis begins at; few runs come nearer."""


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


def interpolate_by_loss(rows: "pd.DataFrame", column: str) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate a column linearly in the loss, run by run, at losses that at least half of the runs passed.

    Only epochs with a new least loss are used, since the loss can rise at high learning rates.

    Args:
        rows: one network's rows, with run, epoch, loss and the column.
        column: the column to interpolate.

    Returns:
        Losses, descending, shape (points,), and values, shape (runs, points), NaN where a run did not pass; possibly
        no points.
    """
    finite = rows[np.isfinite(rows[column])]
    curves = [descending(finite[finite["run"] == run], column) for run in rows["run"].unique()]
    passed = [losses for losses, _ in curves if len(losses)]
    if not passed:
        return np.empty(0), np.empty((len(curves), 0))
    ends = np.geomspace(max(losses[0] for losses in passed), min(losses[-1] for losses in passed), POINTS)
    # Rounding could move the grid's ends outside the runs' ranges, so their own ends are added.
    grid = np.unique(np.concatenate([ends, *(losses[[0, -1]] for losses in passed)]))[::-1]
    values = np.array([interpolate(grid, *curve) for curve in curves])
    enough = np.isfinite(values).sum(axis=0) >= len(curves) / 2
    return grid[enough], values[:, enough]


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


def above_optimum(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Rows whose loss is the distance to the optimal loss, without those too near it to be drawn.

    Interpolation is linear in the loss, so it is the same in this distance.
    """
    return rows.assign(loss=rows["excess_loss"])[rows["excess_loss"] > LEAST_EXCESS]


def plot_against_loss(axes: "Axes", rows: "pd.DataFrame", column: str, style: Mapping[str, Any], logs: bool) -> None:
    """Plot mean and standard deviation over runs, of the logarithm if ``logs``, against the distance to the optimum.

    Only until the first run ends: there the mean would jump although no run does.
    """
    import pandas as pd

    from resaudit.figures.style import plot_band

    losses, values = interpolate_by_loss(above_optimum(rows), column)
    runs = np.isfinite(values).sum(axis=0)
    before = np.cumsum(np.diff(runs, prepend=runs[:1]) < 0) == 0
    values = np.log(values[:, before]) if logs else values[:, before]
    centre, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    low, middle, high = (np.exp(v) if logs else v for v in (centre - spread, centre, centre + spread))
    plot_band(axes, pd.Series(middle, losses[before]), low, high, **style)


def loss_axis(axes: "Axes") -> None:
    """Distance to the optimal loss on a logarithmic axis; training goes from right to left."""
    axes.set_xscale("log")
    axes.tick_params(axis="x", which="minor", labelbottom=False)
    axes.set_xlabel(r"$\leftarrow$ training      loss $-$ optimal loss")


def slope(places: ArrayLike, values: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of values (..., k) at places (k,), shape (...); NaN where a value is.

    >>> float(slope([1.0, 2.0, 6.0], np.array([3.0, 5.0, 13.0])))
    2.0
    """
    at = np.asarray(places, dtype=float)
    centred = at - at.mean()
    with np.errstate(invalid="ignore"):
        return np.asarray(values @ centred / np.sum(centred**2))
