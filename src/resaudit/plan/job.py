"""A job: a value from which its id, its inputs and its results' folder follow."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

ID_DIGITS = 16
"""Hexadecimal digits of the hash in an id: too many to find two settings with the same."""

# On a cluster two processes of Snakemake's stand around each job, some 125 MB each, and Slurm counts them.
MEGABYTES_OF_SNAKEMAKE = 300.0
MINUTES_TO_START = 5
# What is asked of a scheduler is more than the estimate: processors differ more than memory does.
TIMES_SECONDS = 3.0
TIMES_MEGABYTES = 1.25


@dataclass(frozen=True)
class Cost:
    """What a job is estimated to need.

    Attributes:
        seconds: on one core.
        megabytes: of memory at the peak.
        threads: that it can use.
        wants_gpu: whether a GPU makes it quicker.
    """

    seconds: float
    megabytes: float
    threads: int = 1
    wants_gpu: bool = False

    def megabytes_asked(self, attempt: int = 1) -> int:
        """Memory to ask a scheduler for; each further attempt asks for as much again.

        >>> Cost(60, 1000).megabytes_asked(), Cost(60, 1000).megabytes_asked(2)
        (1550, 3100)
        """
        return attempt * int(MEGABYTES_OF_SNAKEMAKE + TIMES_MEGABYTES * self.megabytes)

    def minutes_asked(self, attempt: int = 1) -> int:
        """Wall time to ask a scheduler for, likewise.

        >>> Cost(60, 1000).minutes_asked(), Cost(60, 1000).minutes_asked(2)
        (8, 16)
        """
        return attempt * (MINUTES_TO_START + ceil(TIMES_SECONDS * self.seconds / 60))


@dataclass(frozen=True)
class Execution:
    """How and where jobs run: nothing that a result depends on, so it is part of no id.

    Attributes:
        device: ``cpu`` or ``cuda``, for jobs that want a GPU; the others run on the CPU.
        kernel: what trains networks with activations: ``fused``, ``torch`` or ``auto``.
        checkpoint_seconds: between one checkpoint and the next.
    """

    device: str = "cpu"
    kernel: str = "auto"
    checkpoint_seconds: float = 60.0


@dataclass
class Work:
    """What a running job is given.

    Attributes:
        results: folder of all results.
        execution: how it runs.
        device: that it computes on, as torch names it.
        checkpoints: folder for its checkpoint.
        record: what only the job can say, for its provenance.
    """

    results: Path
    execution: Execution
    device: str
    checkpoints: Path
    record: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Job(ABC):
    """One job. Its fields are its settings and, where they are jobs themselves, its inputs.

    A field with the metadata ``identity: False`` is in no id: the result does not depend on it.
    """

    kind: ClassVar[str]
    """Name of its module, its rule, its results folder and its log folder."""
    files: ClassVar[tuple[str, ...]]
    """What it writes into its folder, beside ``settings.json`` and ``provenance.json``."""

    @property
    @abstractmethod
    def stem(self) -> str:
        """The readable part of its id."""

    @abstractmethod
    def cost(self, execution: Execution) -> Cost:
        """What it is estimated to need on a CPU."""

    @abstractmethod
    def run(self, work: Work) -> dict[str, Any]:
        """Do the work.

        Returns:
            By name of the file, a dataclass of arrays for ``.npz``, and what JSON can hold for ``.json``.

        Raises:
            ResauditError: an input is missing, damaged, or of other settings.
        """

    @property
    def inputs(self) -> dict[str, "Job"]:
        """The jobs whose results it reads, by the name of its field."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Job)}

    @property
    def settings(self) -> dict[str, Any]:
        """Its other fields, as JSON has them."""
        return {f.name: as_json(getattr(self, f.name)) for f in fields(self) if f.name not in self.inputs}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that its result depends on: the settings, and the ids of its inputs."""
        about = {f.name for f in fields(self) if not f.metadata.get("identity", True)}
        settings = {name: value for name, value in self.settings.items() if name not in about}
        return settings | {name: job.id for name, job in self.inputs.items()}

    @cached_property
    def id(self) -> str:
        """The stem, and a hash that changes with whatever the result depends on."""
        return content_id(self.stem, self.identity)

    @property
    def key(self) -> str:
        """``kind/id``: its name among all jobs."""
        return f"{self.kind}/{self.id}"

    def folder(self, results: Path) -> Path:
        """Where its results lie."""
        return results / self.kind / self.id

    def reads(self, results: Path) -> list[Path]:
        """The files of its inputs that it reads."""
        return [file for job in self.inputs.values() for file in job.written(results)]

    def read(self, results: Path) -> Any:
        """What it wrote, for figures.

        Raises:
            ResauditError: it is missing, damaged, or of other settings.
        """
        raise NotImplementedError

    def read_along(self, results: Path) -> list[Path]:  # noqa: ARG002
        """Files of its inputs that figures read together with what it wrote."""
        return []

    def written(self, results: Path, *names: str) -> list[Path]:
        """Its files of these names, or all, with those that say what they are of and what their SHA-256 is."""
        names = (*(names or self.files), "settings.json", "provenance.json")
        return [self.folder(results) / name for name in names]


def content_id(stem: str, settings: dict[str, Any]) -> str:
    """A readable stem and digits that change with any setting, and with nothing else.

    >>> content_id("depth16", {"a": 1, "b": 2}) == content_id("depth16", {"b": 2, "a": 1})
    True
    """
    canonical = json.dumps(settings, sort_keys=True, separators=(",", ":"))
    return f"{stem}-{hashlib.sha256(canonical.encode()).hexdigest()[:ID_DIGITS]}"


def as_json(value: Any) -> Any:
    """A setting as JSON gives it back.

    >>> as_json(((1, 2), None))
    [[1, 2], None]
    """
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(asdict(value))
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value
