"""Proposition 16 of "Importance of Shortcut Connections", checked at many sizes and draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import ERROR, LIMIT, Tolerance
from residual.shortcut_importance.reduced.measured import Checked, Sizes


@dataclass(frozen=True)
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors.

    Attributes:
        sizes: k, p, draws, samples and steps.
        seed: of all draws.
    """

    kind: ClassVar[str] = "proposition"
    files: ClassVar[tuple[str, ...]] = ("checked.npz",)
    typical: ClassVar[Cost] = Cost(5.0, 620.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "checked.npz": "property:U patches:i8 filter_size:i8 draw:i8 error tolerance",
    }

    sizes: Sizes
    seed: int

    @property
    def stem(self) -> str:
        """Its number."""
        return "proposition-16"

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
