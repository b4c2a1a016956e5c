"""Maps R factored as in Theorem 2.1 of "Identity Matters in Deep Learning", and with the smallest norms found."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.data.whiten import Whiten
from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import CLOSE, ERROR, LIMIT, Tolerance
from residual.identity_matters.linear.measured import Factored, Factorizations


@dataclass(frozen=True)
class Factorize(Job):
    """The maps of one kind.

    Attributes:
        data: whose least-squares map is one of the maps.
        family: of :data:`residual.identity_matters.linear.targets.FAMILIES`.
        sizes: widths, depths and draws.
        seed: of all draws.
    """

    kind: ClassVar[str] = "factorize"
    files: ClassVar[tuple[str, ...]] = ("factored.npz",)
    typical: ClassVar[Cost] = Cost(5.0, 650.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "factored.npz": "method:U width:i8 draw:i8 depth:i8 gamma norm paper whole least error tolerance",
    }

    data: Whiten
    family: str
    sizes: Factorizations
    seed: int

    @property
    def stem(self) -> str:
        """The kind of maps."""
        return self.family

    def reads(self, results: Path) -> list[Path]:
        """The moments."""
        return self.data.written(results, "moments.npz")

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {
            # With other instructions norms of factors were at most 1e-12 apart, those of searches 0.1 %.
            "norm": Tolerance(relative=0.05, rows=("method", "search"), others=Tolerance(relative=1e-9), chaotic=True),
            # An orthogonal map has gamma 0, up to rounding.
            **dict.fromkeys(("gamma", "paper", "whole", "least"), CLOSE),
            "tolerance": LIMIT,
            "error": ERROR,
        }

    def run(self, work: Work) -> dict[str, Any]:
        """Factor; raises ResauditError as :meth:`resaudit.data.whiten.Whiten.moments`."""
        from residual.identity_matters.linear.factoring import factored

        real = self.data.moments(work.results).optimal_map
        return {"factored.npz": factored(self.family, self.sizes, self.seed, real)}

    def read(self, results: Path) -> Factored:
        """The factorizations; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "factored.npz", Factored)
