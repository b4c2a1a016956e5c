"""Checks of how a quantity changes with depth."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.ratios import add_ratio
from resaudit.claims.checks.rows import at_tied_rates, by_run, epoch_at, logarithms, of_network, take
from resaudit.claims.intervals import replicate_means
from resaudit.ledger import GrowthDifference, GrowthExponent, RatioAcrossDepths, Reference, Span

Logs = Mapping[float, pd.Series]
"""By depth: natural logarithms of a quantity, by run."""


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
            place = network if epoch is None else f"{network}, epoch {epoch}"
            logs = _tied_logs(rows, epoch, check.column, network, least_runs, measured)
            depths = sorted(logs)
            if len(depths) < 2:
                measured.left_out.append(f"{place}: {len(depths)} of the two depths that a ratio needs")
            for before, depth in pairwise(depths):
                reference = depths[0] if check.reference is Reference.first else before
                where = f"{place}, depth {depth:g} over {reference:g}"
                add_ratio(measured, where, logs[depth], logs[reference], least_runs, of_logarithms=True)
    return measured


def _tied_logs(
    rows: pd.DataFrame, epoch: int | None, column: str, network: str, least_runs: int, measured: Measured
) -> dict[float, list[pd.Series]]:
    """Logarithms by depth, at the learning rate shown and then at those tied with it."""
    tied: dict[float, list[pd.Series]] = {}
    for _, of_depth in rows.groupby("depth"):
        shown, *others = (part if epoch is None else part[part["epoch"] == epoch] for part in at_tied_rates(of_depth))
        for depth, logs in _logs(shown, column, "depth", network, least_runs, measured).items():
            tied[depth] = [logs, *(logarithms(by_run(part, column, network), column) for part in others)]
    return tied


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
            where = f"{name}, {_words(check.by)} {span[0]:g} to {span[-1]:g}".lstrip(", ")
            every = _of_common_runs([logs[place] for place in span], where, least_runs, measured)
            if every is not None:
                slope = _slope(span, every)
                measured.add(where, slope[0], slope[1:] if len(every) > 1 else None, len(every))
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
    if len(common) < 2:
        measured.left_out.append(f"{len(common)} depths at which both are known, 2 are needed")
        return measured
    where = f"depth {common[0]:g} to {common[-1]:g}"
    every = _of_common_runs([part[depth] for part in logs.values() for depth in common], where, least_runs, measured)
    if every is not None:
        with np.errstate(invalid="ignore"):
            difference = _slope(common, every[:, : len(common)]) - _slope(common, every[:, len(common) :])
        measured.add(where, difference[0], difference[1:], len(every))
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
) -> dict[float, pd.Series]:
    """Logarithms by depth. A depth with an unknown run is left out: those known would be the smaller ones."""
    logs = {}
    for place, part in rows.groupby(by):
        depth = float(str(place))
        where = f"{network}, {_words(by)} {depth:g}".lstrip(", ")
        values = by_run(part, column, where)
        if values.isna().any():
            measured.left_out.append(
                f"{where}: {int(values.isna().sum())} of {len(values)} runs beyond double precision"
            )
        elif len(values) < least_runs:
            measured.left_out.append(f"{where}: {len(values)} runs, {least_runs} are needed")
        else:
            logs[depth] = logarithms(values, column)
    return logs


def _of_common_runs(parts: list[pd.Series], where: str, least_runs: int, measured: Measured) -> np.ndarray | None:
    """The runs that all parts have, shape (runs, parts); None, and said so, where they are too few."""
    common = pd.concat(parts, axis=1, join="inner").to_numpy()
    if len(common) < least_runs:
        measured.left_out.append(f"{where}: {len(common)} runs are in all of them, {least_runs} are needed")
        return None
    return common


def _slope(depths: list[float], logs: np.ndarray) -> np.ndarray:
    """Least-squares slope of mean logarithms (runs, depths) against log depth, with its replicates; (1 + runs,)."""
    centred = np.log(depths) - np.mean(np.log(depths))
    with np.errstate(invalid="ignore"):
        return np.asarray(replicate_means(logs) @ centred / np.sum(centred**2))


def _words(column: str) -> str:
    return column.replace("_", " ")
