"""Checks of how a quantity changes with depth."""

from collections.abc import Hashable, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import epoch_at, logarithm, of_network, take, values_of
from resaudit.claims.resampling import resampled_means
from resaudit.errors import ResauditError
from resaudit.ledger import GrowthDifference, GrowthExponent, RatioAcrossDepths, Reference, Span

Logs = Mapping[float, np.ndarray]
"""By depth, or by what stands for it: natural logarithms of a quantity, shape (runs,)."""


def ratio_across_depths(check: RatioAcrossDepths, table: pd.DataFrame, least_runs: int) -> Measured:
    """Ratio of geometric means over runs, of each depth to the first or the previous one."""
    to = "at the least depth" if check.reference is Reference.first else "at the depth before"
    measured = Measured(f"{_words(check.column)} over the same {to}", "a factor", logarithmic=True)
    shares: list[float | None] = list(check.epochs) or [None]
    for network in check.networks:
        rows = of_network(take(table, "depth", "run", check.column), network)
        rows = rows[rows["depth"].isin(check.depths)] if check.depths else rows
        for share in shares if len(rows) else []:
            epoch = None if share is None else epoch_at(rows, share)
            at_epoch = rows if epoch is None else rows[rows["epoch"] == epoch]
            logs = _logs(at_epoch, check.column, "depth", network, least_runs, measured)
            place = network if epoch is None else f"{network}, epoch {epoch}"
            depths = sorted(logs)
            if len(depths) < 2:
                measured.left_out.append(f"{place}: {len(depths)} of the two depths that a ratio needs")
            for before, depth in pairwise(depths):
                reference = depths[0] if check.reference is Reference.first else before
                here, there = (resampled_means(logs[d], f"{place} {d}") for d in (depth, reference))
                with np.errstate(invalid="ignore", over="ignore"):
                    ratio = np.exp(here - there)
                runs = min(len(logs[depth]), len(logs[reference]))
                measured.add(f"{place}, depth {depth} over {reference}", ratio[0], ratio[1:], runs)
    return measured


def growth_exponent(check: GrowthExponent, table: pd.DataFrame, least_runs: int) -> Measured:
    """Exponent b of a quantity ~ depth^b (geometric means over runs), step by step or overall."""
    what = check.rows.get("property", _words(check.column))
    measured = Measured(f"exponent of the growth with {_words(check.by)} of: {what}", "an exponent")
    for name, rows in _parts(check, table):
        logs = _logs(rows, check.column, check.by, name, least_runs, measured)
        if len(logs) < 2:
            where = f"{name}, {_words(check.by)}".lstrip(", ")
            measured.left_out.append(f"{where}: {len(logs)} of the two that a growth needs")
        for span in _spans(sorted(logs), check.span):
            slope = _slope({place: logs[place] for place in span}, name)
            where = f"{name}, {_words(check.by)} {span[0]} to {span[-1]}".lstrip(", ")
            runs = min(len(logs[place]) for place in span)
            measured.add(where, slope[0], slope[1:] if runs > 1 else None, runs)
    return measured


def growth_difference(check: GrowthDifference, table: pd.DataFrame, least_runs: int) -> Measured:
    """Difference of two networks' overall exponents."""
    measured = Measured(
        f"exponent of growth of the {_words(check.column)} with depth, {check.network} minus {check.other}",
        "a difference of exponents",
    )
    take(table, "depth", "run", check.column)
    logs = {
        name: _logs(of_network(table, name), check.column, "depth", name, least_runs, measured)
        for name in (check.network, check.other)
    }
    common = sorted(set(logs[check.network]) & set(logs[check.other]))
    if len(common) > 1:
        slopes = [_slope({depth: part[depth] for depth in common}, name) for name, part in logs.items()]
        runs = min(len(part[depth]) for part in logs.values() for depth in common)
        with np.errstate(invalid="ignore"):
            difference = slopes[0] - slopes[1]
        measured.add(f"depth {common[0]} to {common[-1]}", difference[0], difference[1:], runs)
    else:
        measured.left_out.append(f"{len(common)} depths at which both are known, 2 are needed")
    return measured


def _parts(check: GrowthExponent, table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """What is measured by itself, with a name: each network, or each combination of values."""
    take(table, check.column, check.by, *check.rows, *check.per)
    for column, wanted in check.rows.items():
        table = table[table[column].astype(str) == wanted]
    if check.networks:
        return [(name, of_network(table, name)) for name in check.networks]
    if not check.per:
        return [("", table)]
    if table.empty:
        return [("", table)]
    return [
        (", ".join(f"{_words(column)} {value}" for column, value in zip(check.per, values, strict=True)), rows)
        for values, rows in table.groupby(check.per, sort=False)
    ]


def _spans(places: list[float], span: Span) -> list[list[float]]:
    if len(places) < 2:
        return []
    steps = [list(pair) for pair in pairwise(places)]
    return {Span.each: steps, Span.overall: [places], Span.last: steps[-1:]}[span]


def _logs(
    rows: pd.DataFrame, column: str, by: str, network: str, least_runs: int, measured: Measured
) -> dict[float, np.ndarray]:
    """Logarithms by depth. A depth with an unknown run is left out: those known would be the smaller ones."""
    logs = {}
    for depth, part in rows.groupby(by):
        values = values_of(part, column)
        where = f"{network}, {_words(by)} {depth}".lstrip(", ")
        if "run" in part and part["run"].duplicated().any():
            raise ResauditError(f"{where} has a run more than once; a table with epochs needs epochs in the check")
        if values.isna().any():
            measured.left_out.append(
                f"{where}: {int(values.isna().sum())} of {len(values)} runs beyond double precision"
            )
        elif len(values) < least_runs:
            measured.left_out.append(f"{where}: {len(values)} runs, {least_runs} are needed")
        else:
            logs[_coordinate(depth)] = logarithm(values.to_numpy(dtype=float), column)
    return logs


def _coordinate(depth: Hashable) -> float:
    """A number as its column has it, a whole one without a point."""
    number = float(str(depth))
    return int(number) if number.is_integer() else number


def _slope(logs: Logs, group: str) -> np.ndarray:
    """Least-squares slope of mean logarithms against log depth, then of resampled ones; shape (1 + draws,)."""
    means = np.stack([resampled_means(part, f"{group} {depth}") for depth, part in logs.items()])
    centred = np.log(list(logs)) - np.mean(np.log(list(logs)))
    with np.errstate(invalid="ignore"):
        return np.asarray(centred @ means / np.sum(centred**2))


def _words(column: str) -> str:
    return column.replace("_", " ")
