"""Checks of any quantity at the end of training, each network at its best learning rate."""

from typing import TYPE_CHECKING

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rates import COLUMNS, by_depth, sweep_of
from resaudit.claims.checks.ratios import add_ratio
from resaudit.claims.checks.rows import not_negative, of_network, take, words
from resaudit.plan.check import Check, Depth

if TYPE_CHECKING:
    import pandas as pd


class EndRatio(Check, name="end_ratio"):
    """Ratio of a network's mean quantity at the end of training to another's, depth by depth.

    Each network is taken at its best learning rate of those tried, that of the least mean of the quantity. Rates beyond
    the grid are no part of the comparison.

    Attributes:
        network: in the numerator.
        other: in the denominator.
        column: the quantity, of which less is better.
        depths: to compare at; empty: all.
    """

    reads = (*COLUMNS, "step")
    network: str
    other: str
    column: str
    depths: list[Depth] = []

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """Ratio of mean values at the last step."""
        measured = Measured(
            f"{words(self.column)} of {self.network} over that of {self.other} when training ends",
            "ratio",
            logarithmic=True,
            arithmetic=True,
        )
        last = table[take(table, "step")["step"] == table["step"].max()]
        ends = not_negative(take(last, *COLUMNS, self.column), self.column)
        for depth, rows in by_depth(ends[ends["depth"].isin(self.depths)] if self.depths else ends, "all"):
            above, below = (
                sweep_of(of_network(rows, name), name, depth, self.column, least_runs, measured)
                for name in (self.network, self.other)
            )
            if above and below:
                add_ratio(measured, f"depth {depth}", above.finals(), below.finals(), least_runs)
        return measured
