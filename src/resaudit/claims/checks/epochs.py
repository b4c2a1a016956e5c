"""Checks of the timing of events during training, and of training curves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from resaudit.claims.checks.measured import Counted, Measured, effect_of
from resaudit.claims.checks.ratios import add_ratio, choice_of_rates
from resaudit.claims.checks.rows import (
    at_tied_rates,
    bounds_of_difference,
    by_run,
    diverged_in,
    epoch_at,
    not_near,
    not_negative,
    of_network,
    rate_of,
    take,
    words,
)
from resaudit.claims.checks.sweeps import ends_of_bounds
from resaudit.figures.curves import descending, interpolate, whole_runs
from resaudit.plan.check import Check, Share

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
