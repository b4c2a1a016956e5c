"""Checks of what lies along training as a function of the loss, and at its end (Figures 5 and 6)."""

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import epoch_at, logarithm, of_network, take, values_of
from resaudit.claims.resampling import resampled_means
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
    )
    grid = _common_losses(check.network, check.others, table, least_runs, check.losses, measured)
    _compare_at(grid, check, ratio, table, least_runs, measured)
    return measured


def large_against_small_loss(check: LargeAgainstSmallLoss, table: pd.DataFrame, least_runs: int) -> Measured:
    """The ratio of geometric means at the largest common loss over that at the smallest."""
    what = check.column.replace("_", " ")
    measured = Measured(
        f"{what} of {check.network} over the other network's: this ratio at the largest loss over that at the smallest",
        "a factor",
        logarithmic=True,
    )
    grid = _common_losses(check.network, check.others, table, least_runs, 2, measured)
    for other in check.others if len(grid) else []:
        network, comparison = (_curves(table, name, check.column, grid) for name in (check.network, other))
        runs = min(np.isfinite(network).sum(axis=0).min(), np.isfinite(comparison).sum(axis=0).min())
        if runs < least_runs:
            measured.left_out.append(f"{other}: {runs} runs have a value at both ends, {least_runs} are needed")
            continue
        logs = _log_ratio(network, comparison, check.network, other, check.column)
        with np.errstate(invalid="ignore", over="ignore"):
            change = np.exp(logs[:, 0] - logs[:, 1])
        measured.add(f"{other}, loss {grid[0]:.3g} against {grid[-1]:.3g}", change[0], change[1:], int(runs))
    return measured


def at_the_end(check: AtTheEnd, table: pd.DataFrame, least_runs: int) -> Measured:
    """Ratio of geometric means over runs at the last epoch."""
    what = check.column.replace("_", " ")
    measured = Measured(
        f"{what} of {check.network} over that of {check.other} at the last epoch", "a factor", logarithmic=True
    )
    take(table, "network", "run", "epoch", check.column)
    last = table[table["epoch"] == epoch_at(table, 1.0)]
    network, other = (
        values_of(of_network(last, name), check.column).to_numpy() for name in (check.network, check.other)
    )
    known = min(int(np.isfinite(values).sum()) for values in (network, other))
    if known < least_runs or known < max(len(network), len(other)):
        measured.left_out.append(f"last epoch: {known} runs of each have a value, all and {least_runs} are needed")
        return measured
    logs = _log_ratio(network[:, None], other[:, None], check.network, check.other, check.column)[:, 0]
    with np.errstate(over="ignore"):
        ratio = np.exp(logs)
    measured.add("last epoch", ratio[0], ratio[1:], known)
    return measured


def _compare_at(
    grid: np.ndarray, check: AtEveryLoss, ratio: bool, table: pd.DataFrame, least_runs: int, measured: Measured
) -> None:
    for other in check.others if len(grid) else []:
        network, comparison = (_curves(table, name, check.column, grid) for name in (check.network, other))
        if ratio:
            with np.errstate(over="ignore"):
                effects = np.exp(_log_ratio(network, comparison, check.network, other, check.column))
        else:
            with np.errstate(invalid="ignore"):
                effects = resampled_means(network, check.network) - resampled_means(comparison, other)
        runs = np.minimum(np.isfinite(network).sum(axis=0), np.isfinite(comparison).sum(axis=0))
        for position, loss in enumerate(grid):
            where = f"{other}, loss {loss:.3g}"
            if runs[position] < least_runs:
                measured.left_out.append(f"{where}: {runs[position]} runs have a value, {least_runs} are needed")
            else:
                measured.add(where, effects[0, position], effects[1:, position], int(runs[position]))


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


def _curves(table: pd.DataFrame, network: str, column: str, grid: np.ndarray) -> np.ndarray:
    """A column of every run at the losses of the grid, shape (runs, losses); NaN where it is not known."""
    rows = of_network(take(table, column), network)
    rows = rows.assign(**{column: values_of(rows, column)})
    return np.array([interpolate(grid, *descending(run, column)) for _, run in rows.groupby("run")])


def _log_ratio(network: np.ndarray, other: np.ndarray, name: str, other_name: str, column: str) -> np.ndarray:
    """Logarithm of the ratio of geometric means, then of resampled ones; shape (1 + draws, losses)."""
    here, there = (
        resampled_means(logarithm(network, column), name),
        resampled_means(logarithm(other, column), other_name),
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(here - there)
