"""Theorem 1: the construction of its proof, built and measured; and what the figures of both theorems share."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, Panel, panels
from residual.demystifying_resnet.theory.construction import (
    AT_MOST_TOLERANCE,
    EPS,
    distance_tolerance,
    moved_tolerance,
    norm_tolerance,
)
from residual.demystifying_resnet.theory.records import Measurements

CASE = ("shortcut_depth", "activations", "width", "units", "samples", "data", "draw")
"""What identifies a network and its samples."""
NORMS = "theorem 1, eq. 7: largest Frobenius norm by units"
BOUND = "theorem 1, eq. 6: every norm is below the bound"
STEP, LONGEST = "lemma 2, eq. 19: every step is shorter than d", "lemma 2: the longest path is below its bound"
DISTANCE = "lemma 2: every step keeps a distance of rho/2"
GROWTH = "largest growth of an input's rounding error through the network"


def tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """What rounding allows, from the sizes and what was measured of the same network.

    Of the whole network the most it can be, as if every step's error grew as the largest does, and every way went
    beside an obstacle.
    """
    width, rho, step = table["width"], 2 * of_case(table, DISTANCE, "expected"), of_case(table, STEP, "value")
    moved, steps = moved_tolerance(width, rho, step), table["units"] / table["samples"]
    growth, longest = (of_case(table, name, "value") for name in (GROWTH, LONGEST))
    whole = growth * (steps * moved + table["samples"] * moved_tolerance(width, rho, longest))
    return by_property(
        table,
        {
            "lemma 1, eq. 13": moved,
            "lemma 1, eq. 14": norm_tolerance(width),
            "lemma 2: every": distance_tolerance(width, rho),
            "lemma 2": AT_MOST_TOLERANCE,
            "theorem 1: the whole": table["tolerance"].clip(upper=whole),
            "theorem 1, eq. 6": AT_MOST_TOLERANCE,
            "theorem 1, eq. 7": norm_tolerance(width),
            "largest": EPS,
        },
    )


DERIVED = {"tolerance": tolerances}


def table(measured: Measurements) -> pd.DataFrame:
    """One row per property, case and draw.

    Columns: property, shortcut_depth, activations (pre/mid/post), width, units, samples, data, draw, value (measured),
    expected (by the paper's equation; NaN without one), error (the largest discrepancy, at least 0; the measuring
    function in :mod:`residual.demystifying_resnet.theory` documents its scale), tolerance (of double precision, derived
    there). Without an expected value, the error is the value's own uncertainty.
    """
    return pd.DataFrame(dataclasses.asdict(measured))


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
            colour, low, high = Look.BLUE if marker == "o" else Look.RED, by_units.min(), by_units.max()
            axes.plot_band(by_units.mean(), low, high, 0.25, color=colour, marker=marker, label=f"{samples} samples")
            axes.plot(bounds.groupby("units")["expected"].mean(), f"{marker}:", color=colour, markersize=2,
                      linewidth=0.9)  # fmt: skip
        # A line of slope -1/2 below all norms.
        lowest = 0.75 * float((norms["value"] * np.sqrt(norms["units"])).min())
        units = np.array([norms["units"].min(), norms["units"].max()])
        axes.plot(units, lowest / np.sqrt(units), "--", color="0.4", linewidth=0.9)
        axes.note(r"$\propto R^{-1/2}$", (units[1], lowest / np.sqrt(units[1])), (-16, -2), ha="right")
        axes.set(xscale="log", yscale="log", xlabel="residual units R", title=f"d = {width}")
        axes.legend(loc="upper right")
    facets[0].set_ylabel(r"largest $\Vert W^{r,l}\Vert_F$")
    return figure


def of_case(table: pd.DataFrame, name: str, column: str) -> "pd.Series[float]":
    """A column of a property's row of the same case, for every row; NaN where there is none."""
    keys = list(CASE)
    found = table.loc[table["property"] == name, [*keys, column]].drop_duplicates(keys)
    return table[keys].merge(found, on=keys, how="left")[column].set_axis(table.index)


def by_property(table: pd.DataFrame, values: Mapping[str, "pd.Series[float] | float"]) -> "pd.Series[float]":
    """For every row the value of the first property whose name begins with a key; NaN without one."""
    made = pd.Series(np.nan, table.index)
    for beginning, value in reversed(list(values.items())):
        made = made.mask(table["property"].str.startswith(beginning), value)
    return made


def statements_panel(axes: Panel, table: pd.DataFrame) -> None:
    """Print each statement, its number of cases, and its largest error relative to the bound on its round-off."""
    stated = table[table["expected"].notna()]
    names = stated["property"].str.replace(r"order \d", "order k", regex=True)
    for written, printed in (("sqrt(8d)/rho", "√(8d)/ρ"), ("rho", "ρ"), (">=", "≥")):
        names = names.str.replace(written, printed)
    axes.print_errors(names, stated["error"] / stated["tolerance"], (0.0, 0.82, 1.0))
