"""A theorem, or a step of its proof, checked by construction at many sizes and draws."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.paper import Cost, Execution, Job, Whiten, Work
from residual.demystifying_resnet.theory.records import RECORDS, Cases, Measurements, Record

# Measured as those of training.
SECONDS_PER_NETWORK = {1: 0.01, 2: 0.03, 3: 0.04, 4: 0.1, 5: 0.25}
SECONDS_PER_UNIT_BUILT = 1e-4
MEGABYTES_TO_VERIFY = 850.0


@dataclass(frozen=True)
class Theorem(Job):
    """One theorem."""

    kind = "theorem"
    files = {"measurements.npz": Measurements}

    data: Whiten  # real samples
    statement: str  # theorem_1, theorem_2, sphere_path or zero_hessians
    cases: Cases  # sizes and draws

    @property
    def stem(self) -> str:
        """The statement."""
        return self.statement.replace("_", "-")

    @property
    def points(self) -> int | None:
        """Those of a path; how many rows other statements have, only the checks decide."""
        return self.cases.steps[0] + 1 if self.statement == "sphere_path" else None

    def holds(self, file: str) -> type[Any]:
        """The statement's record."""
        record: type[Any] = RECORDS[self.statement]
        return record

    def cost(self, execution: Execution) -> Cost:
        """On random and on real data; above depth 5 each further layer of a shortcut doubles the cost."""
        cases = self.cases
        sizes = 2 * cases.draws * len(cases.widths) * len(cases.samples_per_class)
        networks = sizes * len(cases.units) * max(1, len(cases.activations))
        differentiated = sum(
            SECONDS_PER_NETWORK[min(n, 5)] * 2.0 ** max(0, n - 5) * networks for n in cases.shortcut_depths
        )
        built = 0
        if self.statement == "theorem_1":
            built = 2 * cases.draws * sum(cases.widths) * sum(cases.samples_per_class) * sum(cases.steps)
        return Cost(Cost.START.seconds + differentiated + SECONDS_PER_UNIT_BUILT * built, MEGABYTES_TO_VERIFY)

    def reads(self, results: Path) -> list[Path]:
        """Samples and moments."""
        return self.data.written(results, "samples.npz", "moments.npz")

    def run(self, work: Work) -> dict[str, Any]:
        """Measure the theorem in double precision on the CPU."""
        from resaudit.paper import Progress
        from residual.demystifying_resnet.theory import checks

        real = checks.RealData(
            self.data.data.dataset.name, self.data.samples(work.results), self.data.moments(work.results)
        )
        record: Record
        if self.statement == "sphere_path":
            record = checks.find_detour(self.cases, real)
        elif self.statement == "zero_hessians":
            record = checks.zero_hessians(self.cases, real.moments)
        else:
            check = {"theorem_1": checks.check_theorem_1, "theorem_2": checks.check_theorem_2}[self.statement]
            record = check(self.cases, real, lambda draws: Progress.over(draws, f"{self.id} draws"))
        return {"measurements.npz": record}
