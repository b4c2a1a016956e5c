"""Checks of shares of runs, with exact binomial intervals. Tables have a row for each ensemble, with its counts."""

from typing import TYPE_CHECKING

import numpy as np

from resaudit.claims.checks.measured import Counted, Measured
from resaudit.claims.checks.rows import not_negative, of_network, refuse, take, words
from resaudit.plan.check import Check, Names

if TYPE_CHECKING:
    import pandas as pd


class ShareOfRuns(Check, name="share_of_runs"):
    """Share of the runs of an ensemble with an outcome, at every value of a coordinate.

    Attributes:
        networks: the networks to measure.
        column: number of runs with the outcome; a negative value is refused, as one above the runs is.
        by: the coordinate.
        differ_from: column of a share to subtract, with its number of runs in ``<column>_runs``.
    """

    reads = ("network",)
    networks: Names
    column: str
    by: str
    differ_from: str | None = None

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The share, or its difference to the other."""
        other = self.differ_from
        minus, unit = (f", minus {other}", "difference of shares") if other else ("", "share")
        measured = Measured(f"share of runs: {words(self.column)}{minus}", unit)
        for network in self.networks:
            for at, row in _counts(table, network, self.by, self.column, least_runs, measured):
                counted = [_counted(row[self.column], row["runs"])]
                if other:
                    runs = row[f"{other}_runs"]
                    counted.append(_counted(round(row[other] * runs), runs))
                measured.add_share(f"{network}, {self.by} {at:g}", *counted)
        return measured


class ShareChange(Check, name="share_change"):
    """Change of the share of runs with an outcome from the least to the greatest value of a coordinate.

    Attributes:
        networks: the networks to measure.
        column: number of runs with the outcome; a negative value is refused, as one above the runs is.
        by: the coordinate.
    """

    reads = ("network",)
    networks: Names
    column: str
    by: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The share at the greatest value minus that at the least."""
        what = f"share of runs: {words(self.column)}"
        measured = Measured(f"{what}, at the greatest {self.by} minus at the least", "difference of shares")
        for network in self.networks:
            rows = _counts(table, network, self.by, self.column, least_runs, measured)
            if len(rows) == 1:
                measured.missing.append(f"{network}: one of the two counts that a change needs")
            elif rows:
                ends = [_counted(row[self.column], row["runs"]) for _, row in (rows[-1], rows[0])]
                measured.add_share(f"{network}, {self.by} {rows[-1][0]:g} against {rows[0][0]:g}", *ends)
        return measured


def _counts(
    table: "pd.DataFrame", network: str, by: str, column: str, least_runs: int, measured: Measured
) -> list[tuple[float, "pd.Series[float]"]]:
    """One network's rows with enough runs, by ascending coordinate."""
    not_negative(take(table, "network", by, "runs", column), "runs", column)
    refuse(table, column, (table[column] > table["runs"]) | np.isinf(table["runs"]), "more than the runs", "≤ runs")
    rows = of_network(table, network).sort_values(by)
    if rows.empty:
        measured.missing.append(f"{network}: no counts")
    few = rows[rows["runs"] < least_runs]
    measured.missing.extend(f"{network}, {by} {at:g}: {least_runs} runs are needed" for at in few[by])
    return [(float(row[by]), row) for _, row in rows[rows["runs"] >= least_runs].iterrows()]


def _counted(hits: float, runs: float) -> Counted:
    return int(hits), int(runs)
