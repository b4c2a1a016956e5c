"""Checks over runs or draws: means and medians, shares with exact intervals, and theorems, which are exact."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from resaudit.claims.checks.measured import Counted, Measured
from resaudit.claims.checks.rows import by_run, not_negative, of_network, pieces, refuse, take, values_of, words
from resaudit.claims.intervals import replicate_means
from resaudit.figures.curves import slope
from resaudit.plan.claim import Check, Columns, Names, Selected, Value

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
    rows: Selected = {}
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
    rows: Selected = {}
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
        dict[Value, Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        Field(min_length=1),
    ]
    statistic: Literal["mean", "median"] = "mean"
    rows: Selected = {}
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
    rows: Selected = {}
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


class ShareOfRuns(Check, name="share_of_runs"):
    """Share of the runs of an ensemble with an outcome, at every value of a coordinate.

    Attributes:
        networks: the networks to measure.
        column: number of runs with the outcome; a negative value is refused, as one above the runs is.
        by: the coordinate.
        differ_from: column of a printed share to subtract, with its number of runs in ``<column>_runs``.
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
                measured.add_share(f"{network}, {self.by} {at:g}", *counted, printed=bool(other))
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
