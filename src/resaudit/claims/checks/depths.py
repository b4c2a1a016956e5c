"""Checks of how a quantity changes with depth."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from resaudit.claims.checks.measured import Effect, Measured, add_ratio, effect_of
from resaudit.claims.checks.rows import (
    at_tied_rates,
    by_run,
    by_values,
    epoch_at,
    logarithms,
    not_near,
    of_network,
    rows_with,
    take,
    words,
)
from resaudit.figures.curves import slope
from resaudit.plan.bounded import Depth
from resaudit.plan.claim import Check, Names, Selected, Share

if TYPE_CHECKING:
    import pandas as pd


class RatioAcrossDepths(Check, name="ratio_across_depths"):
    """Ratio of a quantity at each depth to that at the first or the previous depth.

    Attributes:
        networks: the networks, each measured separately.
        column: the quantity; a negative value is refused, an infinite one leaves its depth out.
        reference: the depth in the denominator.
        epochs: shares of the training at which the quantity is compared, for tables with an epoch.
        depths: the depths to compare; empty: all.
    """

    reads = ("network", "depth", "run")
    networks: Names
    column: str
    reference: Literal["first", "previous"] = "first"
    epochs: list[Share] = []
    depths: list[Depth] = []

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of geometric means over runs, of each depth to the first or the previous one."""
        to = "at the least depth" if self.reference == "first" else "at the depth before"
        measured = Measured(f"{words(self.column)} over the same {to}", "ratio", logarithmic=True)
        shares: list[float | None] = list(self.epochs) or [None]
        for network in self.networks:
            rows = of_network(take(table, "depth", "run", self.column), network)
            rows = rows[rows["depth"].isin(self.depths)] if self.depths else rows
            for share in shares if len(rows) else []:
                epoch = None if share is None else epoch_at(rows, share)
                if share is not None and epoch is None:
                    measured.missing.append(f"{network}, {not_near(rows, share)}")
                    continue
                place = network if epoch is None else f"{network}, epoch {epoch}"
                logs = _tied_logs(rows, epoch, self.column, network, least_runs, measured)
                depths = sorted(logs)
                if len(depths) < 2:
                    measured.missing.append(f"{place}: {len(depths)} of the two depths that a ratio needs")
                for before, depth in pairwise(depths):
                    reference = depths[0] if self.reference == "first" else before
                    where = f"{place}, depth {depth:g} over {reference:g}"
                    add_ratio(measured, where, logs[depth], logs[reference], least_runs, of_logarithms=True)
        return measured


def _tied_logs(
    rows: "pd.DataFrame", epoch: int | None, column: str, network: str, least_runs: int, measured: Measured
) -> "dict[float, list[pd.Series]]":
    """Logarithms by depth, at the learning rate shown, then at those tied with it."""
    tied: dict[float, list[pd.Series]] = {}
    for _, of_depth in rows.groupby("depth"):
        rates = at_tied_rates(of_depth)
        shown, *others = rates if epoch is None else [rate[rate["epoch"] == epoch] for rate in rates]
        for depth, logs in _logs(shown, column, "depth", network, least_runs, measured).items():
            tied[depth] = [logs, *(logarithms(by_run(other, column, network), column) for other in others)]
    return tied


class GrowthExponent(Check, name="growth_exponent"):
    """Exponent b of a quantity ~ depth^b, by least squares over a span of depths.

    Attributes:
        networks: the networks, each measured separately; empty: the table is not about networks.
        column: the quantity; a negative value is refused, an infinite one leaves its place out.
        by: the column used as depth.
        rows: values that select rows, by column.
        per: columns; each combination of their values is measured separately.
        span: the depths of one exponent: each step to the next depth, all depths, or the last step.
    """

    networks: list[str] = []
    column: str
    by: str = "depth"
    rows: Selected = {}
    per: list[str] = []
    span: Literal["each", "overall", "last"] = "each"

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Exponent b of a quantity ~ depth^b (geometric means over runs), step by step or overall."""
        what = self.rows.get("property", words(self.column))
        measured = Measured(f"exponent of the growth with {words(self.by)} of: {what}", "exponent")
        for name, rows in self._pieces(table):
            logs = _logs(rows, self.column, self.by, name, least_runs, measured)
            if len(logs) < 2:
                where = f"{name}, {words(self.by)}".lstrip(", ")
                measured.missing.append(f"{where}: {len(logs)} of the two that a growth needs")
            places, steps = tuple(sorted(logs)), list(pairwise(sorted(logs)))
            spans: dict[str, list[tuple[float, ...]]] = {"each": [*steps], "overall": [places], "last": [*steps[-1:]]}
            for span in spans[self.span] if steps else []:
                where = f"{name}, {words(self.by)} {span[0]:g} to {span[-1]:g}".lstrip(", ")
                paired = "run" not in rows or self.by != "depth"
                growth = self._growth(span, [logs[place] for place in span], paired)
                if measured.has_enough(where, growth.runs, least_runs, "runs are in all of them"):
                    # A single draw of a construction is exact; a single run has an unknown spread.
                    exact = growth.runs == 1 and "run" not in rows
                    measured.add_tied(where, [replace(growth, replicates=()) if exact else growth])
        return measured

    def _growth(self, span: Sequence[float], logs: "list[pd.Series]", paired: bool) -> Effect:
        """The exponent over a span: runs of other depths are other networks, a draw or a run's layers are the same."""
        import pandas as pd

        if not paired:
            return effect_of(partial(_slope, span), *(each.to_numpy() for each in logs))
        return effect_of(partial(slope, np.log(span)), pd.concat(logs, axis=1, join="inner").to_numpy())

    def _pieces(self, table: "pd.DataFrame") -> "list[tuple[str, pd.DataFrame]]":
        """Groups of rows to measure separately, by name: each network, or each combination of values."""
        take(table, self.column, self.by, *self.rows, *self.per, by=(*self.rows, *self.per))
        table = rows_with(table, self.rows)
        if self.networks:
            return [(name, of_network(table, name)) for name in self.networks]
        return by_values(table, self.per) if self.per and not table.empty else [("", table)]


class GrowthDifference(Check, name="growth_difference"):
    """Exponent of one network's growth with depth minus another's, over the depths at which both are known.

    Attributes:
        network: the network whose exponent counts positively.
        other: the network whose exponent is subtracted.
        column: the quantity; a negative value is refused, an infinite one leaves the comparison out.
    """

    reads = ("network", "depth", "run")
    network: str
    other: str
    column: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Difference of two networks' overall exponents."""
        measured = Measured(
            f"exponent of growth of the {words(self.column)} with depth, {self.network} minus {self.other}",
            "difference of exponents",
        )
        take(table, "depth", "run", self.column)
        logs = {
            name: _logs(of_network(table, name), self.column, "depth", name, least_runs, measured)
            for name in (self.network, self.other)
        }
        common = sorted(set(logs[self.network]) & set(logs[self.other]))
        if len(common) < 2:
            measured.missing.append(f"{len(common)} depths at which both are known, 2 are needed")
            return measured
        every = [part[depth].to_numpy() for part in logs.values() for depth in common]

        def difference(*means: np.ndarray) -> np.ndarray:
            return np.asarray(_slope(common, *means[: len(common)]) - _slope(common, *means[len(common) :]))

        measured.add_tied(f"depth {common[0]:g} to {common[-1]:g}", [effect_of(difference, *every)])
        return measured


def _logs(
    rows: "pd.DataFrame", column: str, by: str, network: str, least_runs: int, measured: Measured
) -> "dict[float, pd.Series]":
    """Logarithms by depth. A depth with an unknown run is excluded, since the known ones are the smaller ones."""
    logs = {}
    for place, of_depth in rows.groupby(by):
        depth = float(str(place))
        where = f"{network}, {words(by)} {depth:g}".lstrip(", ")
        values = by_run(of_depth, column, where)
        unknown = int(values.isna().sum())
        if unknown:
            measured.excluded.append(f"{where}: {unknown} of {len(values)} runs beyond double precision")
        elif measured.has_enough(where, len(values), least_runs):
            logs[depth] = logarithms(values, column)
    return logs


def _slope(depths: Sequence[float], *logs: np.ndarray) -> np.ndarray:
    """Least-squares slope of mean logarithms, an array for each depth, against log depth."""
    return slope(np.log(depths), np.array(np.stack(np.broadcast_arrays(*logs), axis=-1)))
