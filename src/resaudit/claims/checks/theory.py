"""Checks of theorems: exact, over every random draw and size that was tried."""

import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import take
from resaudit.ledger import IdentitiesHold, Magnitude


def identities_hold(check: IdentitiesHold, table: pd.DataFrame, least_runs: int) -> Measured:
    """The largest error of each property, in units of what double precision allows."""
    measured = Measured("largest error over what double precision allows", "a factor")
    take(table, "property", "error", "tolerance")
    for name in check.properties:
        rows = _rows(table, name, least_runs, measured)
        if len(rows):
            measured.add(name, float((rows["error"] / rows["tolerance"]).max()), None, len(rows))
    return measured


def magnitude(check: Magnitude, table: pd.DataFrame, least_runs: int) -> Measured:
    """The least or largest value of each property."""
    least = check.at_least is not None
    measured = Measured(f"{'least' if least else 'largest'} value over draws and sizes", "as the property says")
    take(table, "property", "value")
    for name in check.properties:
        rows = _rows(table, name, least_runs, measured)
        if len(rows):
            values = rows["value"].abs() if check.absolute else rows["value"]
            worst = values.min() if least else values.max()
            measured.add(name, float(worst), None, len(rows))
    return measured


def _rows(table: pd.DataFrame, name: str, least_runs: int, measured: Measured) -> pd.DataFrame:
    rows = table[table["property"] == name]
    if len(rows) < least_runs:
        measured.left_out.append(f"{name}: {len(rows)} draws, {least_runs} are needed")
        return rows.iloc[:0]
    return rows
