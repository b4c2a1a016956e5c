"""Lemma B.1 of "Identity Matters in Deep Learning", checked by construction at many sizes and draws."""

from dataclasses import dataclass
from typing import Any

from resaudit.paper import Cost, Job, Work
from residual.identity_matters.relu.measured import LemmaChecked, LemmaSizes


@dataclass(frozen=True)
class Lemma(Job):
    """One block for each size and draw."""

    kind = "lemma"
    stem = "lemma-b1"
    files = {"checked.npz": LemmaChecked}
    typical = Cost(5.0, 650.0)

    sizes: LemmaSizes  # widths, margins, constants, draws
    seed: int  # the seed of all draws

    def run(self, work: Work) -> dict[str, Any]:
        from residual.identity_matters.relu.lemma import check_lemma

        return {"checked.npz": check_lemma(self.sizes, self.seed)}
