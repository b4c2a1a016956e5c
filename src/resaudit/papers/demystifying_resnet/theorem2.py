"""Theorem 2: derivatives at zero against the stated values, and condition numbers at zero against depth."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.papers.demystifying_resnet.theorems import error_panel, measurements_table, two_panels, with_depth
from resaudit.papers.style import depth_axis, look
from resaudit.theory.records import Measurements

CONDITION = "condition number |l|max / |l|{} of the Hessian at zero"


def table(measured: Measurements) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.theorems.measurements_table`.

    The error of a condition number by depth is the noise floor relative to the eigenvalue in the denominator: the value
    is resolved if the error is below the tolerance.
    """
    return measurements_table(measured)


def plot(table: pd.DataFrame) -> Figure:
    """Left: the error of each statement. Right: condition numbers by depth, on all real data."""
    figure, left, right = two_panels(4.6)
    error_panel(left, table)
    real = with_depth(table[table["samples"] == table["samples"].max()])
    for n in sorted(real["shortcut_depth"].unique()):
        for least, line in (("min", ":"), ("(0.1)", "-")):
            _plot_condition(right, real[real["shortcut_depth"] == n], CONDITION.format(least), f"{n}-shortcut", line)
    depth_axis(right, sorted(real.loc[real["expected"].isna(), "depth"].unique()))
    right.set_yscale("log")
    right.set_ylabel("condition number of the Hessian at zero")
    handles = [Line2D([], [], **look(f"{n}-shortcut")) for n in sorted(real["shortcut_depth"].unique())]
    handles += [
        Line2D([], [], color="0.3", linestyle="-", label=r"$|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$"),
        Line2D([], [], color="0.3", linestyle=":", label=r"$|\lambda|_{\max}\,/\,|\lambda|_{\min}$"),
    ]
    right.legend(handles=handles, loc="upper left")
    return figure


def _plot_condition(axes: Axes, rows: pd.DataFrame, name: str, network: str, line: str) -> None:
    """A line over the depths whose value double precision resolves."""
    known = rows[(rows["property"] == name) & (rows["error"] < rows["tolerance"])].sort_values("depth")
    style = look(network)
    axes.plot(known["depth"], known["value"], line, color=style["color"], marker=style["marker"])
