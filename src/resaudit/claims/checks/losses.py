"""Checks of what lies along training as a function of the loss, and at its end (Figures 5 and 6)."""

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import by_run, epoch_at, logarithm, of_network, take, values_of
from resaudit.claims.intervals import replicate_means
from resaudit.errors import ResauditError
from resaudit.ledger import AtEveryLoss, AtTheEnd, Comparison, LargeAgainstSmallLoss
from resaudit.papers.demystifying_resnet.by_loss import descending, interpolate


def at_every_loss(check: AtEveryLoss, table: pd.DataFrame, least_runs: int) -> Measured:
    """A network against each other one, loss by loss.

    Ratios are of geometric means over runs, differences of arithmetic ones; at each loss the runs count that have
    been there.
    """
    ratio = check.compare is Comparison.ratio
    what = check.column.replace("_", " ")
    measured = Measured(
        f"{what} of {check.network} {'over' if ratio else 'minus'} the other network's, at the same loss",
        "a factor" if ratio else f"a difference of the {what}",
        logarithmic=ratio,
        arithmetic=not ratio,
    )
    grid = _common_losses(check.network, check.others, table, least_runs, check.losses, measured)
    _compare_at(grid, check, ratio, table, least_runs, measured)
    return measured


def large_against_small_loss(check: LargeAgainstSmallLoss, table: pd.DataFrame, least_runs: int) -> Measured:
    """The ratio of geometric means at the largest common loss over that at the smallest.

    At each end the runs count that both networks have there.
    """
    what = check.column.replace("_", " ")
    measured = Measured(
        f"{what} of {check.network} over the other network's: this ratio at the largest loss over that at the smallest",
        "a factor",
        logarithmic=True,
    )
    grid = _common_losses(check.network, check.others, table, least_runs, 2, measured)
    for other in check.others if len(grid) else []:
        network, comparison = _curves_of_both(table, check.network, other, check.column, grid)
        counts = ~np.isnan(network)
        runs = int(counts.sum(axis=0).min())
        if runs < least_runs:
            measured.left_out.append(f"{other}: {runs} runs have a value at both ends, {least_runs} are needed")
            continue
        logs = _log_ratio(network, comparison, check.column)
        with np.errstate(invalid="ignore", over="ignore"):
            change = np.exp(logs[:, 0] - logs[:, 1])
        where = f"{other}, loss {grid[0]:.3g} against {grid[-1]:.3g}"
        measured.add(where, change[0], change[1:][counts.any(axis=1)], runs)
    return measured


def at_the_end(check: AtTheEnd, table: pd.DataFrame, least_runs: int) -> Measured:
    """Ratio of geometric means over runs at the last epoch."""
    what = check.column.replace("_", " ")
    measured = Measured(
        f"{what} of {check.network} over that of {check.other} at the last epoch", "a factor", logarithmic=True
    )
    take(table, "network", "run", "epoch", check.column)
    last = table[table["epoch"] == epoch_at(table, 1.0)]
    parts = [by_run(of_network(last, name), check.column, name) for name in (check.network, check.other)]
    both = pd.concat(parts, axis=1, join="inner").to_numpy(dtype=float)
    known = int(np.isfinite(both).all(axis=1).sum())
    if known < least_runs or known < max(map(len, parts)):
        measured.left_out.append(f"last epoch: {known} runs of each have a value, all and {least_runs} are needed")
        return measured
    with np.errstate(over="ignore"):
        ratio = np.exp(_log_ratio(both[:, 0], both[:, 1], check.column))
    measured.add("last epoch", ratio[0], ratio[1:], known)
    return measured


def _compare_at(
    grid: np.ndarray, check: AtEveryLoss, ratio: bool, table: pd.DataFrame, least_runs: int, measured: Measured
) -> None:
    for other in check.others if len(grid) else []:
        network, comparison = _curves_of_both(table, check.network, other, check.column, grid)
        with np.errstate(over="ignore", invalid="ignore"):
            if ratio:
                effects = np.exp(_log_ratio(network, comparison, check.column))
            else:
                effects = replicate_means(network) - replicate_means(comparison)
        counts = ~np.isnan(network)
        for position, loss in enumerate(grid):
            where, runs = f"{other}, loss {loss:.3g}", int(counts[:, position].sum())
            if runs < least_runs:
                measured.left_out.append(f"{where}: {runs} runs have a value, {least_runs} are needed")
            else:
                measured.add(where, effects[0, position], effects[1:, position][counts[:, position]], runs)


def _common_losses(
    network: str, others: list[str], table: pd.DataFrame, least_runs: int, count: int, measured: Measured
) -> np.ndarray:
    """``count`` losses, descending, over the range that enough runs of all networks pass through; possibly none."""
    take(table, "network", "run", "epoch", "loss")
    if (table["loss"] <= 0).any():
        raise ResauditError(f"column loss has {table['loss'].min():.3g}; a logarithmic axis needs losses above zero")
    starts, ends = [], []
    for name in (network, *others):
        curves = [descending(run, "loss")[0] for _, run in of_network(table, name).groupby("run")]
        passed = [losses for losses in curves if len(losses)]
        if len(passed) < least_runs:
            measured.left_out.append(f"{name}: {len(passed)} runs have a loss, {least_runs} are needed")
            return np.empty(0)
        starts.append(sorted((losses[0] for losses in passed), reverse=True)[least_runs - 1])
        ends.append(sorted(losses[-1] for losses in passed)[least_runs - 1])
    if not max(ends) < min(starts):
        measured.left_out.append(f"no loss that {least_runs} runs of every network pass through")
        return np.empty(0)
    grid = np.geomspace(min(starts), max(ends), count)
    # Rounding must not put the ends just outside.
    grid[0], grid[-1] = min(starts), max(ends)
    return grid


def _curves_of_both(
    table: pd.DataFrame, network: str, other: str, column: str, grid: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A column of two networks at the losses of the grid, in the runs that both have, each of shape (runs, losses).

    NaN in both where it is not known of one.
    """
    take(table, column)
    curves = [_curves(of_network(table, name), column, grid) for name in (network, other)]
    runs = sorted(curves[0].keys() & curves[1].keys())
    here, there = (np.array([part[run] for run in runs]).reshape(len(runs), len(grid)) for part in curves)
    unknown = np.isnan(here) | np.isnan(there)
    return np.where(unknown, np.nan, here), np.where(unknown, np.nan, there)


def _curves(rows: pd.DataFrame, column: str, grid: np.ndarray) -> dict[int, np.ndarray]:
    """By run, the column at the losses of the grid; NaN where it is not known."""
    rows = rows.assign(**{column: values_of(rows, column)})
    return {int(str(run)): interpolate(grid, *descending(part, column)) for run, part in rows.groupby("run")}


def _log_ratio(network: np.ndarray, other: np.ndarray, column: str) -> np.ndarray:
    """Logarithm of the ratio of geometric means, with its replicates; shape (1 + runs, …)."""
    here, there = (replicate_means(logarithm(values, column)) for values in (network, other))
    with np.errstate(invalid="ignore"):
        return np.asarray(here - there)
