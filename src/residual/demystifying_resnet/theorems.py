"""Shared by the figures of the theorems: a tidy table of measurements, and a panel that prints their errors."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from resaudit.paper import print_errors
from residual.demystifying_resnet.theory.records import Measurements


def measurements_table(measured: Measurements) -> pd.DataFrame:
    """One row per property, case and draw.

    Columns: property, shortcut_depth, activations (pre/mid/post), width, units, samples, data, draw, value (measured),
    expected (by the paper's equation; NaN without one), error (the largest discrepancy, at least 0; the measuring
    function in :mod:`residual.demystifying_resnet.theory` documents its scale), tolerance (of double precision, derived
    there). Without an expected value, the error is the value's own uncertainty.
    """
    return pd.DataFrame(dataclasses.asdict(measured))


CASE = ("shortcut_depth", "activations", "width", "units", "samples", "data", "draw")
"""What identifies a network and its samples."""


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


def statements_panel(axes: Axes, table: pd.DataFrame) -> None:
    """Print each statement, its number of cases, and its largest error relative to the bound on its round-off."""
    stated = table[table["expected"].notna()]
    names = stated["property"].str.replace(r"order \d", "order k", regex=True)
    for written, printed in (("sqrt(8d)/rho", "√(8d)/ρ"), ("rho", "ρ"), (">=", "≥")):
        names = names.str.replace(written, printed)
    print_errors(axes, names, stated["error"] / stated["tolerance"], (0.0, 0.82, 1.0))
