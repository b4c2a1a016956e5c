"""Checks of "Sharp scaling factor": one learning rate for all depths, and steps to a loss against depth."""

from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rates import Depths, beyond_the_grid, by_depth, sweep_of
from resaudit.claims.checks.ratios import add_ratio, ratio_of_same_runs
from resaudit.claims.checks.rows import not_negative, of_network, take
from resaudit.figures.sweeps import at_the_end, best_rates, fresh
from resaudit.plan.check import Check, Depth
from residual.stable_scaling.depths import common_rates, steps_to_target

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("network", "depth", "learning_rate", "run", "step", "loss")


class CommonRate(Check, name="common_rate"):
    """Ratio of a network's mean final loss at one learning rate for all depths to that at the best rate of each depth.

    Attributes:
        network: the network to measure.
    """

    network: str

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean final losses at each depth, to those at every rate that may be the depth's best."""
        measured = Measured(
            f"mean final loss of {self.network} at one rate for all depths over that at the depth's best rate",
            "ratio",
            logarithmic=True,
            arithmetic=True,
        )
        rows = of_network(not_negative(take(table, *COLUMNS), "loss"), self.network)
        common = common_rates(rows) if len(rows) else ()
        if not common:
            measured.missing.append(f"{self.network}: no learning rate at which every run stays finite at every depth")
        for depth, of_depth in by_depth(at_the_end(rows), "all") if common else ():
            found = sweep_of(of_depth, self.network, depth, "loss", least_runs, measured)
            if found:
                pairs = product((found.at(rate) for rate in common), found.finals())
                effects = [ratio_of_same_runs(above, below) for above, below in pairs]
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
    depths: Depths = "all"

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
            depth: [_steps_at(of_depth, rate) for rate in common or _best_rates(of_depth)]
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


def _steps_at(rows: "pd.DataFrame", rate: float) -> "pd.Series":
    """Steps to the target of the runs that are measured, at a rate, which is the series' name."""
    at_rate = fresh(rows)
    return steps_to_target(at_rate[at_rate["learning_rate"] == rate]).rename(rate)


def _best_rates(rows: "pd.DataFrame") -> tuple[float, ...]:
    return next(iter(best_rates(at_the_end(rows), "loss").values())).order


def _open_ends(
    where: str, above: "list[pd.Series]", below: "list[pd.Series]", last: float, measured: Measured
) -> tuple[float, ...]:
    """The ends of a ratio that are open, as a run that does not reach the loss needs more than its ``last`` step."""
    ends: list[float] = []
    for which, rates, end in (("the depth", above, np.inf), ("the least depth", below, 0.0)):
        short = max(int(np.isinf(rate).sum()) for rate in rates)
        if short:
            measured.excluded.append(f"{where}: at {which}, up to {short} runs need more than {last:g} steps")
            ends.append(end)
    return tuple(ends)
