"""One look for every figure: print sizes, told apart without colour, the same bytes on every run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

ONE_COLUMN, TWO_COLUMNS = 3.35, 6.9
"""Widths of print in inches: a figure of one panel, of several."""
SMALLEST_POINTS = 6.5


def apply_style() -> None:
    """Set matplotlib's defaults: those of ``print.mplstyle``, whatever the user's own are."""
    mpl.use("agg")
    mpl.rc_file(Path(__file__).with_name("print.mplstyle"))


def panels(layout: str = "a", height: float = 2.5, **grid: Any) -> tuple[Figure, list[Axes]]:
    """A figure of lettered panels at its width in print.

    Args:
        layout: a letter for each panel, as in matplotlib's ``subplot_mosaic``: ``ab`` is two side by side.
        height: in inches.
        grid: further arguments of ``subplot_mosaic``, as width_ratios.

    Returns:
        The figure and its panels by letter; several show their letters.
    """
    several = len(set(layout) - {";"}) > 1
    layout_engine = ConstrainedLayoutEngine(w_pad=0.05)
    figure = Figure(figsize=(TWO_COLUMNS if several else ONE_COLUMN, height), layout=layout_engine)
    mosaic = figure.subplot_mosaic(layout, **grid)
    for letter, axes in mosaic.items() if several else ():
        axes.set_title(letter, loc="left", fontweight="bold", fontsize=9)
    return figure, [mosaic[letter] for letter in sorted(mosaic)]


def annotate(axes: Axes, text: str, at: tuple[Any, Any], shift: tuple[float, float] = (0, 0), **how: Any) -> None:
    """Small text, shifted by points from a place."""
    axes.annotate(text, at, xytext=shift, textcoords="offset points", **{"fontsize": 7} | how)


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, Any]]) -> None:
    """Names at the right ends of curves, moved apart where they would overlap; after the limits are set.

    Args:
        axes: with its final y limits.
        ends: the curve's last y, its name and its colour.
    """
    to_share = axes.transData + axes.transAxes.inverted()
    heights = [float(to_share.transform((axes.get_xlim()[1], y))[1]) for y, _, _ in ends]
    place = -np.inf
    for k in np.argsort(heights):
        place = max(heights[k], place + 0.075)
        annotate(axes, ends[k][1], (1.0, place), (3, 0), xycoords="axes fraction", color=ends[k][2], va="center")


def print_rows(axes: Axes, rows: Sequence[tuple[str, ...]], places: Sequence[float]) -> None:
    """Print a table of texts, the first row a heading.

    Args:
        axes: the panel.
        rows: texts of the columns.
        places: of the columns as shares of the width: the left end of the first, the right ends of the others.
    """
    axes.set_axis_off()
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for place, row in enumerate(rows):
        for column, (x, text) in enumerate(zip(places, row, strict=True)):
            weight, align = "normal" if place else "bold", "right" if column else "left"
            printed = axes.annotate(text, (x, place), xycoords=axes.get_yaxis_transform(), ha=align, va="center")
            printed.set(fontsize=7, fontweight=weight, in_layout=False)
        axes.axhline(place + 0.5, color="0.25" if place == 0 else "0.9", linewidth=0.6)


def plot_published(axes: Axes, x: Any, y: Any, colour: Any) -> None:
    """A paper's published values, as large open marks over the measured ones."""
    axes.plot(x, y, "o", markersize=9, markerfacecolor="none", color=colour, zorder=5, label="published")


def depth_axis(axes: Axes, depths: Sequence[int]) -> None:
    """Depth on a logarithmic axis, with the depths that were run as its ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(depths), [str(d) for d in depths], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("depth")


def plain_ticks(axes: Axes, ticks: Sequence[float]) -> None:
    """Ticks as plain numbers on a logarithmic y axis of less than two decades, where they are on it."""
    low, high = axes.get_ylim()
    ticks = [tick for tick in ticks if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_yticks([], minor=True)


def colours_of(values: Sequence[int]) -> list[Any]:
    """A palette for ordered values, such as depths; the largest is darkest."""
    return [mpl.colormaps["viridis_r"](x) for x in np.linspace(0.3, 1.0, len(values))]
