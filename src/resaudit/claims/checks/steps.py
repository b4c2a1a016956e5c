"""Checks of the steps of each run: at how many of them a quantity keeps a bound, and whether it is monotone."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from resaudit.base.errors import CheckError
from resaudit.claims.checks.measured import Measured, diverged, effect_of
from resaudit.claims.checks.rows import pieces, values_of, words
from resaudit.plan.check import Check, Columns, Share

if TYPE_CHECKING:
    import pandas as pd


def _of_a_run(column: str) -> str:
    if column == "depth":
        raise ValueError(
            "is depth, but runs of other depths are other runs; ratio_across_depths with reference: previous compares "
            "their means"
        )
    return column


Steps = Annotated[str, AfterValidator(_of_a_run)]
"""A column of numbers along which one run has several values."""


class ShareOfSteps(Check, name="share_of_steps"):
    """Share of a run's recorded steps at which a quantity, or its change, keeps a bound; mean over runs.

    Attributes:
        column: the quantity; a negative value counts, an infinite one is a diverged run.
        by: the column of the steps, such as epoch, step or layer.
        above: the quantity, or its change, is above this.
        below: the quantity, or its change, is below this.
        change: whether the bound is of the change from each step to the next; with above 0: that it rises.
        after: share of the training that is left out at the start.
        within: share of the training after which all is left out.
        until: the first value from which on all is left out.
        span: share of a run's recorded steps whose mean counts as one step; 0: each step by itself.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    by: Steps = "epoch"
    above: float | None = None
    below: float | None = None
    change: bool = False
    after: Share = 0.0
    within: Share = 1.0
    until: float | None = None
    span: Share = 0.0
    rows: dict[str, str] = {}
    per: Columns

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.above is None and self.below is None:
            raise ValueError("has no bound of a step; give above, below or both")
        return self

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Mean over runs of the share; raises ResauditError if a run has a step more than once.

        A run without the first step, or of which no step is left, does not count. A place is missing if a run's value
        is unresolved, or its change undefined, as after it diverged.
        """
        what = f"{'change of the ' if self.change else ''}{words(self.column)}"
        bounds = [f"{side} {bound:g}" for side in ("above", "below") if (bound := getattr(self, side)) is not None]
        measured = Measured(
            f"share of the steps at which the {what} is {' and '.join(bounds)}",
            "share",
            arithmetic=True,
            bounds=(0.0, 1.0),
        )
        for where, rows in pieces(table, self.rows, self.per, [self.column, self.by, "run"]):
            end = float(rows[self.by].max())
            curves = list(_curves(rows, self.by, self.column, where))
            kept = [self._kept(*curve, end) for curve in curves]
            shares = np.array([each.mean() for each in kept if len(each)])
            if np.isnan(shares).any():
                measured.missing.append(f"{where}: a run has an unknown {what}")
            elif measured.has_enough(where, len(shares), least_runs, "runs have a step left"):
                mean = effect_of(np.asarray, shares)
                measured.add_tied(where, [replace(mean, diverged=diverged(*(run[None] for _, run in curves)))])
        return measured

    def _kept(self, steps: np.ndarray, values: np.ndarray, end: float) -> np.ndarray:
        """Whether each step of one run that is used keeps the bound: 1 or 0, NaN if that is unknown."""
        used = values[(steps >= self.after * end - 1e-9) & (steps <= self.within * end + 1e-9)]
        if self.until is not None and (used >= self.until).any():
            used = used[: np.argmax(used >= self.until)]
        size = max(1, int(self.span * len(values)))
        with np.errstate(invalid="ignore"):
            used = used[: len(used) // size * size].reshape(-1, size).mean(axis=1)
            used = np.diff(used) if self.change else used
        kept = np.where(np.isnan(used), np.nan, 1.0)
        kept[used <= (np.nan if self.above is None else self.above)] = 0.0
        kept[used >= (np.nan if self.below is None else self.below)] = 0.0
        return kept


class MonotoneRuns(Check, name="monotone_runs"):
    """Share of the runs in which a quantity never falls, or never rises, from one step to a later one.

    A run is monotone or not, so the share has an exact interval, whatever the runs. A mean of the largest steps against
    the direction has not: they are mostly zero, and no interval knows of a rare run with one.

    Attributes:
        column: the quantity; a negative value counts, a run with an infinite one is unknown.
        by: the column of the steps, such as epoch, step or layer.
        direction: rises (it never falls) or falls (it never rises).
        tolerance: how far a value may lie behind the furthest before it, as a share of the run's range.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
    """

    reads = ("run",)
    column: str
    by: Steps = "epoch"
    direction: Literal["rises", "falls"]
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    rows: dict[str, str] = {}
    per: Columns

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The share of the runs of each combination; raises ResauditError if a run has a step more than once.

        A run without the first step or with a single one does not count. A place is missing if that of a run is
        unknown, as of one with an unresolved value. A run that diverges does not fall; whether it rises is unknown.
        """
        never = "falls" if self.direction == "rises" else "rises"
        meaning = f"share of runs in which the {words(self.column)} never {never}"
        measured = Measured(meaning, "share", bounds=(0.0, 1.0))
        for where, rows in pieces(table, self.rows, self.per, [self.column, self.by, "run"]):
            curves = [values for _, values in _curves(rows, self.by, self.column, where) if len(values) > 1]
            monotone = [self._monotone(values) for values in curves]
            if np.isnan(monotone).any():
                measured.missing.append(f"{where}: a run has an unknown {words(self.column)}")
            elif measured.has_enough(where, len(monotone), least_runs, f"runs with two {words(self.by)}s"):
                counted = sum(monotone), len(monotone)
                measured.add_share(where, counted, diverged=diverged(*(run[None] for run in curves)))
        return measured

    def _monotone(self, values: np.ndarray) -> float:
        """Whether a run of two values or more is: 1 or 0, NaN if that is unknown."""
        values = values if self.direction == "rises" else -values
        finite = values[np.isfinite(values)]
        with np.errstate(invalid="ignore"):
            behind = np.maximum.accumulate(values) - values
        if (behind > self.tolerance * (np.ptp(finite) if len(finite) else 0.0)).any():
            return 0.0
        return np.nan if np.isnan(behind).any() else 1.0


def _curves(rows: "pd.DataFrame", by: str, column: str, where: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Steps, ascending, and values of each run that has the first step; NaN where unresolved."""
    if rows.duplicated([by, "run"]).any():
        raise CheckError(
            f"{where} has a run more than once at the same {by}; name in per or rows the column that tells them apart"
        )
    first = rows[by].min()
    for _, run in rows.assign(**{column: values_of(rows, column)}).sort_values(by).groupby("run"):
        if run[by].iloc[0] == first:
            yield run[by].to_numpy(dtype=float), run[column].to_numpy(dtype=float)
