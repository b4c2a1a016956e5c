"""Which unknown settings give the printed success rates: rates over planes of what the text lost."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.papers.style import annotate, panels

LABELS = {
    "squared_norm": r"$\|a^*\|^2/k$",
    "alignment": r"$1\cdot a^*/\|a^*\|$",
    "stage_one": r"length of stage I (steps $\times\,\eta_a$)",
}
TITLES = {"squared_norm": "no warm-up", "alignment": "no warm-up", "stage_one": "warm-up"}
COMPATIBLE = 0.02
"""Mean distance to the printed rates within which a world is shaded, in rates; two standard errors of 500 runs."""


def table(counts: pd.DataFrame) -> pd.DataFrame:
    """Columns: plane, network, patches, angle, value, runs, successes, trapped, undecided, published, rate."""
    return counts.assign(rate=counts["successes"] / counts["runs"])


def plot(table: pd.DataFrame) -> Figure:
    """One panel a plane: the mean rate over k in contours; where the rates without warm-up are the paper's, shaded."""
    planes = [plane for plane in LABELS if plane in set(table["plane"])]
    figure, every_axes = panels("abc"[: len(planes)], 2.6)
    for axes, plane in zip(every_axes, planes, strict=True):
        _plot_plane(axes, table[table["plane"] == plane], plane)
    every_axes[0].set_ylabel("angle of $v^*$ to the shortcut (degrees)")
    return figure


def _plot_plane(axes: Axes, rows: pd.DataFrame, plane: str) -> None:
    rates = rows.groupby(["angle", "value"])["rate"].mean().unstack()
    far = (rows["rate"] - rows["published"]).abs().groupby([rows["angle"], rows["value"]]).mean().unstack()
    lines = axes.contour(rates.columns, rates.index, rates, [0.55, 0.7, 0.85, 0.999], colors="0.35", linewidths=0.8)
    axes.clabel(lines, fontsize=6.5, fmt="%g")
    if (far <= COMPATIBLE).to_numpy().any():
        axes.contourf(rates.columns, rates.index, far, [0, COMPATIBLE], colors=["#F0E442"], alpha=0.8)
    axes.set_xscale("log")
    axes.set_xlabel(LABELS[plane])
    axes.axhline(60, color="0.5", linewidth=0.8, linestyle=":")
    annotate(axes, "Assumption 1", (1, 60), (-2, 2), xycoords=("axes fraction", "data"), ha="right")
    axes.set_title(TITLES[plane])
