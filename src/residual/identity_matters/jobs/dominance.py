"""Eq. 2.3 of "Identity Matters in Deep Learning" at random points, or where a search tries to break it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import ERROR, Tolerance
from residual.identity_matters.linear.measured import Dominated, Points

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_LAYER = 1.5e-4
"""Of a point, or of a step of a search."""


@dataclass(frozen=True)
class Dominance(Job):
    """Both sides of the inequality, and the gradient against automatic differentiation.

    Attributes:
        points: widths, depths, radii and draws.
        seed: of all draws.
    """

    kind: ClassVar[str] = "dominance"
    files: ClassVar[tuple[str, ...]] = ("dominated.npz",)
    arrays: ClassVar[Mapping[str, str]] = {
        "dominated.npz": "width:i8 depth:i8 radius draw:i8 log_ratio error tolerance rounding",
    }

    points: Points
    seed: int

    @property
    def stem(self) -> str:
        """Whether a search ran."""
        return "searched" if self.points.iterations else "random"

    @property
    def known_sizes(self) -> dict[str, int]:
        """A row for each point or search."""
        points = self.points
        return {"rows": len(points.widths) * len(points.depths) * len(points.radii) * points.draws}

    def cost(self, execution: Execution) -> Cost:
        """In proportion to layers and steps."""
        points = self.points
        layers = points.draws * len(points.widths) * len(points.radii) * sum(points.depths)
        return Cost(SECONDS_TO_START + SECONDS_PER_LAYER * layers * (1 + points.iterations), MEGABYTES_TO_START)

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {
            "log_ratio": Tolerance(absolute=1e-4, differing=0.1, rounding="rounding"),
            "error": ERROR,
            "tolerance": Tolerance(relative=1e-3, differing=0.1),
            "rounding": Tolerance(relative=1e-3, absolute=1e-9, differing=0.1),
        }

    def run(self, work: Work) -> dict[str, Any]:
        """Evaluate."""
        from residual.identity_matters.linear.dominance import dominated

        return {"dominated.npz": dominated(self.points, self.seed)}

    def read(self, results: Path) -> Dominated:
        """The points; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "dominated.npz", Dominated)
