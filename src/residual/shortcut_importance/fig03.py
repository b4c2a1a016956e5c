"""Figure 3: where runs start and where they go, in the plane of the angle and of a's projection on a*."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from resaudit.paper import Coordinates, panels
from residual.shortcut_importance.figures import LOOKS, trajectories
from residual.shortcut_importance.jobs import Simulate, Simulated
from residual.shortcut_importance.simulation import projection, starts

BASIN, RUN = "basin", "run"
BASINS = ListedColormap(["#eeeeee", "#dcebf5", "#f9dfcc"])
"""Undecided, global, spurious: the codes of outcomes."""


def table(results: Mapping[Coordinates, tuple[Simulate, Simulated]]) -> pd.DataFrame:
    """Rows of kind ``run``, then of kind ``basin``: one of each point of the grid, with its ``outcome``.

    Columns: kind, those of :func:`~residual.shortcut_importance.figures.trajectories`, and
    outcome (0: undecided, 1: global, 2: spurious optimum).
    """
    followed = {place: (job, simulated) for place, (job, simulated) in results.items() if job.steps}
    ((job, simulated),) = (pair for pair in results.values() if not pair[0].steps)
    (setting,) = job.settings_of_runs
    start = starts(job.network, job.start, setting, job.seed, job.runs)
    grid = pd.DataFrame({"kind": BASIN, "network": job.network, "patches": setting.patches, "run": range(job.runs),
                         "step": 0,
                         "angle": start[0], "projection": projection(start, setting) / setting.squared_norm,
                         "outcome": simulated.outcomes[0]})  # fmt: skip
    return pd.concat([trajectories(followed).assign(kind=RUN), grid], ignore_index=True)


def plot(table: pd.DataFrame) -> Figure:
    """One panel a network: basins as background, the start of each run as a dot, its way as a line."""
    networks = table["network"].unique()
    runs = table[table["kind"] == RUN]
    grid = table[table["kind"] == BASIN].pivot_table("outcome", "projection", "angle")
    figure, every_axes = panels(len(networks), 2.7, sharey=True)
    for axes, network in zip(every_axes, networks, strict=True):
        axes.pcolormesh(grid.columns, grid.index, grid, cmap=BASINS, vmin=0, vmax=2, rasterized=True)
        axes.contour(grid.columns, grid.index, grid, [1.5], colors="0.4", linewidths=0.7)
        rows, colour = runs[runs["network"] == network], LOOKS[str(network)]["color"]
        for _, run in rows.groupby("run"):
            axes.plot(run["angle"], run["projection"], color=colour, linewidth=0.5, alpha=0.7)
        first, last = (rows[rows["step"] == step] for step in (0, rows["step"].max()))
        axes.plot(first["angle"], first["projection"], ".", color="black", markersize=2.5)
        axes.plot(last["angle"], last["projection"], "*", color=colour, markersize=7, markeredgecolor="black",
                  markeredgewidth=0.4, clip_on=False)  # fmt: skip
        axes.set(title=LOOKS[str(network)]["label"], xlabel="angle of $v$ to $v^*$", ylim=(-0.6, 1.0))
        axes.set_xticks([0, np.pi / 2, np.pi], ["0", r"$\pi/2$", r"$\pi$"])
        axes.grid(False)
    every_axes[0].set_ylabel(r"$a\cdot a^*\,/\,\|a^*\|^2$")
    return figure
