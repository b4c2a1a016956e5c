"""Maps R factored as in Theorem 2.1 of "Identity Matters in Deep Learning", and with the smallest norms found."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.data.whiten import Whiten
from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.identity_matters.linear.measured import Factored, Factorizations

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_FACTOR = 2e-5
SECONDS_PER_STEP_AND_FACTOR = 1.2e-4
"""Of a search, whose steps are those at all sharpnesses."""
SEARCHES = 18
"""Starts times sharpnesses."""


@dataclass(frozen=True)
class Factorize(Job):
    """The maps of one kind."""

    kind = "factorize"
    files = {"factored.npz": Factored}

    data: Whiten  # whose least-squares map is one of the maps
    family: str  # of linear.targets.FAMILIES
    sizes: Factorizations  # widths, depths and draws
    seed: int  # of all draws

    @property
    def stem(self) -> str:
        """The kind of maps."""
        return self.family

    def cost(self, execution: Execution) -> Cost:
        """In proportion to factors, and to the steps of the searches."""
        sizes = self.sizes
        factors = 2 * sizes.draws * len(sizes.widths) * sum(sizes.depths)
        searched = SEARCHES * sizes.iterations * len(sizes.searched_widths) * sum(sizes.searched_depths)
        seconds = SECONDS_PER_FACTOR * factors + SECONDS_PER_STEP_AND_FACTOR * searched
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_START)

    def reads(self, results: Path) -> list[Path]:
        """The moments."""
        return self.data.written(results, "moments.npz")

    def run(self, work: Work) -> dict[str, Any]:
        """Factor; raises ResauditError as :meth:`resaudit.data.whiten.Whiten.moments`."""
        from residual.identity_matters.linear.factoring import factored

        real = self.data.moments(work.results).optimal_map
        return {"factored.npz": factored(self.family, self.sizes, self.seed, real)}
