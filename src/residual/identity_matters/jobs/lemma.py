"""Lemma B.1 of "Identity Matters in Deep Learning", checked by construction at many sizes and draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import ERROR, LIMIT, Tolerance
from residual.identity_matters.relu.measured import LemmaChecked, LemmaSizes


@dataclass(frozen=True)
class Lemma(Job):
    """One block for each size and draw.

    Attributes:
        sizes: widths, margins, constants, draws.
        seed: of all draws.
    """

    kind: ClassVar[str] = "lemma"
    files: ClassVar[tuple[str, ...]] = ("checked.npz",)
    typical: ClassVar[Cost] = Cost(5.0, 650.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "checked.npz": "property:U constant width:i8 margin draw:i8 error tolerance",
    }

    sizes: LemmaSizes
    seed: int

    @property
    def stem(self) -> str:
        """Its number."""
        return "lemma-b1"

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {"error": ERROR, "tolerance": LIMIT}

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.identity_matters.relu.lemma import check_lemma

        return {"checked.npz": check_lemma(self.sizes, self.seed)}

    def read(self, results: Path) -> LemmaChecked:
        """The checks; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "checked.npz", LemmaChecked)
