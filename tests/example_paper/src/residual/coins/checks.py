"""Checks of "A Note on Coins"."""

import pandas as pd

from resaudit.paper import Check, Measured


class DistanceToBias(Check, name="distance_to_bias"):
    """Distance between the share of heads and their probability."""

    def measure(self, table: pd.DataFrame, least_runs: int) -> Measured:
        """At every bias with enough tosses."""
        measured = Measured("distance of the share of heads to their probability", "probability")
        for bias, rows in table.groupby("bias"):
            if len(rows) >= least_runs:
                measured.add(f"bias {bias}", abs(rows["heads"].mean() - bias), None, len(rows))
        return measured
