"""Checks of theorems: exact, over every random draw and size that was tried."""

import numpy as np
import pandas as pd

from resaudit.claims.checks.check import Check, Names
from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import not_negative, take


class IdentitiesHold(Check, name="identities_hold"):
    """Largest error over the draws and sizes, in units of what double precision allows, of each property named."""

    properties: Names

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
        """The largest error of each property, in units of what double precision allows."""
        measured = Measured("largest error over what double precision allows", "a factor")
        not_negative(take(table, "property", "error", "tolerance"), "error", "tolerance")
        for name in self.properties:
            rows = _rows(table, name, least_runs, measured)
            if len(rows):
                # No error is within any tolerance, even none; infinite errors, and tolerances, show nothing good.
                shares = (rows["error"] / rows["tolerance"]).where(
                    np.isfinite(rows["error"] + rows["tolerance"]), np.inf
                )
                measured.add(name, float(shares.where(rows["error"] != 0, 0.0).max()), None, len(rows))
        return measured


class Magnitude(Check, name="magnitude"):
    """Least (with ``at_least``) or largest value over the draws and sizes, of each property named.

    Attributes:
        properties: each is measured by itself.
        absolute: measure the magnitude of the value.
    """

    properties: Names
    absolute: bool = False

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
        """The least or largest value of each property."""
        # Where the claim's side has two ends, so has what is measured.
        ends = [end for end, bound in zip(("least", "largest"), self.region, strict=True) if bound is not None]
        measured = Measured(f"{' and '.join(ends)} value over draws and sizes", "as the property says")
        take(table, "property", "value")
        for name in self.properties:
            rows = _rows(table, name, least_runs, measured)
            if len(rows):
                values = rows["value"].abs() if self.absolute else rows["value"]
                for end in ends:
                    worst = values.min() if end == "least" else values.max()
                    measured.add(name if len(ends) == 1 else f"{name}, {end}", float(worst), None, len(rows))
        return measured


def _rows(table: pd.DataFrame, name: str, least_runs: int, measured: Measured) -> pd.DataFrame:
    rows = table[table["property"] == name]
    if len(rows) < least_runs:
        measured.left_out.append(f"{name}: {len(rows)} draws, {least_runs} are needed")
        return rows.iloc[:0]
    return rows
