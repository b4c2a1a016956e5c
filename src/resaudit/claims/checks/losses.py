"""Checks of quantities as functions of the loss, and at the end of training."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from resaudit.base.errors import CheckError
from resaudit.claims.checks.measured import Counted, Effect, Measured, choice_of_rates, effect_of, in_words, median_of
from resaudit.claims.checks.rows import (
    at_tied_rates,
    bounds_of_difference,
    by_run,
    diverged_in,
    logarithm,
    not_negative,
    of_network,
    rate_of,
    take,
    values_of,
    words,
)
from resaudit.claims.intervals import FEWEST
from resaudit.figures.curves import descending, interpolate, whole_runs
from resaudit.plan.claim import Check, Names

if TYPE_CHECKING:
    import pandas as pd


class AtEveryLoss(Check, name="at_every_loss"):
    """A network's quantity against each other network's at equal losses, interpolated linearly in the loss run by run.

    Attributes:
        network: the network to compare.
        others: the networks to compare it with.
        column: the quantity; a ratio refuses a negative value, an infinite one is a diverged run.
        compare: ratio, or difference (for shares).
        losses: number of losses, evenly spaced on a logarithmic axis.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    others: Names
    column: str
    compare: Literal["ratio", "difference"] = "ratio"
    losses: Annotated[int, Field(ge=2, le=1000)] = 20

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratios of geometric means over runs, or differences of arithmetic means.

        At each loss, only runs that passed it count.
        """
        ratio = self.compare == "ratio"
        what = words(self.column)
        measured = Measured(
            f"{what} of {self.network} {'over' if ratio else 'minus'} the other network's, at the same loss",
            "ratio" if ratio else f"difference of the {what}",
            logarithmic=ratio,
            arithmetic=not ratio,
            bounds=(-np.inf, np.inf) if ratio else bounds_of_difference(self.column),
        )
        table = _whole_trainings(table)
        grid = _common_losses(self.network, self.others, table, least_runs, self.losses, measured)
        for other in self.others if len(grid) else []:
            pairs = list(_pairs(table, self.network, other, self.column, grid))
            for position, loss in enumerate(grid):
                effects = [
                    replace(self._effect(one[:, position], two[:, position], choice), diverged=diverged)
                    for choice, diverged, one, two in pairs
                ]
                where, runs = f"{other}, loss {loss:.3g}", effects[0].runs
                if runs < least_runs:
                    # Enough runs pass through the loss: those without a value are under the noise floor.
                    measured.excluded.append(f"{where}: {runs} runs have a value, {least_runs} are needed")
                else:
                    measured.add_tied(where, effects)
        return measured

    def _effect(self, values: np.ndarray, others: np.ndarray, choice: str) -> Effect:
        """The effect at one loss, from the values of both networks' runs, NaN where unknown."""
        if self.compare == "difference":
            return effect_of(np.subtract, values, others, choice=choice)
        logs = logarithm(values, self.column), logarithm(others, self.column)
        return effect_of(lambda one, other: np.exp(one - other), *logs, choice=choice)


class LargeAgainstSmallLoss(Check, name="large_against_small_loss"):
    """Ratio of a quantity to another network's at the largest common loss, over that at the smallest.

    Attributes:
        network: the network in the numerator of the ratio.
        others: the networks in the denominator, each by itself.
        column: the quantity; a negative value is refused, an infinite one leaves the comparison out.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    others: Names
    column: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The ratio of geometric means at the largest common loss over that at the smallest.

        At each end, the runs that have a value there count.
        """
        what = words(self.column)
        measured = Measured(
            f"{what} of {self.network} over the other network's: "
            "this ratio at the largest loss over that at the smallest",
            "ratio",
            logarithmic=True,
        )
        table = _whole_trainings(table)
        grid = _common_losses(self.network, self.others, table, least_runs, 2, measured)
        for other in self.others if len(grid) else []:
            pairs = _pairs(table, self.network, other, self.column, grid)
            effects = [
                replace(self._effect(one, two, choice), diverged=diverged) for choice, diverged, one, two in pairs
            ]
            if measured.has_enough(other, effects[0].runs, least_runs, "runs have a value at both ends"):
                measured.add_tied(f"{other}, loss {grid[0]:.3g} against {grid[-1]:.3g}", effects)
        return measured

    def _effect(self, values: np.ndarray, others: np.ndarray, choice: str) -> Effect:
        """The effect, from both networks' values at the two losses, shape (runs, 2), NaN where unknown."""
        logs = logarithm(values, self.column), logarithm(others, self.column)
        return effect_of(lambda one, two: np.exp(one[:, 0] - one[:, 1] - two[:, 0] + two[:, 1]), *logs, choice=choice)


class AtTheEnd(Check, name="at_the_end"):
    """A network's quantity over another's at the last epoch.

    Attributes:
        network: the network in the numerator.
        other: the network in the denominator.
        column: the quantity; a negative value is refused, an infinite one is a diverged run.
    """

    reads = ("network", "run", "epoch")
    network: str
    other: str
    column: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of medians over runs at the last epoch.

        An unknown value, such as one beyond double precision, may be anything: a mean would be unknown with it.
        """
        what = words(self.column)
        measured = Measured(
            f"median {what} of {self.network} over that of {self.other} at the last epoch", "ratio", logarithmic=True
        )
        take(table, "network", "run", "epoch", self.column)
        last = int(table["epoch"].max())
        one, other = (
            [self._last(rate, last) for rate in at_tied_rates(of_network(table, name))]
            for name in (self.network, self.other)
        )
        known = min(int(values.notna().sum()) for values in (*one, *other))
        if measured.has_enough("last epoch", known, max(least_runs, FEWEST), "runs have a value"):
            pairs = product(one, other)
            effects = [
                median_of(*(each.to_numpy(float) for each in pair), choice=choice_of_rates(*pair)) for pair in pairs
            ]
            measured.add_tied("last epoch", effects)
        return measured

    def _last(self, rows: "pd.DataFrame", epoch: int) -> "pd.Series":
        """Values at an epoch by run; NaN for a run that has no row there."""
        at_end = not_negative(rows[rows["epoch"] == epoch], self.column)
        return by_run(at_end, self.column, "last epoch").reindex(sorted(rows["run"].unique()))


def _whole_trainings(table: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the runs whose whole training the table has."""
    return whole_runs(take(table, "network", "run", "epoch", "loss"))


def _common_losses(
    network: str, others: list[str], table: "pd.DataFrame", least_runs: int, count: int, measured: Measured
) -> np.ndarray:
    """``count`` losses, descending, over the range that enough runs of all networks pass through; possibly none.

    The range is common to all tied learning rates, so that all are compared at the same losses.
    """
    if (table["loss"] <= 0).any():
        least = table["loss"].min()
        raise CheckError(f"column loss has {least:.3g}; a logarithmic axis needs losses above zero", least_of="loss")
    starts, ends = [], []
    for name in (network, *others):
        shown, *tied = at_tied_rates(of_network(table, name))
        for rate in (shown, *tied):
            curves = [descending(run, "loss")[0] for _, run in rate.groupby("run")]
            passed = [losses for losses in curves if len(losses)]
            if rate is shown and not measured.has_enough(name, len(passed), least_runs, "runs have a loss"):
                return np.empty(0)
            if passed:
                enough = min(least_runs, len(passed))
                starts.append(sorted((losses[0] for losses in passed), reverse=True)[enough - 1])
                ends.append(sorted(losses[-1] for losses in passed)[enough - 1])
    if not max(ends) < min(starts):
        measured.missing.append(f"no loss that {least_runs} runs of every network pass through")
        return np.empty(0)
    grid = np.geomspace(min(starts), max(ends), count)
    # Rounding must not move the ends outside the range.
    grid[0], grid[-1] = min(starts), max(ends)
    return grid


def _pairs(
    table: "pd.DataFrame", network: str, other: str, column: str, grid: np.ndarray
) -> Iterator[tuple[str, Counted, np.ndarray, np.ndarray]]:
    """A column of two networks at the losses of the grid, each of shape (runs, losses); NaN where unknown.

    First at the learning rates shown, then at every other pair of tied ones; the rates in words come first, then how
    many of how many runs of both diverged.
    """
    take(table, column)

    def curves(rows: "pd.DataFrame") -> np.ndarray:
        rows = rows.assign(**{column: values_of(rows, column)})
        of_runs = [interpolate(grid, *descending(run, column)) for _, run in rows.groupby("run")]
        return np.array(of_runs).reshape(len(of_runs), len(grid))

    tied = (
        [(rate_of(rows), diverged_in(rows, column), curves(rows)) for rows in at_tied_rates(of_network(table, name))]
        for name in (network, other)
    )
    for (rate, (hits, runs), one), (other_rate, (more, others), two) in product(*tied):
        yield in_words(rate, other_rate), (hits + more, runs + others), one, two
