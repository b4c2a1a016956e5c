"""Eq. 2.3 of "Identity Matters in Deep Learning" at random points, or where a search tries to break it."""

from dataclasses import dataclass
from typing import Any

from resaudit.paper import Cost, Execution, Job, Work
from residual.identity_matters.linear.measured import Dominated, Points

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_LAYER = 1.5e-4
"""For a point, or a step of a search."""


@dataclass(frozen=True)
class Dominance(Job):
    """Both sides of the inequality, and the gradient against automatic differentiation."""

    kind = "dominance"
    files = {"dominated.npz": Dominated}

    points: Points  # widths, depths, radii and draws
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        return "searched" if self.points.iterations else "random"

    @property
    def rows(self) -> int:
        """Points or searches."""
        points = self.points
        return len(points.widths) * len(points.depths) * len(points.radii) * points.draws

    def cost(self, execution: Execution) -> Cost:
        """In proportion to layers and steps."""
        points = self.points
        layers = points.draws * len(points.widths) * len(points.radii) * sum(points.depths)
        return Cost(Cost.START.seconds + SECONDS_PER_LAYER * layers * (1 + points.iterations), Cost.START.megabytes)

    def run(self, work: Work) -> dict[str, Any]:
        from residual.identity_matters.linear.dominance import dominated

        return {"dominated.npz": dominated(self.points, self.seed)}
