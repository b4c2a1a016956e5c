"""Checks of learning rates and of losses at the best ones; of one rate for all depths, and the steps to a loss."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from resaudit.base.text import counted
from resaudit.claims.checks.measured import (
    UNKNOWN,
    Effect,
    Measured,
    add_ratio,
    choice_of_rates,
    diverged,
    effect_of,
    in_words,
    ratio_of_same_runs,
)
from resaudit.claims.checks.rows import not_negative, of_network, take, words
from resaudit.claims.checks.sweeps import Sweep, beyond_the_grid, open_ends, sweep_of
from resaudit.figures.curves import steps_to_target
from resaudit.figures.rates import LEVEL
from resaudit.figures.sweeps import at_the_end, common_rates, fresh, screened
from resaudit.plan.bounded import Depth
from resaudit.plan.claim import Check, Names

if TYPE_CHECKING:
    import pandas as pd

WhichDepths = Literal["all", "last"]
"""Every depth, or the greatest one."""
COLUMNS = ("network", "depth", "learning_rate", "run")
ERROR_RATE = 1 - LEVEL
"""Of all sets of tied rates of one check together (Bonferroni)."""


class FinalExcess(Check, name="final_excess"):
    """Excess of the mean final loss at the best rate over the optimal loss, relative to the latter.

    It lies between zero and the excess at the start, and its interval, on a linear scale, does too.

    Attributes:
        networks: the networks to measure, each by itself.
        depths: the depths to measure at: all of the table, or the last.
    """

    reads = (*COLUMNS, "excess_loss", "optimal_loss", "initial_loss")
    networks: Names
    depths: WhichDepths = "all"

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Mean final excess loss relative to the optimal loss."""
        table = take(_finals(table, "excess_loss"), "optimal_loss", "initial_loss")
        start = float((table["initial_loss"] / table["optimal_loss"] - 1).max())
        measured = Measured(
            "mean final loss at the best rate above the optimal loss, as a share of it",
            "share",
            arithmetic=True,
            bounds=(0.0, start),
        )
        for network in self.networks:
            for depth, rows in by_depth(of_network(table, network), self.depths):
                optimum = float(rows["optimal_loss"].iloc[0])
                sweep = sweep_of(rows, network, depth, "excess_loss", least_runs, measured)
                if optimum == 0.0:
                    measured.missing.append(f"{network}, depth {depth}: the optimal loss is zero, it has no shares")
                elif sweep:
                    ends, finals = open_ends(sweep, None, measured, start), sweep.finals()
                    if measured.has_enough(sweep.where, min(map(len, finals)), least_runs):
                        effects = [
                            effect_of(np.asarray, losses.to_numpy() / optimum, choice=choice_of_rates(losses))
                            for losses in finals
                        ]
                        effects = [replace(effect, reaching=ends) for effect in effects]
                        measured.add_tied(sweep.where, effects + beyond_the_grid([sweep], measured))
        return measured


class FinalLossRatio(Check, name="final_loss_ratio"):
    """Ratio of other networks' mean final loss at their best rate to a network's.

    Attributes:
        network: the network in the denominator.
        others: the networks in the numerator.
        depths: the depths to compare at.
        excess: whether to compare excess losses.
    """

    reads = COLUMNS
    network: str
    others: Names
    depths: WhichDepths = "all"
    excess: bool = True

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean final losses or mean excess losses."""
        what = "distance of the mean final loss to the optimum" if self.excess else "mean final loss"
        measured = _ratio_of_means(f"{what}, the other network's over that of {self.network}")
        column = "excess_loss" if self.excess else "final_loss"
        table = _finals(table, column)
        for other in self.others:
            for depth, rows in by_depth(table, self.depths):
                above, below = _sweeps(rows, (other, self.network), depth, column, least_runs, measured)
                _add_ratio(measured, f"{other}, depth {depth}", above, below, least_runs)
        return measured


class FinalLossPairs(Check, name="final_loss_pairs"):
    """Share of the pairs of runs in which another network ends a factor further from the optimum than a network.

    Every run of one network is paired with every run of the other, each at its best rate. The interval is the exact
    binomial one of as many pairs as the network with fewer runs has: all pairs together vary no more (Birnbaum and
    Klose 1957). A pair of diverged runs does not count towards the share, nor one of two runs at zero.

    Attributes:
        network: the network that ends nearer.
        others: the networks that end further away, each by itself.
        factor: how many times further.
        depths: the depths to compare at.
        excess: whether to compare excess losses.
    """

    reads = COLUMNS
    network: str
    others: Names
    factor: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    depths: WhichDepths = "all"
    excess: bool = True

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Share of pairs, at every pair of tied rates."""
        what = "distance of the final loss to the optimum" if self.excess else "final loss"
        measured = Measured(
            f"share of pairs of runs whose {what} is at least {self.factor:g} times that of {self.network}",
            "share",
            bounds=(0.0, 1.0),
        )
        column = "excess_loss" if self.excess else "final_loss"
        table = _finals(table, column)
        for other in self.others:
            for depth, rows in by_depth(table, self.depths):
                above, below = _sweeps(rows, (other, self.network), depth, column, least_runs, measured)
                where = f"{other}, depth {depth}"
                if not (above and below):
                    continue
                finals = above.finals(), below.finals()
                if measured.has_enough(where, min(map(len, chain(*finals))), least_runs):
                    ends = open_ends(above, below, measured, most=1.0)
                    shares = [replace(_share(*pair, self.factor), reaching=ends) for pair in product(*finals)]
                    measured.add_tied(where, [*shares, *beyond_the_grid([above, below], measured)])
        return measured


class EndRatio(Check, name="end_ratio"):
    """Ratio of a network's mean quantity at the end of training to another's, depth by depth.

    Each network is taken at its best learning rate of those tried, that of the least mean of the quantity. Rates beyond
    the grid are no part of the comparison.

    Attributes:
        network: the network in the numerator.
        other: the network in the denominator.
        column: the quantity, of which less is better; a negative value is refused, an infinite one is a diverged run.
        depths: the depths to compare at; empty: all.
    """

    reads = (*COLUMNS, "step")
    network: str
    other: str
    column: str
    depths: list[Depth] = []

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean values at the last step."""
        measured = _ratio_of_means(
            f"{words(self.column)} of {self.network} over that of {self.other} when training ends"
        )
        last = table[take(table, "step")["step"] == table["step"].max()]
        ends = not_negative(take(last, *COLUMNS, self.column), self.column)
        for depth, rows in by_depth(ends[ends["depth"].isin(self.depths)] if self.depths else ends, "all"):
            above, below = _sweeps(rows, (self.network, self.other), depth, self.column, least_runs, measured)
            if above and below:
                reaching = open_ends(above, below, measured)
                add_ratio(measured, f"depth {depth}", above.finals(), below.finals(), least_runs, reaching=reaching)
        return measured


class FinalLossAcrossDepths(Check, name="final_loss_across_depths"):
    """Ratio of a network's mean final loss at its best rate at each depth to that at the previous depth.

    Attributes:
        network: the network to measure.
    """

    reads = COLUMNS
    network: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean final losses at consecutive depths."""
        measured = _ratio_of_means(f"mean final loss of {self.network} over the same at the depth before")
        table = of_network(_finals(table, "final_loss"), self.network)
        sweeps = {
            depth: sweep_of(rows, self.network, depth, "final_loss", least_runs, measured)
            for depth, rows in by_depth(table, "all")
        }
        if len(sweeps) < 2:
            measured.missing.append(f"{len(sweeps)} of the two depths that a ratio needs")
        for before, depth in pairwise(sweeps):
            _add_ratio(measured, f"depth {depth} over {before}", sweeps[depth], sweeps[before], least_runs)
        return measured


class BestRateRatio(Check, name="best_rate_ratio"):
    """Ratio of a network's best learning rate to the others', from ``from_depth`` on.

    Attributes:
        network: the network in the numerator.
        others: the networks in the denominator, each by itself.
        from_depth: the least depth that is measured.
    """

    about_divergence = True
    reads = COLUMNS
    network: str
    others: Names
    from_depth: Depth = 1

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of best rates at each depth."""
        measured = _of_rates(f"best learning rate of {self.network} over the other network's")
        table, column = _ranked(table)
        deep = list(by_depth(table[table["depth"] >= self.from_depth], "all"))
        sweeps = {
            (name, depth): sweep_of(of_network(rows, name), name, depth, column, least_runs, measured)
            for name in (self.network, *self.others)
            for depth, rows in deep
        }
        for other, (depth, _) in product(self.others, deep):
            pair = sweeps[self.network, depth], sweeps[other, depth]
            _add_rate_ratio(measured, f"{other}, depth {depth}", *pair, sweeps=len(sweeps))
        return measured


class BestRateKept(Check, name="best_rate_kept"):
    """Ratio of a network's best learning rates at the greatest and the least depth.

    Attributes:
        network: the network to measure.
    """

    about_divergence = True
    reads = COLUMNS
    network: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of the best rates at the greatest and the least depth."""
        measured = _of_rates(f"best learning rate of {self.network} at the greatest depth over that at the least")
        table, column = _ranked(table)
        depths = dict(by_depth(of_network(table, self.network), "all"))
        if len(depths) < 2:
            measured.missing.append(f"{len(depths)} of the two depths that a ratio needs")
            return measured
        least, *_, most = depths
        above, below = (
            sweep_of(depths[depth], self.network, depth, column, least_runs, measured) for depth in (most, least)
        )
        _add_rate_ratio(measured, f"depth {most} over {least}", above, below, sweeps=2)
        return measured


class SpreadOverRates(Check, name="spread_over_rates"):
    """Ratio of the largest to the least mean final loss over all networks and learning rates at one depth.

    Means are of the runs that do not diverge; :class:`ShareDiverged` measures how many do.

    Attributes:
        networks: the networks, measured together.
        depth: the depth of all networks.
        rates_up_to: the largest rate that counts.
    """

    on_screening = True
    reads = COLUMNS
    networks: Names
    depth: Depth
    rates_up_to: Annotated[float, Field(gt=0)] | None = None

    @property
    def parts(self) -> list[str]:
        """None: all networks are one measurement."""
        return []

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of the largest to the least mean final loss; missing if all runs diverge at a rate."""
        measured = _ratio_of_means("largest over least mean final loss of all rates and networks")
        sweeps = _at_every_rate(self, table, least_runs, measured)

        def spread(*means: np.ndarray) -> np.ndarray:
            most, least = [each.max(axis=1) for each in means], [each.min(axis=1) for each in means]
            largest, smallest = (np.broadcast_arrays(*ends) for ends in (most, least))
            return np.asarray(np.maximum.reduce(largest) / np.minimum.reduce(smallest))

        known = [sweep.losses for sweep in sweeps if sweep]
        if len(known) == len(sweeps):
            finite = (np.where(np.isfinite(losses), losses, np.nan) for losses in known)
            effect = replace(effect_of(spread, *finite), diverged=diverged(*known))
            measured.add_tied(f"depth {self.depth}", [effect])
        return measured


class ShareDiverged(Check, name="share_diverged"):
    """Share of the runs of each network that diverge, at each learning rate, at one depth.

    Attributes:
        networks: the networks, each measured separately.
        depth: the depth of all networks.
        rates_up_to: the largest rate that counts.
    """

    about_divergence = on_screening = True
    reads = COLUMNS
    networks: Names
    depth: Depth
    rates_up_to: Annotated[float, Field(gt=0)] | None = None

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """The share of each network and rate, with its exact interval."""
        measured = Measured("share of the runs that diverge", "share", bounds=(0.0, 1.0))
        for network, sweep in zip(self.networks, _at_every_rate(self, table, least_runs, measured), strict=True):
            for rate, losses in zip(sweep.rates, sweep.losses.T, strict=True) if sweep else ():
                measured.add_share(f"{network}, rate {rate:.3g}", diverged(losses))
        return measured


def _at_every_rate(
    check: SpreadOverRates | ShareDiverged, table: "pd.DataFrame", least_runs: int, measured: Measured
) -> list[Sweep | None]:
    """The screening of each network: where every rate counts, nothing is chosen."""
    finals = _finals(table, "final_loss")
    largest = np.inf if check.rates_up_to is None else check.rates_up_to
    rows = screened(finals[(finals["depth"] == check.depth) & (finals["learning_rate"] <= largest)])
    return _sweeps(rows, check.networks, check.depth, "final_loss", least_runs, measured)


def _ratio_of_means(meaning: str) -> Measured:
    return Measured(meaning, "ratio", logarithmic=True, arithmetic=True)


def _of_rates(meaning: str) -> Measured:
    """A measurement of best rates: exact effects that range over the tied rates, not means over runs."""
    return Measured(meaning, "ratio", logarithmic=True, spread="over the rates that may be best")


def _share(above: "pd.Series", below: "pd.Series", factor: float) -> Effect:
    """In what share of pairs one loss is at least a factor above the other, counted as so many pairs as fewer runs."""
    one, other = above.to_numpy()[:, None], below.to_numpy()
    apart = (one / factor >= other) & (one > other)
    share, runs = int(apart.sum()) / apart.size, min(apart.shape)
    infinite = diverged(above.to_numpy(), below.to_numpy())
    return Effect(share, (), runs, choice_of_rates(above, below), counted=((runs * share, runs),), diverged=infinite)


def _add_ratio(measured: Measured, where: str, above: Sweep | None, below: Sweep | None, least_runs: int) -> None:
    """Add the ratio of mean losses at every pair of tied rates."""
    if above and below:
        beyond, ends = beyond_the_grid([above, below], measured), open_ends(above, below, measured)
        add_ratio(measured, where, above.finals(), below.finals(), least_runs, further=beyond, reaching=ends)


def _add_rate_ratio(measured: Measured, where: str, above: Sweep | None, below: Sweep | None, sweeps: int) -> None:
    """Add the ratio of best rates at every pair of tied ones; a network that trains at no rate has the best rate 0."""
    if above and below:
        measured.add_tied(
            where,
            _rate_ratios(above, below, sweeps, measured),
            lambda number: _rate_ratios(above.again(number), below.again(number), sweeps, _of_rates("a rerun")),
        )


def _rate_ratios(above: Sweep, below: Sweep, sweeps: int, measured: Measured) -> list[Effect]:
    """The ratios of every pair of tied rates."""
    level = 1 - ERROR_RATE / sweeps
    runs = min(len(above.runs), len(below.runs))
    # Where the loss is only bounded, the best rate is at most one that the screening left.
    ends = open_ends(below, above, measured)
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = [
            Effect(float(np.float64(one) / other), (), runs, in_words(one, other), ends)
            for one, other in product(*(sweep.order(level) or (0.0,) for sweep in (above, below)))
        ]
    for sweep in (above, below):
        if sweep.is_at_edge(level):
            measured.excluded.append(f"{sweep.where}: a rate at the edge of the grid is tied for the best")
            effects.append(UNKNOWN)
    return effects


def _ranked(table: "pd.DataFrame") -> "tuple[pd.DataFrame, str]":
    """Final losses, and the column that ranks rates: the excess loss, which has more digits, if the table has it."""
    column = "excess_loss" if "excess_loss" in table else "final_loss"
    return _finals(table, column), column


def _finals(table: "pd.DataFrame", column: str) -> "pd.DataFrame":
    """One row per run and rate with its final loss; from a table with epochs or steps, the last one."""
    time = "step" if "step" in table else "epoch"
    if "final_loss" not in table and {time, "loss"} <= set(table):
        last = table[table[time] == table[time].max()]
        table = last.rename(columns={"loss": "final_loss"})
    return not_negative(take(table, *COLUMNS, column), column)


def by_depth(table: "pd.DataFrame", depths: WhichDepths) -> "Iterator[tuple[int, pd.DataFrame]]":
    """The rows of each depth, ascending."""
    every = sorted(table["depth"].unique())
    for depth in every if depths == "all" else every[-1:]:
        yield int(depth), table[table["depth"] == depth]


def _sweeps(
    rows: "pd.DataFrame", networks: Sequence[str], depth: int, column: str, least_runs: int, measured: Measured
) -> list[Sweep | None]:
    return [sweep_of(of_network(rows, name), name, depth, column, least_runs, measured) for name in networks]


class CommonRate(Check, name="common_rate"):
    """Ratio of a network's mean final loss at one learning rate for all depths to that at the best other rate.

    At most 1 + x times the loss at every other rate is at most 1 + x times the best. To itself a rate has the ratio 1
    whatever the runs, which would hide that another may be the best. A rate at which any run diverges, fresh or not,
    serves not all depths: the screening chooses among the others.

    Attributes:
        network: the network to measure.
    """

    network: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean final losses at each depth, to those at every rate that may be the best of the others."""
        measured = Measured(
            f"mean final loss of {self.network} at one rate for all depths over that at the depth's best other rate",
            "ratio",
            logarithmic=True,
            arithmetic=True,
        )
        rows = of_network(not_negative(take(table, *COLUMNS, "step", "loss"), "loss"), self.network)
        diverged = rows.loc[np.isinf(rows["loss"]), "learning_rate"]
        common = common_rates(rows[~rows["learning_rate"].isin(diverged)]) if len(rows) else ()
        if not common:
            measured.missing.append(f"{self.network}: no learning rate at which every run stays finite at every depth")
        depths = dict(by_depth(at_the_end(rows), "all")) if common else {}
        for depth, of_depth in depths.items():
            found = sweep_of(of_depth, self.network, depth, "loss", least_runs, measured)
            if not found or not measured.has_enough(found.where, len(found.rates), 2, "learning rates"):
                continue
            without = sorted(set(common) - set(found.rates))
            measured.missing.extend(f"{found.where}, rate {rate:.3g}: no fresh runs" for rate in without)
            if not without:
                effects = [effect for rate in common for effect in _to_the_others(found, rate, len(depths))]
                measured.add_tied(found.where, effects + beyond_the_grid([found], measured))
        return measured


class StepsToLoss(Check, name="steps_to_loss"):
    """Ratio of a network's steps to the target loss at each depth to those at the least depth.

    Attributes:
        network: the network to measure.
        rate: the rate: one learning rate for all depths, or the best one of each depth.
        from_depth: the least depth.
        depths: the depths that are compared with it.
    """

    network: str
    rate: Literal["common", "best"] = "common"
    from_depth: Depth = 2
    depths: WhichDepths = "all"

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of geometric means over runs.

        A run that does not reach the loss counts with its last step, and leaves the ratio open on that side.
        """
        how = "one rate for all depths" if self.rate == "common" else "the best rate of each depth"
        measured = Measured(
            f"steps of {self.network} to the target loss, at {how}, over those at the least depth",
            "ratio",
            logarithmic=True,
        )
        rows = of_network(not_negative(take(table, *COLUMNS, "step", "loss", "target_loss"), "loss"), self.network)
        rows = rows[rows["depth"] >= self.from_depth]
        common = common_rates(rows) if self.rate == "common" and len(rows) else ()
        steps = {
            depth: [
                _steps_at(of_depth, rate) for rate in common or self._best_rates(of_depth, depth, least_runs, measured)
            ]
            for depth, of_depth in by_depth(rows, "all")
        }
        if len(steps) < 2 or not all(steps.values()):
            measured.missing.append(f"{self.network}: fewer than two depths, or no rate at which every run is finite")
            return measured
        first, *others = steps
        last = float(rows["step"].max())
        for depth in others if self.depths == "all" else others[-1:]:
            where, above, below = f"{self.network}, depth {depth} over {first}", steps[depth], steps[first]
            reaching = _open_ends(where, above, below, last, measured)
            above, below = ([np.log(rate.clip(upper=last)) for rate in rates] for rates in (above, below))
            add_ratio(measured, where, above, below, least_runs, True, reaching=reaching, at_equal_rates=bool(common))
        return measured

    def _best_rates(self, rows: "pd.DataFrame", depth: int, least_runs: int, measured: Measured) -> tuple[float, ...]:
        found = sweep_of(at_the_end(rows), self.network, depth, "loss", least_runs, measured)
        return found.choice().order if found else ()


def _to_the_others(found: Sweep, rate: float, sweeps: int) -> list[Effect]:
    """Ratios of the mean at a rate to those at each rate that may be the best of the others; paired runs.

    The choices of all ``sweeps`` share the error rate (Bonferroni).
    """
    others = found.rates != rate
    # No screening left just these: where each has a diverged run, its mean is infinite.
    rivals = replace(found, rates=found.rates[others], losses=found.losses[:, others], trains=False)
    return [ratio_of_same_runs(found.at(rate), rival) for rival in rivals.finals(1 - ERROR_RATE / sweeps)]


def _steps_at(rows: "pd.DataFrame", rate: float) -> "pd.Series":
    """Steps to the target of the runs that are measured, at a rate, which is the series' name."""
    at_rate = fresh(rows)
    return steps_to_target(at_rate[at_rate["learning_rate"] == rate]).rename(rate)


def _open_ends(
    where: str, above: "list[pd.Series]", below: "list[pd.Series]", last: float, measured: Measured
) -> tuple[float, ...]:
    """The ends of a ratio that are open, as a run that does not reach the loss needs more than its ``last`` step."""
    ends: list[float] = []
    for which, rates, end in (("the depth", above, np.inf), ("the least depth", below, 0.0)):
        short = max(int(np.isinf(rate).sum()) for rate in rates)
        if short:
            measured.excluded.append(
                f"{where}: at {which}, up to {counted(short, 'run')} not there after {last:g} steps"
            )
            ends.append(end)
    return tuple(ends)
