"""Proposition 16 of "Importance of Shortcut Connections", checked at many sizes and draws."""

from dataclasses import dataclass
from typing import Any

from resaudit.jobs.job import Cost, Job, Work
from residual.shortcut_importance.reduced.measured import Checked, Sizes


@dataclass(frozen=True)
class Proposition(Job):
    """The closed forms against Monte Carlo, automatic differentiation and full vectors."""

    kind = "proposition"
    files = {"checked.npz": Checked}
    typical = Cost(5.0, 620.0)

    sizes: Sizes
    seed: int

    @property
    def stem(self) -> str:
        """Its number."""
        return "proposition-16"

    def run(self, work: Work) -> dict[str, Any]:
        """Check."""
        from residual.shortcut_importance.reduced.verification import check

        return {"checked.npz": check(self.sizes, self.seed)}
