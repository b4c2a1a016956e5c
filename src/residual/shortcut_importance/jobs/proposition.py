"""Proposition 16 of "Importance of Shortcut Connections", checked at many sizes and draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import ERROR, LIMIT, Tolerance
from residual.shortcut_importance.reduced.measured import Checked, Sizes

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_STEP = 8e-5
SECONDS_PER_INPUT = 2.5e-8
"""A number that is drawn for the Monte Carlo."""


@dataclass(frozen=True)
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors.

    Attributes:
        sizes: k, p, draws, samples and steps.
        seed: of all draws.
    """

    kind: ClassVar[str] = "proposition"
    files: ClassVar[tuple[str, ...]] = ("checked.npz",)
    arrays: ClassVar[Mapping[str, str]] = {
        "checked.npz": "property:U patches:i8 filter_size:i8 draw:i8 error tolerance",
    }

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

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {"error": ERROR, "tolerance": LIMIT}

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.shortcut_importance.reduced.verification import check

        return {"checked.npz": check(self.sizes, self.seed)}

    def read(self, results: Path) -> Checked:
        """The checks; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "checked.npz", Checked)
