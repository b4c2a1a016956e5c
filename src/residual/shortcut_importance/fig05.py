"""Figure 5: two trajectories from one start, with and without warm-up."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import legend_above, panels
from residual.shortcut_importance.figures import LOOKS
from residual.shortcut_importance.figures import trajectories as table

__all__ = ["plot", "table"]

QUANTITIES = {
    "angle": "angle of $v$ to $v^*$",
    "distance": r"$\|a-a^*\|\,/\,\|a^*\|$",
    "loss": r"loss $/\,\|a^*\|^2$",
}


def plot(table: pd.DataFrame) -> Figure:
    """a: the angle; b: the distance of a; c: the loss; against the step."""
    figure, every_axes = panels("abc", 2.4)
    looks = {network: LOOKS[str(network)] | {"marker": ""} for network in table["network"].unique()}
    # Stage II begins where the runs with a stage I leave it.
    staged = table[table["network"].isin(table.loc[table["stage"] == 1, "network"])]
    second = staged.loc[staged["stage"] == 2, "step"]
    for axes, (column, label) in zip(every_axes, QUANTITIES.items(), strict=True):
        for (network, _), rows in table.groupby(["network", "run"], sort=False):
            axes.plot(rows["step"], rows[column], **looks[network])
        axes.set(xlabel="step", ylabel=label, yscale="linear" if column == "angle" else "log")
        axes.set_xlim(0, table["step"].max())
        if len(second):
            axes.mark(x=second.min())
    every_axes[0].set_yticks([0, np.pi / 2, np.pi], ["0", r"$\pi/2$", r"$\pi$"])
    last_of_one = table.loc[table["stage"] == 1, "step"].max()
    if np.isfinite(last_of_one):
        every_axes[0].note("stage II", (last_of_one, 0.9), (3, 0), xycoords=("data", "axes fraction"))
    legend_above(figure, list(looks.values()))
    return figure
