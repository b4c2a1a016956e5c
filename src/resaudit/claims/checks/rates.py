"""Checks of final losses and best learning rates (Figures 7 and 8).

The loss is that at the rate which is best over all runs; the best rate is chosen anew without each run.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import not_negative, of_network, take
from resaudit.claims.intervals import replicate_means
from resaudit.errors import ResauditError
from resaudit.ledger import (
    BestRateKept,
    BestRateRatio,
    Depths,
    FinalExcess,
    FinalLossAcrossDepths,
    FinalLossRatio,
    SpreadOverRates,
)

EPS = float(np.finfo(float).eps)
COLUMNS = ("network", "depth", "learning_rate", "run", "final_loss")


@dataclass(frozen=True)
class Best:
    """Mean final loss, or its distance to the optimum, at the best rate, and that rate; shape (1 + runs,).

    Over all runs first, then without each. Where every rate has a run that diverged, the loss is infinite and the rate
    NaN.
    """

    loss: np.ndarray
    rate: np.ndarray
    runs: int


def final_excess(check: FinalExcess, table: pd.DataFrame, least_runs: int) -> Measured:
    """How far the mean final loss lies above the optimal one, relative to it."""
    measured = Measured(
        "mean final loss at the best rate above the optimal loss, as a share of it",
        "a share",
        logarithmic=True,
        arithmetic=True,
    )
    table = take(_finals(table), "optimal_loss")
    for network in check.networks:
        for depth, rows in _by_depth(of_network(table, network), check.depths):
            optimum = _optimum(rows)
            best = _best(rows, network, depth, least_runs, measured, optimum)
            if best:
                excess = best.loss / optimum if optimum > 0 else np.full_like(best.loss, np.nan)
                measured.add(f"{network}, depth {depth}", excess[0], excess[1:], best.runs)
    return measured


def final_loss_ratio(check: FinalLossRatio, table: pd.DataFrame, least_runs: int) -> Measured:
    """Others' mean final loss, or its distance to the optimum, over the network's."""
    what = "distance of the mean final loss to the optimum" if check.excess else "mean final loss"
    measured = Measured(
        f"{what}, the other network's over that of {check.network}", "a factor", logarithmic=True, arithmetic=True
    )
    table = take(_finals(table), *(["optimal_loss"] if check.excess else []))
    for other in check.others:
        for depth, rows in _by_depth(table, check.depths):
            optimum = _optimum(rows) if check.excess else 0.0
            above, below = (
                _best(part, name, depth, least_runs, measured, optimum)
                for part, name in _of_common_runs(rows, other, check.network)
            )
            _add_ratio(measured, f"{other}, depth {depth}", above, below, optimum)
    return measured


def final_loss_across_depths(check: FinalLossAcrossDepths, table: pd.DataFrame, least_runs: int) -> Measured:
    """The network's mean final loss at each depth over that at the depth before."""
    measured = Measured(
        f"mean final loss of {check.network} over the same at the depth before",
        "a factor",
        logarithmic=True,
        arithmetic=True,
    )
    parts = list(_by_depth(of_network(_finals(table), check.network), Depths.all))
    if len(parts) < 2:
        _say_depths(measured, len(parts))
    for (shallower, before), (depth, rows) in pairwise(parts):
        before, rows = before[before["run"].isin(rows["run"])], rows[rows["run"].isin(before["run"])]
        _add_ratio(
            measured,
            f"depth {depth} over {shallower}",
            _best(rows, check.network, depth, least_runs, measured),
            _best(before, check.network, shallower, least_runs, measured),
        )
    return measured


def best_rate_ratio(check: BestRateRatio, table: pd.DataFrame, least_runs: int) -> Measured:
    """The network's best rate over the others', at each depth."""
    measured = Measured(f"best learning rate of {check.network} over the other network's", "a factor", logarithmic=True)
    table = _finals(table)
    for other in check.others:
        for depth, rows in _by_depth(table[table["depth"] >= check.from_depth], Depths.all):
            both = _of_common_runs(rows, check.network, other)
            pair = [_best(part, name, depth, least_runs, measured) for part, name in both]
            _add_rate_ratio(measured, f"{other}, depth {depth}", *pair)
    return measured


def best_rate_kept(check: BestRateKept, table: pd.DataFrame, least_runs: int) -> Measured:
    """The network's best rate at the greatest depth over that at the least."""
    measured = Measured(
        f"best learning rate of {check.network} at the greatest depth over that at the least",
        "a factor",
        logarithmic=True,
    )
    parts = list(_by_depth(of_network(_finals(table), check.network), Depths.all))
    if len(parts) > 1:
        (most, deep), (least, shallow) = parts[-1], parts[0]
        ends = [(most, deep[deep["run"].isin(shallow["run"])]), (least, shallow[shallow["run"].isin(deep["run"])])]
        pair = [_best(rows, check.network, depth, least_runs, measured) for depth, rows in ends]
        _add_rate_ratio(measured, f"depth {ends[0][0]} over {ends[1][0]}", *pair)
    else:
        _say_depths(measured, len(parts))
    return measured


def spread_over_rates(check: SpreadOverRates, table: pd.DataFrame, least_runs: int) -> Measured:
    """Largest over least mean final loss of all networks and rates, at one depth."""
    measured = Measured(
        "largest over least mean final loss of all rates and networks", "a factor", logarithmic=True, arithmetic=True
    )
    finals = _finals(table)
    at_depth = finals[finals["depth"] == check.depth]
    means = []
    shared = set.intersection(*(set(of_network(at_depth, network)["run"]) for network in check.networks))
    for network in check.networks:
        rows = of_network(at_depth, network)
        rows = rows[rows["run"].isin(shared)]
        losses, _ = _sweep(rows, f"{network}, depth {check.depth}", measured)
        if len(losses) < least_runs:
            measured.left_out.append(f"{network}, depth {check.depth}: {len(losses)} runs, {least_runs} are needed")
            return measured
        means.append(replicate_means(losses))
        runs = len(losses)
    every = np.concatenate(means, axis=1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        spread = every.max(axis=1) / every.min(axis=1)
    measured.add(f"depth {check.depth}", spread[0], spread[1:], runs)
    return measured


def _add_ratio(measured: Measured, where: str, above: Best | None, below: Best | None, optimum: float = 0.0) -> None:
    """Of distances to an optimum, those that rounding leaves of it count as its rounding error."""
    if not (above and below):
        return
    floor = 4 * EPS * optimum
    if floor and max(above.loss[0], below.loss[0]) <= floor:
        measured.left_out.append(f"{where}: both are at the optimum, as far as double precision can tell")
        return
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.maximum(above.loss, floor) / np.maximum(below.loss, floor)
    measured.add(where, ratio[0], ratio[1:], min(above.runs, below.runs))


def _say_depths(measured: Measured, there: int) -> None:
    measured.left_out.append(f"{there} of the two depths that a ratio needs")


def _add_rate_ratio(measured: Measured, where: str, above: Best | None, below: Best | None) -> None:
    if above and below:
        ratio = above.rate / below.rate
        measured.add(where, ratio[0], ratio[1:], min(above.runs, below.runs))


def _optimum(rows: pd.DataFrame) -> float:
    return float(rows["optimal_loss"].iloc[0])


def _finals(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each run and rate with its final loss; of a table with epochs, the last one."""
    if "final_loss" not in table and {"epoch", "loss"} <= set(table):
        last = table[table["epoch"] == table["epoch"].max()]
        table = last.rename(columns={"loss": "final_loss"})
    return not_negative(take(table, *COLUMNS), "final_loss")


def _of_common_runs(rows: pd.DataFrame, *networks: str) -> list[tuple[pd.DataFrame, str]]:
    """The rows of each network, of the runs that all of them have, with its name."""
    parts = [of_network(rows, name) for name in networks]
    shared = set.intersection(*(set(part["run"]) for part in parts))
    return [(part[part["run"].isin(shared)], name) for part, name in zip(parts, networks, strict=True)]


def _by_depth(table: pd.DataFrame, depths: Depths) -> Iterator[tuple[int, pd.DataFrame]]:
    every = sorted(table["depth"].unique())
    for depth in every if depths is Depths.all else every[-1:]:
        yield int(depth), table[table["depth"] == depth]


def _best(
    rows: pd.DataFrame, network: str, depth: int, least_runs: int, measured: Measured, optimum: float = 0.0
) -> Best | None:
    """Of the rates that were tried, the one of the least mean final loss, the lower one in a tie.

    Raises:
        ResauditError: a loss lies below the optimum.
    """
    losses, rates = _sweep(rows, f"{network}, depth {depth}", measured)
    if len(losses) < least_runs:
        measured.left_out.append(f"{network}, depth {depth}: {len(losses)} runs, {least_runs} are needed")
        return None
    if (losses - optimum < -1e-9 * optimum).any():
        raise ResauditError(f"column final_loss has {losses.min():.6g}, below the optimal loss {optimum:.6g}")
    # The optimum is taken off before the mean, whose rounding could fall below it.
    means = replicate_means(np.maximum(losses - optimum, 0.0))
    chosen = rates[means.argmin(axis=1)]
    return Best(means[:, means[0].argmin()], np.where(np.isfinite(means.min(axis=1)), chosen, np.nan), len(losses))


def _sweep(rows: pd.DataFrame, where: str, measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """Final losses (runs, rates), infinite where a run diverged, and the rates, ascending, that every run tried."""
    wide = rows.pivot_table(index="run", columns="learning_rate", values="final_loss", dropna=False)
    for rate in wide.columns[wide.isna().any()]:
        measured.left_out.append(f"{where}, rate {rate:.3g}: not every run tried it")
    wide = wide.dropna(axis="columns")
    return (wide if wide.shape[1] else wide.iloc[:0]).to_numpy(), wide.columns.to_numpy()
