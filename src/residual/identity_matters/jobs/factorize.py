"""Maps R factored as in Theorem 2.1 of "Identity Matters in Deep Learning", and with the smallest norms found."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.paper import Cost, Job, Whiten, Work
from residual.identity_matters.linear.measured import Factored, Factorizations


@dataclass(frozen=True)
class Factorize(Job):
    """The maps of one kind."""

    kind = "factorize"
    files = {"factored.npz": Factored}
    typical = Cost(5.0, 650.0)

    data: Whiten  # data whose least-squares map is one of the maps
    family: str  # kind of maps, of linear.targets.FAMILIES
    sizes: Factorizations  # widths, depths and draws
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        return self.family

    def reads(self, results: Path) -> list[Path]:
        return self.data.written(results, "moments.npz")

    def run(self, work: Work) -> dict[str, Any]:
        from residual.identity_matters.linear.factorization import factored

        real = self.data.moments(work.results).optimal_map
        return {"factored.npz": factored(self.family, self.sizes, self.seed, real)}
