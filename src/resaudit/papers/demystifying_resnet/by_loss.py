"""Quantities as functions of the loss (Figures 5 and 6): "for each run ... linear interpolation"."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

POINTS = 200


def interpolate_by_loss(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate a column linearly in the loss, run by run, on losses that every run passed through.

    Gradient descent at a high rate does not descend at every step; of each run only the epochs with a new least
    loss are used, so that the column is a function of the loss.

    Args:
        rows: one network's rows, with run, epoch, loss and the column.
        column: what to interpolate.

    Returns:
        Losses, descending, shape (points,), and values, shape (runs, points); both empty if the runs have no
        loss in common.
    """
    curves = [_descending(run, column) for _, run in rows.groupby("run")]
    curves = [curve for curve in curves if len(curve[0])]
    if not curves:
        return np.empty(0), np.empty((0, 0))
    highest, lowest = min(losses[0] for losses, _ in curves), max(losses[-1] for losses, _ in curves)
    if lowest > highest:
        return np.empty(0), np.empty((0, 0))
    grid = np.geomspace(highest, lowest, POINTS)
    grid[0], grid[-1] = highest, lowest
    return grid, np.array([np.interp(grid, losses[::-1], values[::-1]) for losses, values in curves])


def _descending(run: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    run = run[np.isfinite(run["loss"]) & np.isfinite(run[column])].sort_values("epoch")
    losses = run["loss"].to_numpy()
    is_new_least = losses < np.minimum.accumulate(np.concatenate([[np.inf], losses[:-1]]))
    return losses[is_new_least], run[column].to_numpy()[is_new_least]


def loss_axis(axes: Axes, table: pd.DataFrame) -> None:
    """Loss on a logarithmic axis; training goes from right to left."""
    losses = table["loss"][np.isfinite(table["loss"])]
    axes.set_xscale("log")
    ticks = [t for t in (0.2, 0.35, 0.5, 1, 2, 5, 10, 20) if losses.min() * 0.9 <= t <= losses.max() * 1.1]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("loss")
