"""Checks along a training: when events happen, curves, and the steps of each run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from resaudit.base.errors import CheckError
from resaudit.claims.checks.measured import Counted, Measured, add_ratio, choice_of_rates, diverged, effect_of
from resaudit.claims.checks.rows import (
    at_tied_rates,
    bounds_of_difference,
    by_run,
    diverged_in,
    epoch_at,
    not_near,
    not_negative,
    of_network,
    pieces,
    rate_of,
    take,
    values_of,
    words,
)
from resaudit.claims.checks.sweeps import ends_of_bounds
from resaudit.figures.curves import descending, interpolate, whole_runs
from resaudit.plan.claim import Check, Columns, Selected, Share

if TYPE_CHECKING:
    import pandas as pd


class EarlyFall(Check, name="early_fall"):
    """Fall of a quantity from its start within a share of the training.

    Attributes:
        network: the network to measure.
        column: the quantity; a negative value counts, an infinite one is left out.
        within: the share of the training.
        of_whole: relative to the whole fall, from the start to the least value.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    column: str
    within: Annotated[float, Field(gt=0, le=1)] = 0.01
    of_whole: bool = False

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Mean over runs of the fall from epoch 0, absolute or relative to the whole fall."""
        epoch = epoch_at(table, self.within)
        measured = _measured_fall(self, f"by epoch {epoch}")
        if epoch is None or not (table["epoch"] == 0).any():
            measured.missing.append(not_near(table, 0.0 if epoch else self.within))
            return measured
        falls, counts = [], []
        for rows in _of_network(table, self.network, self.column):
            curves = _curves(rows, self.column)
            if epoch not in curves.index:
                measured.missing.append(f"epoch {epoch}: {self.network} has no row there")
                return measured
            start = curves.iloc[0]
            fall = start - curves.loc[epoch]
            if self.of_whole:
                whole = start - curves.min()
                fall = (fall / whole).where(whole > 0)
            falls.append(fall.rename(rate_of(rows)))
            counts.append(diverged_in(rows, self.column))
        _add_means(measured, f"epoch {epoch}", falls, counts, least_runs)
        return measured


class FallByLoss(Check, name="fall_by_loss"):
    """Fall of a quantity from its start while the loss falls through a share of its range, interpolated in the loss.

    Attributes:
        network: the network to measure.
        column: the quantity; a negative value counts, an infinite one is left out.
        within: the share of the loss's whole fall.
        of_whole: relative to the whole fall of the quantity, from the start to the least value.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    column: str
    within: Annotated[float, Field(gt=0, le=1)] = 0.5
    of_whole: bool = False

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Mean over runs of the fall, absolute or relative to the whole fall."""
        import pandas as pd

        where = f"first {100 * self.within:g} % of the loss's fall"
        measured = _measured_fall(self, f"in the {where}")
        rates = _of_network(table, self.network, self.column)
        falls = [
            pd.Series(
                [self._fall(*descending(run, self.column)) for _, run in rows.groupby("run")],
                dtype=float,
                name=rate_of(rows),
            )
            for rows in rates
        ]
        counts = [diverged_in(rows, self.column) for rows in rates]
        _add_means(measured, where, falls, counts, least_runs)
        return measured

    def _fall(self, losses: np.ndarray, values: np.ndarray) -> float:
        """The fall of one run's values by descending loss; NaN if unknown or if there is none."""
        known = np.isfinite(values)
        if not known.any():
            return np.nan
        losses, values = losses[known], values[known]
        end = interpolate(losses[:1] - self.within * (losses[0] - losses[-1]), losses, values)
        fall, whole = values[0] - end[0], values[0] - values.min()
        if not self.of_whole:
            return float(fall)
        return float(fall / whole) if whole > 0 else np.nan


def _measured_fall(check: EarlyFall | FallByLoss, when: str) -> Measured:
    what = words(check.column)
    meaning = f"fall of the {what} of {check.network} {when}"
    if check.of_whole:
        return Measured(f"{meaning} as a share of its whole fall", "share", arithmetic=True, bounds=(-np.inf, 1.0))
    return Measured(meaning, f"difference of the {what}", arithmetic=True, bounds=bounds_of_difference(check.column))


class PeakAtDrop(Check, name="peak_at_drop"):
    """Epochs between the peak of one quantity and the steepest fall of another in the same run.

    Attributes:
        network: the network to measure.
        peak: column of the quantity that peaks; a negative value counts, an infinite one is the peak.
        drop: column of the quantity that falls; a negative value counts, an infinite one is left out.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    peak: str
    drop: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Mean over runs of the epochs between the peak and the two recorded epochs with the steepest fall."""
        measured = Measured(
            f"distance of the peak of the {words(self.peak)} of {self.network} to the steepest fall of its "
            f"{words(self.drop)}",
            "epochs",
            arithmetic=True,
            bounds=(0.0, np.inf),
        )
        rates = _of_network(table, self.network, self.peak, self.drop)
        distances = [
            _distances(_curves(rows, self.peak), _curves(rows, self.drop)).rename(rate_of(rows)) for rows in rates
        ]
        counts = [diverged_in(rows, self.peak, self.drop) for rows in rates]
        _add_means(measured, "all runs", distances, counts, least_runs)
        return measured


def _distances(peaks: "pd.DataFrame", drops: "pd.DataFrame") -> "pd.Series":
    """Epochs between each run's peak and its steepest drop; NaN without a drop or a peak."""
    import pandas as pd

    epochs = drops.index.to_numpy()
    distances = []
    for run in drops:
        with np.errstate(invalid="ignore"):
            slopes = np.diff(drops[run]) / np.diff(epochs)
        if not (slopes < 0).any() or peaks[run].isna().all():
            distances.append(np.nan)
            continue
        steepest, peak = int(np.nanargmin(slopes)), epochs[int(np.nanargmax(peaks[run]))]
        distances.append(max(epochs[steepest] - peak, peak - epochs[steepest + 1], 0.0))
    return pd.Series(distances, index=drops.columns, dtype=float)


class CurveRatio(Check, name="curve_ratio"):
    """A network's mean excess loss over another's at shares of the training, both at their best rate.

    Where fresh runs diverge at all rates that the sweep left, the others bound the loss (docs/intervals.md).

    Attributes:
        network: the network in the numerator.
        other: the network in the denominator.
        epochs: shares of the training to measure at.
    """

    reads = ("network", "depth", "run", "epoch", "excess_loss")
    network: str
    other: str
    epochs: list[Share] = [0.01, 0.1, 1.0]

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean excess losses at shares of the training, depth by depth."""
        measured = Measured(
            f"mean excess loss of {self.network} over that of {self.other}, each at its best rate, during training",
            "ratio",
            logarithmic=True,
            arithmetic=True,
        )
        not_negative(take(table, *self.reads), "excess_loss")
        for share in self.epochs:
            epoch = epoch_at(table, share)
            if epoch is None:
                measured.missing.append(not_near(table, share))
                continue
            for depth, of_depth in table.groupby("depth"):
                where = f"depth {depth}, epoch {epoch}"
                above, below = (
                    [
                        by_run(rate[rate["epoch"] == epoch], "excess_loss", where)
                        for rate in at_tied_rates(of_network(of_depth, name))
                    ]
                    for name in (self.network, self.other)
                )
                ends = {np.inf: (self.network, above), 0.0: (self.other, below)}
                bounded = {
                    end: f"{name}, {where}"
                    for end, (name, rates) in ends.items()
                    if any(np.isinf(losses).any() for losses in rates)
                }
                above, below = ([losses[~np.isinf(losses)] for losses in rates] for rates in (above, below))
                add_ratio(measured, where, above, below, least_runs, reaching=ends_of_bounds(bounded, measured))
        return measured


def _of_network(table: "pd.DataFrame", network: str, *columns: str) -> "list[pd.DataFrame]":
    """One network's rows of whole trainings, at the learning rate that is shown, then at those tied with it."""
    whole = whole_runs(take(table, "network", "run", "epoch", "loss", *columns))
    return at_tied_rates(of_network(whole, network))


def _curves(rows: "pd.DataFrame", column: str) -> "pd.DataFrame":
    """A column by epoch (rows) and run (columns); NaN after a run diverged."""
    rows = rows.assign(**{column: rows[column].where(np.isfinite(rows["loss"]))})
    return rows.pivot_table(index="epoch", columns="run", values=column, dropna=False)


def _add_means(
    measured: Measured, where: str, values: "Sequence[pd.Series]", diverged: Sequence[Counted], least_runs: int
) -> None:
    """Add the mean over the runs that have a value, at the learning rate shown, then at those tied with it.

    Args:
        measured: the measurement to add to.
        where: the place.
        values: each rate's values by run.
        diverged: how many of how many runs diverged at each rate.
        least_runs: needed at the rate shown.
    """
    finite = [of_rate[np.isfinite(of_rate)] for of_rate in values]
    if measured.has_enough(where, len(finite[0]), least_runs, "runs have a value"):
        effects = [effect_of(np.asarray, of_rate.to_numpy(), choice=choice_of_rates(of_rate)) for of_rate in finite]
        measured.add_tied(where, [replace(each, diverged=of) for each, of in zip(effects, diverged, strict=True)])


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
    rows: Selected = {}
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
            curves = list(_steps_of_runs(rows, self.by, self.column, where))
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
    rows: Selected = {}
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
            curves = [values for _, values in _steps_of_runs(rows, self.by, self.column, where) if len(values) > 1]
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


def _steps_of_runs(rows: "pd.DataFrame", by: str, column: str, where: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Steps, ascending, and values of each run that has the first step; NaN where unresolved."""
    if rows.duplicated([by, "run"]).any():
        raise CheckError(
            f"{where} has a run more than once at the same {by}; name in per or rows the column that tells them apart"
        )
    first = rows[by].min()
    for _, run in rows.assign(**{column: values_of(rows, column)}).sort_values(by).groupby("run"):
        if run[by].iloc[0] == first:
            yield run[by].to_numpy(dtype=float), run[column].to_numpy(dtype=float)
