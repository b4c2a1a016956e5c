"""Checks of theorems: exact, over every random draw and size."""

from typing import TYPE_CHECKING

import numpy as np

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import not_negative, take, values_of
from resaudit.plan.check import Check, Names

if TYPE_CHECKING:
    import pandas as pd


class IdentitiesHold(Check, name="identities_hold"):
    """Largest error of each property over draws and sizes, in units of its double-precision tolerance.

    Attributes:
        properties: the properties to measure, each by itself.
    """

    reads = ("property",)
    properties: Names

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The largest error of each property, relative to its tolerance."""
        measured = Measured("largest error over what double precision allows", "ratio")
        asked = table[take(table, "property")["property"].isin(self.properties)]
        not_negative(take(asked, "property", "error", "tolerance"), "error", "tolerance")
        for name in self.properties:
            rows = _rows(asked, name, least_runs, measured)
            if len(rows):
                # A zero error is within any tolerance, even zero; an infinite error or tolerance fails.
                shares = (rows["error"] / rows["tolerance"]).where(
                    np.isfinite(rows["error"] + rows["tolerance"]), np.inf
                )
                measured.add(name, float(shares.where(rows["error"] != 0, 0.0).max()), None, len(rows))
        return measured


class Magnitude(Check, name="magnitude"):
    """Least (with ``at_least``) or largest value of each property over draws and sizes.

    Attributes:
        properties: the properties, each measured separately; a negative value counts, one with an infinite value is
            left out.
        absolute: measure the magnitude of the value.
    """

    reads = ("property", "value")
    properties: Names
    absolute: bool = False

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The least or largest value of each property; missing if a value is not finite or beyond its tolerance."""
        # A region with two ends needs both the least and the largest value.
        ends = [end for end, bound in zip(("least", "largest"), self.region, strict=True) if bound is not None]
        measured = Measured(f"{' and '.join(ends)} value over draws and sizes", "value")
        take(table, "property", "value")
        for name in self.properties:
            rows = _rows(table, name, least_runs, measured)
            if len(rows):
                known = values_of(rows, "value").where(np.isfinite)
                values = known.abs() if self.absolute else known
                for end in ends:
                    worst = values.min(skipna=False) if end == "least" else values.max(skipna=False)
                    measured.add(name if len(ends) == 1 else f"{name}, {end}", float(worst), None, len(rows))
        return measured


def _rows(table: "pd.DataFrame", name: str, least_runs: int, measured: Measured) -> "pd.DataFrame":
    rows = table[table["property"] == name]
    return rows if measured.has_enough(name, len(rows), least_runs, "draws") else rows.iloc[:0]
