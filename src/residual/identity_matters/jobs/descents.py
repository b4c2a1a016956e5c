"""Gradient descent of linear residual networks from starts of several norms, seen through eq. 2.3."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.paper import Cost, Execution, Job, Whiten, Work
from residual.identity_matters.linear.measured import Descended, Runs

# Measured on the machine of benchmarks/RESULTS.md; a run ends early when it arrives.
SECONDS_PER_STEP_OF_A_LAYER = 6e-6
STEPS_TO_ARRIVE = 50_000
"""Nearly all runs that can arrive have done so by then."""


@dataclass(frozen=True)
class Descents(Job):
    """Runs on the maps of one kind."""

    kind = "descents"
    files = {"descended.npz": Descended}

    data: Whiten  # data whose least-squares map is one of the maps
    target: str  # kind of maps, of linear.descent.TARGETS
    runs: Runs  # depths, starts, draws and steps
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        return self.target.replace(" ", "-")

    def cost(self, execution: Execution) -> Cost:
        """In proportion to runs, layers and steps; memory for the kept weights."""
        runs = self.runs
        starts = len(runs.starts) * runs.draws
        seconds = SECONDS_PER_STEP_OF_A_LAYER * starts * sum(runs.depths) * min(runs.epochs, STEPS_TO_ARRIVE)
        numbers = max(runs.depths) * starts * max(runs.width, 10) ** 2 * runs.kept
        return Cost(Cost.START.seconds + seconds, Cost.START.megabytes + 2 * 8e-6 * numbers)

    def reads(self, results: Path) -> list[Path]:
        return self.data.written(results, "moments.npz")

    def run(self, work: Work) -> dict[str, Any]:
        from residual.identity_matters.linear.descent import descended

        real = self.data.moments(work.results)
        return {"descended.npz": descended(self.target, self.runs, self.seed, real)}
