"""Shared by the figures of the theorems: a tidy table of measurements, and a panel of their errors."""

import dataclasses
import re

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.theory.records import Measurements

LEAST_DRAWN = 1e-6
"""Errors below this share of the tolerance, including exact zeros, are drawn at it."""


def measurements_table(measured: Measurements) -> pd.DataFrame:
    """One row per property, case and draw.

    Columns: property, shortcut_depth, activations (pre/mid/post), width, units, samples, data, draw, value (measured),
    expected (by the paper's equation; NaN without one), error (the largest discrepancy, at least 0; the measuring
    function in :mod:`resaudit.theory` documents its scale), tolerance (of double precision, derived there). Without an
    expected value, the error is the value's own uncertainty.
    """
    return pd.DataFrame(dataclasses.asdict(measured))


def with_depth(table: pd.DataFrame) -> pd.DataFrame:
    """The table with the networks' depth, in weight matrices."""
    return table.assign(depth=table["units"] * table["shortcut_depth"])


def two_panels(height: float) -> tuple[Figure, Axes, Axes]:
    """A wide panel whose rows have long names, and a panel of the usual size beside it."""
    figure = Figure(figsize=(9.6, height), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
    return figure, left, right


def error_panel(axes: Axes, table: pd.DataFrame) -> None:
    """Plot the range of each property's errors over all cases, relative to the tolerance."""
    stated = table[table["expected"].notna()]
    names = stated["property"].map(lambda name: re.sub(r"order \d", "order k", name))
    shares = (stated["error"] / stated["tolerance"]).clip(lower=LEAST_DRAWN).groupby(names, sort=False)
    rows = pd.DataFrame({"least": shares.min(), "largest": shares.max(), "count": shares.count()}).iloc[::-1]
    places = np.arange(len(rows))
    inside = rows["largest"] <= 1
    axes.hlines(places, rows["least"], rows["largest"], color="#0072B2", alpha=0.5, linewidth=2.2)
    axes.plot(rows["largest"][inside], places[inside], "o", color="#0072B2", linestyle="none")
    axes.plot(rows["largest"][~inside], places[~inside], "X", color="#D55E00", linestyle="none")
    axes.axvline(1.0, color="0.25", linewidth=1.0)
    axes.set_xscale("log")
    axes.set_xlim(LEAST_DRAWN / 2, max(10.0, 3 * float(rows["largest"].max())))
    ticks = [LEAST_DRAWN, 1e-4, 1e-2, 1.0]
    axes.set_xticks(ticks, ["0", "$10^{-4}$", "$10^{-2}$", "1"])
    axes.set_xticks([], minor=True)
    axes.set_yticks(places, [f"{name}  ({count})" for name, count in zip(rows.index, rows["count"], strict=True)])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("discrepancy ÷ what rounding allows")
