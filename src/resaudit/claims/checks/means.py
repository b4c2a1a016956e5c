"""Checks of arithmetic means over runs, with intervals."""

from typing import TYPE_CHECKING

import numpy as np

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import by_run, by_values, not_negative, rows_with, take, words
from resaudit.claims.intervals import replicate_means
from resaudit.figures.fits import slope
from resaudit.plan.check import Check

if TYPE_CHECKING:
    import pandas as pd


class MeanOfRuns(Check, name="mean_of_runs"):
    """Arithmetic mean of a positive quantity over runs.

    Attributes:
        column: the quantity.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    rows: dict[str, str] = {}
    per: list[str]

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The mean of each combination; raises ResauditError if a run is in it more than once."""
        measured = Measured(f"mean of {words(self.column)}", "mean", logarithmic=True, arithmetic=True)
        for where, rows in _pieces(table, self.rows, self.per, [self.column, "run"]):
            values = by_run(not_negative(rows, self.column), self.column, where)
            if measured.has_enough(where, len(values), least_runs):
                means = replicate_means(values.to_numpy(dtype=float))
                measured.add(where, means[0], means[1:], len(values))
        return measured


class ZeroOfExponent(Check, name="zero_of_exponent"):
    """Where the exponent of a quantity ~ depth^b is zero, as a straight line of another coordinate.

    Attributes:
        column: the quantity, whose means over runs are positive.
        by: the column used as depth.
        against: the other coordinate.
        first: the coordinate's least value used.
        last: the coordinate's largest value used.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    by: str
    against: str
    first: float
    last: float
    rows: dict[str, str] = {}
    per: list[str]

    @property
    def columns(self) -> list[str]:
        """The columns of the table that its parameters name."""
        return [*super().columns, self.against]

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The zero of each combination."""
        measured = Measured(
            f"{words(self.against)} at which {words(self.column)} does not change with {words(self.by)}",
            words(self.against),
        )
        for where, rows in _pieces(table, self.rows, self.per, [self.column, self.by, self.against, "run"]):
            used = rows[rows[self.against].between(self.first, self.last)]
            values = used.pivot_table(self.column, "run", [self.against, self.by])
            places, depths = (np.sort(used[column].unique()).astype(float) for column in (self.against, self.by))
            if not measured.has_enough(where, len(values), least_runs):
                continue
            if min(len(places), len(depths)) < 2:
                measured.missing.append(f"{where}: two {words(self.by)}s and two {words(self.against)}s are needed")
                continue
            means = replicate_means(values.to_numpy()).reshape(-1, len(places), len(depths))
            with np.errstate(invalid="ignore", divide="ignore"):
                # A mean that is not positive has no exponent.
                exponents = slope(np.log(depths), np.log(np.where(means > 0, means, np.nan)))
            zeros = places.mean() - exponents.mean(axis=-1) / slope(places, exponents)
            measured.add(where, zeros[0], zeros[1:], len(values))
        return measured


def _pieces(
    table: "pd.DataFrame", values: dict[str, str], per: list[str], columns: list[str]
) -> "list[tuple[str, pd.DataFrame]]":
    """The rows of each combination of values, by name."""
    take(table, *values, *per, *columns, by=(*values, *per))
    return by_values(rows_with(table, values), per)
