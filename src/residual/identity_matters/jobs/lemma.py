"""Lemma B.1 of "Identity Matters in Deep Learning", checked by construction at many sizes and draws."""

from dataclasses import dataclass
from typing import Any

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.identity_matters.relu.measured import LemmaChecked, LemmaSizes

SECONDS_PER_ENTRY = 5e-7
"""An entry of a block's weights, in one draw; measured on the machine of benchmarks/RESULTS.md."""


@dataclass(frozen=True)
class Lemma(Job):
    """One block for each size and draw."""

    kind = "lemma"
    files = {"checked.npz": LemmaChecked}

    sizes: LemmaSizes  # widths, margins, constants, draws
    seed: int  # of all draws

    @property
    def stem(self) -> str:
        """Its number."""
        return "lemma-b1"

    def cost(self, execution: Execution) -> Cost:
        """In proportion to the entries."""
        sizes = self.sizes
        blocks = len(sizes.constants) * len(sizes.margins) * sizes.draws * (1 + sizes.others)
        seconds = SECONDS_PER_ENTRY * blocks * sum(k * k for k in sizes.widths)
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_START)

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.identity_matters.relu.lemma import check_lemma

        return {"checked.npz": check_lemma(self.sizes, self.seed)}
