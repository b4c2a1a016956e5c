"""Proposition 16 of "Importance of Shortcut Connections", checked at many sizes and draws."""

from dataclasses import dataclass
from typing import Any

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.shortcut_importance.reduced.measured import Checked, Sizes

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_STEP = 8e-5
SECONDS_PER_INPUT = 2.5e-8
"""A number that is drawn for the Monte Carlo."""


@dataclass(frozen=True)
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors."""

    kind = "proposition"
    files = {"checked.npz": Checked}

    sizes: Sizes
    seed: int

    @property
    def stem(self) -> str:
        """Its number."""
        return "proposition-16"

    def cost(self, execution: Execution) -> Cost:
        """In proportion to steps and inputs."""
        sizes = self.sizes
        steps = len(sizes.patches) * len(sizes.filter_sizes) * sizes.steps
        inputs = sum(sizes.patches) * sum(sizes.filter_sizes) * sizes.samples
        seconds = sizes.draws * (SECONDS_PER_STEP * steps + SECONDS_PER_INPUT * inputs)
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_START)

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.shortcut_importance.reduced.verification import check

        return {"checked.npz": check(self.sizes, self.seed)}
