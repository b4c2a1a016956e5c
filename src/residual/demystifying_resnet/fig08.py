"""Figure 8: final loss at the best learning rate, and that rate, against depth; networks with ReLUs at mid."""

import pandas as pd
from matplotlib.figure import Figure

from residual.demystifying_resnet.fig07 import plot_by_depth, table

__all__ = ["plot", "table"]

ZERO_OUTPUT = 0.5
"""The loss |y - 0|^2 / 2 for one-hot labels y."""


def plot(table: pd.DataFrame) -> Figure:
    """a: mean final loss, with the runs, and the loss of a network whose output is zero. b: the best rates."""
    figure, axes = plot_by_depth(table, "final_loss", "final loss")
    axes.mark(y=ZERO_OUTPUT, zorder=0)
    axes.note("output zero", (0, ZERO_OUTPUT), (3, -3), xycoords=axes.get_yaxis_transform(), va="top")
    axes.plain_ticks("y", (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5))
    return figure
