"""Checks of quantities as functions of the loss, and at the end of training."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from resaudit.claims.checks.check import Check, Names
from resaudit.claims.checks.measured import Effect, Measured
from resaudit.claims.checks.ratios import add_ratio
from resaudit.claims.checks.rows import (
    at_tied_rates,
    by_run,
    epoch_at,
    logarithm,
    logarithms,
    of_network,
    take,
    values_of,
    words,
)
from resaudit.claims.intervals import replicate_means
from resaudit.errors import ResauditError
from resaudit.papers.by_loss import descending, interpolate


class AtEveryLoss(Check, name="at_every_loss"):
    """A network's quantity against each other network's at equal losses, interpolated linearly in the loss run by run.

    Attributes:
        network: to compare.
        others: to compare it with.
        column: the quantity.
        compare: ratio, or difference (for shares).
        losses: number of losses, evenly spaced on a logarithmic axis.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    others: Names
    column: str
    compare: Literal["ratio", "difference"] = "ratio"
    losses: Annotated[int, Field(ge=2, le=1000)] = 20

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
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
        )
        grid = _common_losses(self.network, self.others, table, least_runs, self.losses, measured)
        for other in self.others if len(grid) else []:
            pairs = _pairs(table, self.network, other, self.column, grid)
            effects = [_effects_at(here, there, self.column, self.compare == "ratio") for here, there in pairs]
            for position, loss in enumerate(grid):
                at_loss = [every[position] for every in effects]
                where, runs = f"{other}, loss {loss:.3g}", at_loss[0][1]
                if runs < least_runs:
                    measured.left_out.append(f"{where}: {runs} runs have a value, {least_runs} are needed")
                else:
                    measured.add_tied(where, at_loss)
        return measured


class LargeAgainstSmallLoss(Check, name="large_against_small_loss"):
    """Ratio of a quantity to another network's at the largest common loss, over that at the smallest.

    Attributes:
        network: in the numerator of the ratio.
        others: in the denominator, each by itself.
        column: the quantity.
    """

    reads = ("network", "run", "epoch", "loss")
    network: str
    others: Names
    column: str

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
        """The ratio of geometric means at the largest common loss over that at the smallest.

        At each end, the runs that both networks have there count.
        """
        what = words(self.column)
        measured = Measured(
            f"{what} of {self.network} over the other network's: "
            "this ratio at the largest loss over that at the smallest",
            "ratio",
            logarithmic=True,
        )
        grid = _common_losses(self.network, self.others, table, least_runs, 2, measured)
        for other in self.others if len(grid) else []:
            pairs = _pairs(table, self.network, other, self.column, grid)
            effects = [_change(here, there, self.column) for here, there in pairs]
            runs = effects[0][1]
            if runs < least_runs:
                measured.left_out.append(f"{other}: {runs} runs have a value at both ends, {least_runs} are needed")
            else:
                measured.add_tied(f"{other}, loss {grid[0]:.3g} against {grid[-1]:.3g}", effects)
        return measured


def _change(here: np.ndarray, there: np.ndarray, column: str) -> Effect:
    """The ratio of two networks at the first of two losses over that at the second."""
    counts = ~np.isnan(here)
    logs = _log_ratio(here, there, column)
    with np.errstate(invalid="ignore", over="ignore"):
        change = np.exp(logs[:, 0] - logs[:, 1])
    return change[np.append(True, counts.any(axis=1))], int(counts.sum(axis=0).min())


class AtTheEnd(Check, name="at_the_end"):
    """A network's quantity over another's at the last epoch.

    Attributes:
        network: in the numerator.
        other: in the denominator.
        column: the quantity.
    """

    reads = ("network", "run", "epoch")
    network: str
    other: str
    column: str

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
        """Ratio of geometric means over runs at the last epoch."""
        what = words(self.column)
        measured = Measured(
            f"{what} of {self.network} over that of {self.other} at the last epoch", "ratio", logarithmic=True
        )
        take(table, "network", "run", "epoch", self.column)
        last = epoch_at(table, 1.0)
        parts = [
            [by_run(part[part["epoch"] == last], self.column, name) for part in at_tied_rates(of_network(table, name))]
            for name in (self.network, self.other)
        ]
        shown = pd.concat([part[0] for part in parts], axis=1, join="inner").to_numpy(dtype=float)
        known = int(np.isfinite(shown).all(axis=1).sum())
        if known < least_runs or known < max(len(part[0]) for part in parts):
            measured.left_out.append(f"last epoch: {known} runs of each have a value, all and {least_runs} are needed")
            return measured
        logs, other_logs = ([logarithms(values, self.column) for values in part] for part in parts)
        add_ratio(measured, "last epoch", logs, other_logs, least_runs, of_logarithms=True)
        return measured


def _effects_at(here: np.ndarray, there: np.ndarray, column: str, ratio: bool) -> list[Effect]:
    """Effects of two networks at every loss, from values of shape (runs, losses)."""
    with np.errstate(over="ignore", invalid="ignore"):
        effects = np.exp(_log_ratio(here, there, column)) if ratio else replicate_means(here) - replicate_means(there)
    counts = ~np.isnan(here)
    return [(effects[np.append(True, counts[:, k]), k], int(counts[:, k].sum())) for k in range(here.shape[1])]


def _common_losses(
    network: str, others: list[str], table: pd.DataFrame, least_runs: int, count: int, measured: Measured
) -> np.ndarray:
    """``count`` losses, descending, over the range that enough runs of all networks pass through; possibly none.

    The range is common to all tied learning rates, so that all are compared at the same losses.
    """
    take(table, "network", "run", "epoch", "loss")
    if (table["loss"] <= 0).any():
        raise ResauditError(f"column loss has {table['loss'].min():.3g}; a logarithmic axis needs losses above zero")
    starts, ends = [], []
    for name in (network, *others):
        shown, *others_tied = at_tied_rates(of_network(table, name))
        for part in (shown, *others_tied):
            curves = [descending(run, "loss")[0] for _, run in part.groupby("run")]
            passed = [losses for losses in curves if len(losses)]
            if len(passed) < least_runs and part is shown:
                measured.left_out.append(f"{name}: {len(passed)} runs have a loss, {least_runs} are needed")
                return np.empty(0)
            if passed:
                enough = min(least_runs, len(passed))
                starts.append(sorted((losses[0] for losses in passed), reverse=True)[enough - 1])
                ends.append(sorted(losses[-1] for losses in passed)[enough - 1])
    if not max(ends) < min(starts):
        measured.left_out.append(f"no loss that {least_runs} runs of every network pass through")
        return np.empty(0)
    grid = np.geomspace(min(starts), max(ends), count)
    # Rounding must not move the ends outside the range.
    grid[0], grid[-1] = min(starts), max(ends)
    return grid


def _pairs(
    table: pd.DataFrame, network: str, other: str, column: str, grid: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """A column of two networks at the losses of the grid, for their common runs, each of shape (runs, losses).

    NaN in both where one is unknown. First at the learning rates shown, then at every other pair of tied ones.
    """
    take(table, column)
    curves = [
        [_curves(part, column, grid) for part in at_tied_rates(of_network(table, name))] for name in (network, other)
    ]
    for one, another in product(*curves):
        runs = sorted(one.keys() & another.keys())
        here, there = (np.array([part[run] for run in runs]).reshape(len(runs), len(grid)) for part in (one, another))
        unknown = np.isnan(here) | np.isnan(there)
        yield np.where(unknown, np.nan, here), np.where(unknown, np.nan, there)


def _curves(rows: pd.DataFrame, column: str, grid: np.ndarray) -> dict[int, np.ndarray]:
    """The column at the losses of the grid, by run; NaN where unknown."""
    rows = rows.assign(**{column: values_of(rows, column)})
    return {int(str(run)): interpolate(grid, *descending(part, column)) for run, part in rows.groupby("run")}


def _log_ratio(network: np.ndarray, other: np.ndarray, column: str) -> np.ndarray:
    """Logarithm of the ratio of geometric means, with its replicates; shape (1 + runs, …)."""
    here, there = (replicate_means(logarithm(values, column)) for values in (network, other))
    with np.errstate(invalid="ignore"):
        return np.asarray(here - there)
