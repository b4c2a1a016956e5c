"""Theorem 1: the construction of its proof, built and measured."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.papers.demystifying_resnet.theorems import error_panel, measurements_table, two_panels
from resaudit.papers.style import colours_of
from resaudit.theory.records import Measurements

NORMS = "theorem 1, eq. 7: largest Frobenius norm by units"
BOUND = "theorem 1, eq. 6: every norm is below the bound"


def table(measured: Measurements) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.theorems.measurements_table`."""
    return measurements_table(measured)


def plot(table: pd.DataFrame) -> Figure:
    """Left: the error of each statement. Right: the largest norm by the number of units, on real data."""
    figure, left, right = two_panels(3.4)
    error_panel(left, table)
    real = table[table["data"] != "random"]
    sizes = sorted({(int(w), int(m)) for w, m in zip(real["width"], real["samples"], strict=True)})
    for size, colour in zip(sizes, colours_of(range(len(sizes))), strict=True):
        rows = real[(real["width"] == size[0]) & (real["samples"] == size[1])]
        _plot_norms(right, rows, colour, f"{size[0]}, {size[1]}")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel("residual units R")
    right.set_ylabel(r"largest $\Vert W^{r,l}\Vert_F$")
    _guide(right, real[real["property"] == NORMS])
    right.legend(title="width, samples", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _plot_norms(axes: Axes, rows: pd.DataFrame, colour: str, name: str) -> None:
    by_units = rows[rows["property"] == NORMS].groupby("units")["value"]
    bound = rows[rows["property"] == BOUND].groupby("units")["expected"].mean()
    axes.plot(by_units.mean().index, by_units.mean(), "o-", color=colour, label=name)
    axes.fill_between(by_units.min().index, by_units.min(), by_units.max(), color=colour, alpha=0.25, linewidth=0)
    axes.plot(bound.index, bound, ":", color=colour, linewidth=1.0)


def _guide(axes: Axes, rows: pd.DataFrame) -> None:
    """A line of slope -1/2 below all norms."""
    lowest = 0.75 * float((rows["value"] * np.sqrt(rows["units"])).min())
    units = np.array([rows["units"].min(), rows["units"].max()])
    axes.plot(units, lowest / np.sqrt(units), "--", color="0.4", linewidth=1.0, label=r"$\propto R^{-1/2}$")
