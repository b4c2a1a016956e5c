"""Jobs: values that determine their id, inputs and results folder."""

import hashlib
import json
import re
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from pydantic import BaseModel

from resaudit.base.errors import MachineError, PaperError
from resaudit.jobs.arrays import Array, Tolerance, arrays_in
from resaudit.jobs.results import JobProvenance, read_provenance, read_result

ID_DIGITS = 16
"""Hexadecimal digits of the hash in an id; 64 bits make collisions impractical."""

# As the wildcard `id` of workflow/rules/common.smk.
_STEM = re.compile("[a-z0-9_-]+")

RECORDS = ("settings.json", "provenance.json")
"""Files beside the result files of every job."""

# On a cluster two Snakemake processes of about 125 MB run with each job, and Slurm counts them.
MEGABYTES_OF_SNAKEMAKE = 300.0
MINUTES_TO_START = 5
# Requests exceed the estimates; processors differ more than memory use does.
TIMES_SECONDS = 3.0
TIMES_MEGABYTES = 1.25


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a job."""

    START: ClassVar["Cost"]
    """A job that loads torch, before it has computed anything; measured."""

    seconds: float  # time on one core
    megabytes: float  # memory at the peak
    threads: int = 1  # number of threads that it can use
    wants_gpu: bool = False  # a GPU makes it faster
    gpu_seconds: float = 0.0  # time on one GPU; 0: not estimated
    gpu_megabytes: float = 0.0  # the GPU's memory at the peak; 0: not estimated

    def on(self, device: str) -> "Cost":
        """The cost on the device of jobs that want a GPU; that of the CPU if the GPU's is not estimated.

        >>> Cost(3600, 1000, threads=2, wants_gpu=True, gpu_seconds=60).on("cuda").seconds
        60
        """
        if device == "cuda" and self.wants_gpu and self.gpu_seconds:
            return replace(self, seconds=self.gpu_seconds, threads=1)
        return self

    def megabytes_asked(self, attempt: int = 1) -> int:
        """Memory to request, in MB; it grows in proportion to the attempt.

        >>> Cost(60, 1000).megabytes_asked(), Cost(60, 1000).megabytes_asked(2)
        (1550, 3100)
        """
        return attempt * int(MEGABYTES_OF_SNAKEMAKE + TIMES_MEGABYTES * self.megabytes)

    def minutes_asked(self, attempt: int = 1) -> int:
        """Wall time to request, in minutes; it grows in proportion to the attempt.

        >>> Cost(60, 1000).minutes_asked(), Cost(60, 1000).minutes_asked(2)
        (8, 16)
        """
        return attempt * (MINUTES_TO_START + ceil(TIMES_SECONDS * self.seconds / 60))


Cost.START = Cost(seconds=3.5, megabytes=560.0)


@dataclass(frozen=True)
class Execution:
    """How and where jobs run. Results do not depend on it, so no id contains it."""

    device: str = "cpu"  # ``cpu`` or ``cuda``, for jobs that want a GPU; other jobs run on the CPU
    kernel: str = "auto"  # what trains networks with activations: ``fused``, ``torch`` or ``auto``
    checkpoint_seconds: float = 60.0  # time between two checkpoints


@dataclass
class Work:
    """The context of a running job."""

    results: Path  # folder of all results
    execution: Execution  # settings of its execution
    device: str  # device that computes, as torch names it
    checkpoints: Path  # folder for its checkpoint
    record: dict[str, Any] = field(default_factory=dict)  # the job's own entries in its provenance
    code: str = ""  # hash of its code (:func:`resaudit.jobs.plan_files.code_of`) when the run began

    @property
    def platform(self) -> dict[str, Any]:
        """The CPU platform that computes, with the device's name."""
        from resaudit.runtime.machine import cpu_platform  # NumPy's configuration, which only results need

        return cpu_platform(self.record["device"])

    def require_memory(self, megabytes: float, remedy: str) -> None:
        """Refuse work that would have the process killed without a word."""
        from resaudit.runtime.limits import memory

        if megabytes > (present := memory() / 1e6):
            raise MachineError(f"this needs {megabytes:.0f} MB of memory, and may use {present:.0f} MB here; {remedy}")

    @staticmethod
    @contextmanager
    def delayed_signals() -> Iterator[Callable[[], int | None]]:
        """Delay SIGTERM and SIGINT until the work asks for them; in a thread nothing is delayed, nor can it be.

        Yields:
            A function that returns the signal received, or None.
        """
        received: list[int] = []

        def note(number: int, _frame: FrameType | None) -> None:
            received.append(number)

        in_main = threading.current_thread() is threading.main_thread()
        delayed = (signal.SIGTERM, signal.SIGINT) if in_main else ()
        before = {number: signal.signal(number, note) for number in delayed}
        try:
            yield lambda: received[0] if received else None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(frozen=True)
class Job(ABC):
    """A job. Fields that are jobs are its inputs, the others its settings.

    A field with the metadata ``identity: False`` does not affect the result and is not part of the id.
    """

    kind: ClassVar[str]
    """Name of its rule, its results folder and its log folder; no other kind has it."""
    files: ClassVar[Mapping[str, type[Any]]] = {}
    """Its result files, besides ``settings.json`` and ``provenance.json``: by name, the dataclass of arrays that an
    ``.npz`` holds (:mod:`resaudit.jobs.arrays`), ``dict`` for JSON."""

    typical: ClassVar[Cost] = Cost(seconds=10.0, megabytes=300.0)
    """What a job of a short kind costs; clusters grant five minutes more, and three times its seconds."""

    @property
    def stem(self) -> str:
        """The readable part of its id: its kind, unless a class says more."""
        return self.kind

    @property
    def run_numbers(self) -> Sequence[int]:
        """The numbers of its runs, which are in its setting ``runs`` or its ensemble's, from ``first`` on; or none."""
        drawn = self if hasattr(self, "runs") else getattr(self, "ensemble", None)
        runs, first = getattr(drawn, "runs", ()), getattr(drawn, "first", 0)
        if isinstance(runs, int):
            return range(first, first + runs)
        return runs if isinstance(runs, tuple) else ()

    def arrays_of(self, file: str) -> dict[str, Array]:
        """The arrays of one of its ``.npz`` files; an imported file must have just these."""
        return arrays_in(self.holds(file))

    def holds(self, file: str) -> type[Any]:
        """What one of its files holds: as :attr:`files` says, unless it is a matter of settings."""
        return self.files[file]

    def size(self, name: str) -> int | None:
        """The size that a :class:`~resaudit.jobs.arrays.Shape` names: the attribute of this name, or its length.

        None if there is no such number or tuple: the computation decides the size, which is one in all of a file.
        """
        value = getattr(self, name, None)
        return len(value) if isinstance(value, tuple) else value if isinstance(value, int) else None

    def cost(self, execution: Execution) -> Cost:
        """The estimated cost on a CPU: :attr:`typical`, unless a kind whose jobs can take minutes reckons it."""
        return self.typical

    def kernels(self, device: str, lanes: Mapping[str, int]) -> tuple[str, ...]:
        """What can compute it, as ``kernel`` in its provenance; none: it has no choice, and records nothing.

        Args:
            device: ``cpu`` or ``cuda``.
            lanes: numbers in the widest vector of each compiled kernel that there is, as ``vector lanes`` of
                :func:`resaudit.runtime.machine.cpu_platform`.

        Returns:
            Names; ``*`` stands for a reason or a version.
        """
        return ()

    def warnings(self, execution: Execution) -> tuple[str, ...]:
        """What a user should know before it runs, such as that a compiled kernel is missing."""
        return ()

    def tolerances(self) -> Mapping[str, Tolerance] | None:
        """How far its result may be apart from another machine's, by array or JSON file, as its fields say.

        None if they state no types: equal bytes count.
        """
        files = (self.arrays_of(file) for file in self.files if file.endswith(".npz"))
        arrays = {name: array for file in files for name, array in file.items()}
        if not any(array.type for array in arrays.values()):
            return None
        return {name: array.tolerance for name, array in arrays.items() if array.tolerance}

    @abstractmethod
    def run(self, work: Work) -> dict[str, Any]:
        """Do the work.

        Returns:
            By file name: a dataclass of arrays for ``.npz``, JSON values for ``.json``.
        """

    @property
    def inputs(self) -> dict[str, "Job"]:
        """The jobs whose results it reads, by field."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Job)}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Its other fields as JSON values."""
        inputs = self.inputs
        return {f.name: as_json(getattr(self, f.name)) for f in fields(self) if f.name not in inputs}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that its result depends on: settings and the ids of its inputs."""
        left_out = {f.name for f in fields(self) if not f.metadata.get("identity", True)}
        settings = {name: value for name, value in self.settings.items() if name not in left_out}
        return settings | {name: job.id for name, job in self.inputs.items()}

    @cached_property
    def id(self) -> str:
        """The stem and a hash of :attr:`identity`."""
        if not _STEM.fullmatch(self.stem):
            raise PaperError(
                f"a job of the kind {self.kind} has the stem {self.stem!r}; allowed: a to z, 0 to 9, - and _; correct "
                f"the property stem of {type(self).__qualname__}"
            )
        return content_id(self.stem, self.identity)

    @property
    def key(self) -> str:
        """``kind/id``, unique among all jobs."""
        return f"{self.kind}/{self.id}"

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that its result depends on, with all that they import."""
        return (type(self).__module__,)

    def folder(self, results: Path) -> Path:
        """The folder of its results."""
        return results / self.kind / self.id

    def record(self, results: Path) -> Path:
        """The file that has ``code``, the hash of the code that made its result, and ``finished``, when."""
        return self.folder(results) / RECORDS[1]

    def provenance(self, results: Path) -> JobProvenance:
        """The provenance beside its result."""
        return read_provenance(self.folder(results))

    def reads(self, results: Path) -> list[Path]:
        """The input files that it reads."""
        return [file for job in self.inputs.values() for file in job.written(results)]

    def data_read(self, results: Path) -> dict[str, Path]:
        """Of :meth:`reads`, the result files and raw data of its inputs, by ``kind/id/name``, without their records."""
        keys = {path: job.key for job in self.inputs.values() for path in job.written(results)}
        read = [path for path in self.reads(results) if path in keys and path.name not in RECORDS]
        return {f"{keys[path]}/{path.name}": path for path in read}

    def read(self, results: Path) -> Any:
        """Its result, for figures: by default its first file."""
        return self.read_first(results)

    def read_first(self, results: Path, without: tuple[str, ...] = ()) -> Any:
        """Its first file; fields named in ``without`` come back empty and are not read."""
        name = next(iter(self.files))
        return read_result(self, results, name, self.holds(name), without)

    def read_along(self, results: Path) -> list[Path]:
        """Input files that figures read together with its result."""
        return []

    def written(self, results: Path, *names: str) -> list[Path]:
        """Its result files of these names, default all, with ``settings.json`` and ``provenance.json``."""
        names = (*(names or self.files), *RECORDS)
        return [self.folder(results) / name for name in names]


def content_id(stem: str, settings: dict[str, Any]) -> str:
    """A readable stem and a hash that depends on the settings alone.

    >>> content_id("depth16", {"a": 1, "b": 2}) == content_id("depth16", {"b": 2, "a": 1})
    True
    """
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return f"{stem}-{hashlib.sha256(canonical.encode()).hexdigest()[:ID_DIGITS]}"


def as_json(value: Any) -> Any:
    """A setting as it is after a round trip through JSON.

    >>> as_json(((1, 2), None))
    [[1, 2], None]
    """
    if isinstance(value, int | float | str):  # most are
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value
