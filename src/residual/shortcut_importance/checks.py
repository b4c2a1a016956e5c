"""A check of "Importance of Shortcut Connections": the two stages of a run."""

from typing import TYPE_CHECKING, Literal

from resaudit.paper import Check, Measured, take

if TYPE_CHECKING:
    import pandas as pd

FOLLOWED = "trajectory"
"""The property of the rows of figure ``theory`` that hold trajectories."""
MEANINGS = {
    "turn": ("share of the filter's whole turn that happens in stage I", "share"),
    "projection": ("a.a*/||a*||^2 at the end of stage I", "projection"),
    "distance": ("distance of a to a* at the end over that at the start", "ratio"),
}


class TwoStages(Check, name="two_stages"):
    """A quantity of each run with warm-up, from its trajectory.

    Attributes:
        quantity: turn of the filter in stage I, projection of a on a* at its end, or distance of a to a* at the end.
    """

    quantity: Literal["turn", "projection", "distance"]

    def measure(self, table: "pd.DataFrame", least_runs: int) -> Measured:
        """One effect a run, which has no spread: a run is determined by its start."""
        measured = Measured(*MEANINGS[self.quantity])
        take(table, "property")
        runs = table[table["property"] == FOLLOWED]
        for draw, run in take(runs, "draw", "step", "stage", "angle", "projection", "distance").groupby("draw"):
            run = run.sort_values("step")
            # The state from which stage II starts is the one at which stage I ends.
            second = run[run["stage"] == 2]
            if second.empty:
                measured.excluded.append(f"run {draw}: it ends before stage I does")
            else:
                first, switch, last = run.iloc[0], second.iloc[0], run.iloc[-1]
                effects = {
                    "turn": abs(switch["angle"] - first["angle"]) / abs(last["angle"] - first["angle"]),
                    "projection": switch["projection"],
                    "distance": last["distance"] / first["distance"],
                }
                measured.add(f"run {draw}", float(effects[self.quantity]), None, 1)
        return measured
