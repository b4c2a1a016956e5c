"""Figure 5: two trajectories from one start, with and without warm-up."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.figures.style import annotate, panels
from resaudit.plan.experiment import Coordinates
from residual.shortcut_importance.jobs.simulate import Simulate, Simulated
from residual.shortcut_importance.rates import LOOKS
from residual.shortcut_importance.trajectories import trajectories

QUANTITIES = {
    "angle": "angle of $v$ to $v^*$",
    "distance": r"$\|a-a^*\|\,/\,\|a^*\|$",
    "loss": r"loss $/\,\|a^*\|^2$",
}


def table(found: Mapping[Coordinates, tuple[Simulate, Simulated]]) -> pd.DataFrame:
    """The columns of :func:`~residual.shortcut_importance.trajectories.trajectories`."""
    return trajectories(found)


def plot(table: pd.DataFrame) -> Figure:
    """a: the angle; b: the distance of a; c: the loss; against the step."""
    figure, every_axes = panels("abc", 2.4)
    for axes, (column, label) in zip(every_axes, QUANTITIES.items(), strict=True):
        for (network, _), rows in table.groupby(["network", "run"], sort=False):
            axes.plot(rows["step"], rows[column], **LOOKS[str(network)] | {"marker": ""})
        axes.set_xlabel("step")
        axes.set_ylabel(label)
        if column != "angle":
            axes.set_yscale("log")
        axes.set_xlim(0, table["step"].max())
        _mark_switch(axes, table)
    every_axes[0].set_yticks([0, np.pi / 2, np.pi], ["0", r"$\pi/2$", r"$\pi$"])
    last_of_one = table.loc[table["stage"] == 1, "step"].max()
    if np.isfinite(last_of_one):
        annotate(every_axes[0], "stage II", (last_of_one, 0.9), (3, 0), xycoords=("data", "axes fraction"))
    handles = [Line2D([], [], **LOOKS[str(name)] | {"marker": ""}) for name in table["network"].unique()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def _mark_switch(axes: Axes, table: pd.DataFrame) -> None:
    """The first step of stage II of the runs with a stage I."""
    staged = table[table["network"].isin(table.loc[table["stage"] == 1, "network"])]
    second = staged.loc[staged["stage"] == 2, "step"]
    if len(second):
        axes.axvline(second.min(), color="0.4", linewidth=0.8, linestyle=":")
