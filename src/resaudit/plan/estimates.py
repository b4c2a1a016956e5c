"""What jobs cost here, by estimate: built in, or corrected by what ``resaudit calibrate`` measured on this machine."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, TypeVar

from pydantic import Field

from resaudit.base.files import write_json
from resaudit.base.models import Model, read_record
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.plan_files import computing_kinds, kind_named
from resaudit.plan.models import Run
from resaudit.plan.plan import execution_of
from resaudit.runtime.devices import cuda_is_usable
from resaudit.runtime.machine import processor

Key = TypeVar("Key", bound=Hashable)
FILE = "calibration.json"
"""In the folder of results."""
Slowness = dict[str, Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]]
"""Measured seconds over estimated ones, by kind."""


class Calibration(Model):
    """What was measured."""

    machine: str
    """Its processor."""
    when: str
    """Time in UTC, ISO 8601."""
    cpu: Slowness
    """Of one core."""
    cuda: Slowness = {}
    """Of a GPU; empty if there was none."""


@dataclass(frozen=True)
class Estimates:
    """The costs of a run's jobs."""

    execution: Execution  # how they run
    calibration: Calibration | None = None  # of this machine; None: the built-in estimates are not corrected

    @classmethod
    def of(cls, run: Run, execution: Execution | None = None) -> "Estimates":
        """With the calibration in the folder of results, if there is one; ``execution`` default: the run's."""
        file = Path(run.paths.results) / FILE
        found = read_record(file, Calibration, "measure again: resaudit calibrate") if file.is_file() else None
        return cls(execution or execution_of(run), found)

    def cost(self, job: Job) -> Cost:
        """The estimated cost of a job, on one core and on a GPU."""
        cost = job.cost(self.execution)
        return replace(
            cost,
            seconds=cost.seconds * self._slowness("cpu", job.kind),
            gpu_seconds=cost.gpu_seconds * self._slowness("cuda", job.kind),
        )

    def here(self, job: Job) -> Cost:
        """The estimated cost on the device that a job runs on."""
        return self.cost(job).on(self.execution.device)

    @property
    def origin(self) -> str:
        """Where the estimates are from, in words."""
        if self.calibration is None:
            return "built-in estimates; resaudit calibrate measures this machine in two minutes"
        return f"estimates as calibrated on {self.calibration.machine}, {self.calibration.when}"

    def _slowness(self, device: str, kind: str) -> float:
        measured: Slowness = getattr(self.calibration, device) if self.calibration else {}
        return measured.get(kind, _mean(measured.values()))


def calibrate(results: Path, say: Callable[[str], None]) -> None:
    """Measure the kinds that can be, on one core and on a GPU if torch can use one, and write :data:`FILE`."""
    kinds = {name: kind_named(name) for name in computing_kinds()}
    found: dict[str, Slowness] = {}
    for device in ("cpu", "cuda") if cuda_is_usable() else ("cpu",):
        for name, kind in kinds.items():
            ratio = kind.slowness(device)
            if ratio is not None:
                found.setdefault(device, {})[name] = ratio
                say(f"{name} on {device}: {ratio:.2f} times the built-in estimate")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    calibration = Calibration(machine=processor(), when=now, **found)
    write_json(results / FILE, calibration.model_dump())
    say(f"wrote {results / FILE}; estimates and limits of time use it from now on")


def _mean(ratios: Iterable[float]) -> float:
    """The geometric mean; 1 of none.

    >>> _mean([0.25, 4]), _mean([])
    (1.0, 1.0)
    """
    given = list(ratios)
    return geometric_mean(given) if given else 1.0


def duration(jobs: Mapping[Key, tuple[Cost, Collection[Key]]], cores: int, gpus: int = 0) -> float:
    """Estimated seconds: work spread evenly over cores and over GPUs, or the longest chain of jobs if that is longer.

    Args:
        jobs: by key, the cost and the keys of the jobs to wait for; keys without an entry are done.
        cores: number of cores that run jobs.
        gpus: number of GPUs that run the jobs that want one, one job at a time; 0: cores run them.

    >>> duration({"a": (Cost(60, 0), []), "b": (Cost(30, 0), ["a"]), "c": (Cost(10, 0), ["gone"])}, cores=4)
    90.0
    >>> duration({number: (Cost(60, 0, wants_gpu=True), []) for number in range(4)}, cores=4, gpus=1)
    240.0
    """

    @cache
    def end(key: Key) -> float:
        cost, waits = jobs[key]
        return cost.seconds / min(cost.threads, cores) + max((end(k) for k in waits if k in jobs), default=0.0)

    on_gpus = sum(cost.seconds for cost, _ in jobs.values() if gpus and cost.wants_gpu)
    on_cores = sum(cost.seconds for cost, _ in jobs.values()) - on_gpus
    return max(on_cores / cores, on_gpus / max(gpus, 1), *map(end, jobs), 0.0)
