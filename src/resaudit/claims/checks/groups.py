"""Checks that compare two groups of runs, such as a method and its baseline, in a table of any columns."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from resaudit.base.errors import CheckError, listed
from resaudit.base.models import Model
from resaudit.claims.checks.measured import Measured, effect_of
from resaudit.claims.checks.rows import by_run, by_values, not_negative, refuse, rows_with, take, words
from resaudit.plan.claim import Check, Selected, Value

if TYPE_CHECKING:
    import pandas as pd


class _OfTwoGroups(Model):
    """Two groups of runs, by a column of the table.

    Attributes:
        by: the column that tells the groups.
        above: its value in the numerator, or that counts positively.
        below: its value in the denominator, or that is subtracted.
        paired: whether equal runs of both groups belong together, as by seed or split of the data; else they are
            independent.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    column: str
    by: str
    above: Value
    below: Value
    paired: bool = False
    rows: Selected = {}
    per: list[str] = []

    def compared(
        self,
        table: "pd.DataFrame",
        least_runs: int,
        measured: Measured,
        of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> Measured:
        """Add the comparison at each combination; it is missing if either group has too few runs."""
        take(table, *self.rows, self.by, *self.per, self.column, "run", by=(*self.rows, self.by, *self.per))
        rows = rows_with(table, self.rows)
        for place, here in by_values(rows, self.per) if self.per else [("", rows)]:
            where = ", ".join(filter(None, (f"{self.above} against {self.below}", place)))
            values = [by_run(rows_with(here, {self.by: each}), self.column, where) for each in (self.above, self.below)]
            if self.paired and (alone := sorted(set(values[0].index) ^ set(values[1].index), key=str)):
                raise CheckError(
                    f"{where}: paired groups need the same runs, but only one of them has {listed(alone[:3])}"
                )
            if measured.has_enough(where, min(map(len, values)), least_runs):
                arrays = [each.to_numpy(float) for each in values]
                if self.paired:
                    effect = effect_of(lambda means: of(means[:, 0], means[:, 1]), np.stack(arrays, axis=1))
                else:
                    effect = effect_of(of, *arrays)
                measured.add_tied(where, [effect])
        return measured


class RatioOfMeans(_OfTwoGroups, Check, name="ratio_of_means"):
    """Arithmetic mean of a quantity over one group of runs, relative to that over another.

    Attributes:
        column: the quantity; a negative value is refused, an infinite one is a diverged run.
    """

    reads = ("run",)

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The ratio at each combination; raises ResauditError if a run is in a group more than once."""
        measured = Measured(f"ratio of mean {words(self.column)}", "ratio", logarithmic=True, arithmetic=True)
        return self.compared(not_negative(table, self.column), least_runs, measured, np.divide)


class DifferenceOfMeans(_OfTwoGroups, Check, name="difference_of_means"):
    """Arithmetic mean of a quantity over one group of runs, minus that over another.

    Attributes:
        column: the quantity; a negative value counts, an infinite one is a diverged run.
    """

    reads = ("run",)

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The difference at each combination; raises ResauditError if a run is in a group more than once."""
        lost = take(table, self.column)[self.column] == -np.inf
        refuse(table, self.column, lost, "minus infinity", "inf, whichever way is better, where a run diverged")
        measured = Measured(
            f"difference of mean {words(self.column)}", f"difference of {words(self.column)}", arithmetic=True
        )
        return self.compared(table, least_runs, measured, np.subtract)
