"""Checks of one learning rate for all depths, and of the steps to a loss against depth."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from resaudit.base.text import counted
from resaudit.claims.checks.measured import Effect, Measured
from resaudit.claims.checks.rates import ERROR_RATE, WhichDepths, by_depth
from resaudit.claims.checks.ratios import add_ratio, ratio_of_same_runs
from resaudit.claims.checks.rows import not_negative, of_network, take
from resaudit.claims.checks.sweeps import Sweep, beyond_the_grid, sweep_of
from resaudit.figures.curves import steps_to_target
from resaudit.figures.sweeps import at_the_end, common_rates, fresh
from resaudit.plan.bounded import Depth
from resaudit.plan.check import Check

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("network", "depth", "learning_rate", "run", "step", "loss")


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
        rows = of_network(not_negative(take(table, *COLUMNS), "loss"), self.network)
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
        rows = of_network(not_negative(take(table, *COLUMNS, "target_loss"), "loss"), self.network)
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
