"""Checks of means and medians over runs, with intervals."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import by_run, not_negative, pieces, words
from resaudit.claims.intervals import replicate_means
from resaudit.figures.curves import slope
from resaudit.plan.check import Check, Columns

if TYPE_CHECKING:
    import pandas as pd


class MeanOfRuns(Check, name="mean_of_runs"):
    """Arithmetic mean of a positive quantity over runs.

    Attributes:
        column: the quantity; a negative value is refused, an infinite one is a diverged run.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    rows: dict[str, str] = {}
    per: Columns

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The mean of each combination; raises ResauditError if a run is in it more than once."""
        measured = Measured(f"mean of {words(self.column)}", "mean", logarithmic=True, arithmetic=True)
        for where, rows in pieces(table, self.rows, self.per, [self.column, "run"]):
            values = by_run(not_negative(rows, self.column), self.column, where)
            measured.add_mean(where, values.to_numpy(dtype=float), least_runs)
        return measured


class MedianOfRuns(Check, name="median_of_runs"):
    """Median of a quantity over runs, with an exact interval whatever the law of the runs.

    Attributes:
        column: the quantity; a negative value counts, an infinite one is a diverged run.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    rows: dict[str, str] = {}
    per: Columns

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The median of each combination, of six runs or more; raises ResauditError if a run is in it more than once.

        A run without a resolved value does not count.
        """
        values = {
            where: by_run(rows, self.column, where).dropna().to_numpy(dtype=float)
            for where, rows in pieces(table, self.rows, self.per, [self.column, "run"])
        }
        positive = all((each > 0).all() for each in values.values())
        measured = Measured(f"median of {words(self.column)}", "median", logarithmic=positive)
        for where, each in values.items():
            measured.add_median(where, each, least_runs)
        return measured


class AgainstBounds(Check, name="against_bounds"):
    """Mean or median of a positive quantity over runs, over a bound that differs by group; 1: the bound is just met.

    Attributes:
        column: the quantity; a negative value is refused, an infinite one is a diverged run.
        by: the column that tells the groups.
        bounds: each group's bound, by the value of that column; each must be measured, and no other group is.
        statistic: mean or median over runs.
        rows: values that select rows, by column.
        per: further columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    by: str
    bounds: Annotated[
        dict[Annotated[str, BeforeValidator(str)], Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        Field(min_length=1),
    ]
    statistic: Literal["mean", "median"] = "mean"
    rows: dict[str, str] = {}
    per: list[str] = []

    @property
    def parts(self) -> list[str]:
        """The groups, as the names of their places begin."""
        return [f"{words(self.by)} {value}" for value in self.bounds]

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The ratio of each group and combination; raises ResauditError if a run is in it more than once.

        A run without a resolved value does not count.
        """
        is_mean = self.statistic == "mean"
        what = f"{self.statistic} of {words(self.column)} over its bound"
        measured = Measured(what, "ratio", logarithmic=True, arithmetic=is_mean)
        add = measured.add_mean if is_mean else measured.add_median
        for value, bound in self.bounds.items():
            chosen, per = self.rows | {self.by: value}, [self.by, *self.per]
            for where, rows in pieces(table, chosen, per, [self.column, "run"]):
                values = by_run(not_negative(rows, self.column), self.column, where).dropna()
                add(where, values.to_numpy(dtype=float) / bound, least_runs)
        return measured


class ZeroOfExponent(Check, name="zero_of_exponent"):
    """Where the exponent of a quantity ~ depth^b is zero, as a straight line of another coordinate.

    Attributes:
        column: the quantity, whose means over runs are positive; a negative value counts, an infinite one leaves its
            place out.
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
    per: Columns

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
        for where, rows in pieces(table, self.rows, self.per, [self.column, self.by, self.against, "run"]):
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
