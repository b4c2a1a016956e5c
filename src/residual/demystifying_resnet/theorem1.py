"""Theorem 1: the construction of its proof, built and measured."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.figures.style import BLUE, RED, annotate, panels, plot_band
from residual.demystifying_resnet.theorems import measurements_table, statements_panel
from residual.demystifying_resnet.theory.records import Measurements

NORMS = "theorem 1, eq. 7: largest Frobenius norm by units"
BOUND = "theorem 1, eq. 6: every norm is below the bound"


def table(measured: Measurements) -> pd.DataFrame:
    """The columns of :func:`~residual.demystifying_resnet.theorems.measurements_table`."""
    return measurements_table(measured)


def plot(table: pd.DataFrame) -> Figure:
    """a: the error of each statement. Then, for each width d, the largest norm by the number of units, on real data."""
    real = table[table["data"] != "random"]
    widths = sorted(real["width"].unique())
    letters = "bcdefgh"[: len(widths)]
    figure, (statements, *facets) = panels(f"{'a' * len(letters)};{letters}", 4.3, height_ratios=[1, 1.3])
    statements_panel(statements, table)
    for width, axes in zip(widths, facets, strict=True):
        rows = real[real["width"] == width]
        axes.sharey(facets[0])
        norms = rows[rows["property"] == NORMS]
        for samples, marker in zip(sorted(rows["samples"].unique()), "os^Dv", strict=False):
            by_units = norms[norms["samples"] == samples].groupby("units")["value"]
            bounds = rows[(rows["property"] == BOUND) & (rows["samples"] == samples)]
            colour, low, high = BLUE if marker == "o" else RED, by_units.min(), by_units.max()
            plot_band(axes, by_units.mean(), low, high, 0.25, color=colour, marker=marker, label=f"{samples} samples")
            axes.plot(bounds.groupby("units")["expected"].mean(), f"{marker}:", color=colour, markersize=2,
                      linewidth=0.9)  # fmt: skip
        # A line of slope -1/2 below all norms.
        lowest = 0.75 * float((norms["value"] * np.sqrt(norms["units"])).min())
        units = np.array([norms["units"].min(), norms["units"].max()])
        axes.plot(units, lowest / np.sqrt(units), "--", color="0.4", linewidth=0.9)
        annotate(axes, r"$\propto R^{-1/2}$", (units[1], lowest / np.sqrt(units[1])), (-16, -2), ha="right")
        axes.set(xscale="log", yscale="log", xlabel="residual units R", title=f"d = {width}")
        axes.legend(loc="upper right")
    facets[0].set_ylabel(r"largest $\Vert W^{r,l}\Vert_F$")
    return figure
