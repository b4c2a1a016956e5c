"""Quantities as functions of the loss, run by run, interpolated linearly."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:  # checks import this module and need no plots
    from matplotlib.axes import Axes

POINTS = 200


def interpolate_by_loss(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate a column linearly in the loss, run by run, at losses that at least half of the runs passed.

    Only epochs with a new least loss are used, since the loss can rise at high learning rates.

    Args:
        rows: one network's rows, with run, epoch, loss and the column.
        column: what to interpolate.

    Returns:
        Losses, descending, shape (points,), and values, shape (runs, points), NaN where a run did not pass; possibly
        no points.
    """
    known = rows[np.isfinite(rows[column])]
    curves = [descending(known[known["run"] == run], column) for run in rows["run"].unique()]
    passed = [losses for losses, _ in curves if len(losses)]
    if not passed:
        return np.empty(0), np.empty((len(curves), 0))
    ends = np.geomspace(max(losses[0] for losses in passed), min(losses[-1] for losses in passed), POINTS)
    # Rounding could move the grid's ends outside the runs' ranges, so their own ends are added.
    grid = np.unique(np.concatenate([ends, *(losses[[0, -1]] for losses in passed)]))[::-1]
    values = np.array([interpolate(grid, *curve) for curve in curves])
    enough = np.isfinite(values).sum(axis=0) >= len(curves) / 2
    return grid[enough], values[:, enough]


def descending(run: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
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


def loss_axis(axes: "Axes") -> None:
    """Loss on a logarithmic axis, with ticks where curves are; training goes from right to left."""
    axes.set_xscale("log")
    lowest, highest = axes.get_xlim()
    ticks = [tick for tick in (0.2, 0.35, 0.5, 1, 2, 5, 10, 20, 50, 100) if lowest <= tick <= highest]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("loss")
