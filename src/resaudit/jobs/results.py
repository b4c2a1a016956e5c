"""Result files with their provenance: written whole, read only with the expected settings and the recorded SHA-256."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from resaudit.base.errors import ResultsError, reading
from resaudit.base.files import again, read_json, sha256_of, written_whole
from resaudit.base.models import Line, Sha256, Time, check_lines, read_record

if TYPE_CHECKING:
    from resaudit.jobs.job import Job


def _check_machine(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not isinstance(given.get("device"), str):
        raise ValueError("names no device; allowed: 'cpu' or a GPU's name")
    return given


CPU_PLATFORM = "machine class"
"""The key of the CPU platform in records, where it has kept the name of version 0.2."""
CpuPlatform = Annotated[dict[Line, JsonValue], AfterValidator(check_lines), AfterValidator(_check_machine)]
"""What :func:`resaudit.runtime.machine.cpu_platform` gives."""


class JobProvenance(BaseModel):
    """A job's ``provenance.json``, as far as anything reads it, here and in an archive; a job may say more.

    Attributes:
        device: "cpu" or a GPU's name.
        kernel: what computed on it, if the job had a choice.
        seconds: duration.
        started: time of the start.
        finished: time of the end.
        python: version.
        packages: versions by name; None where one is not installed.
        cpu_platform: the machine's CPU platform.
        parts: what computed each part of work that went on on another machine, by part of the job.
        code: hash of the code of its kind.
        sha256: digests of its result files, by name.
        inputs: digests of what it read, by ``kind/id/name``.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

    device: str
    kernel: str | None = None
    seconds: Annotated[float, Field(ge=0, le=1e10)]
    started: Time
    finished: Time
    python: str
    packages: dict[str, str | None]
    cpu_platform: Annotated[CpuPlatform, Field(alias=CPU_PLATFORM)]
    parts: dict[Line, list[CpuPlatform]] = {}
    code: Sha256
    sha256: dict[str, Sha256]
    inputs: dict[str, Sha256]

    @property
    def platforms(self) -> list[dict[str, JsonValue]]:
        """The distinct CPU platforms that computed a part of it, in turn; the last is the one that finished it.

        >>> about = {"device": "cpu", "seconds": 1.0, "started": "2026-01-02T03:04:05+00:00", "python": "3.12"}
        >>> about |= {"finished": about["started"], "packages": {}, "code": "0" * 64, "sha256": {}, "inputs": {}}
        >>> here, there = {"device": "cpu", "torch": "2.11"}, {"device": "NVIDIA H100", "torch": "2.11"}
        >>> parts = {"run 0": [{"from epoch": 0.0, **there}, {"from epoch": 7.5, **here}]}
        >>> made = JobProvenance(**about, **{CPU_PLATFORM: here}, parts=parts)
        >>> [platform["device"] for platform in made.platforms]
        ['NVIDIA H100', 'cpu']
        """
        found = list[dict[str, JsonValue]]()
        for part in (part for parts in self.parts.values() for part in parts):
            platform = {key: part.get(key) for key in self.cpu_platform}
            found += [platform] if platform not in [*found, self.cpu_platform] else []
        return [*found, self.cpu_platform]

    @model_validator(mode="before")
    @classmethod
    def _lines(cls, given: Any) -> Any:
        return check_lines(given)


Arrays = TypeVar("Arrays")


def read_result(job: "Job", results: Path, name: str, arrays: type[Arrays], without: tuple[str, ...] = ()) -> Arrays:
    """Read one of a job's files.

    Args:
        job: the job that made it.
        results: folder of all results.
        name: name of the file.
        arrays: the dataclass that it holds.
        without: fields that come back empty and are not read.
    """
    folder = job.folder(results)
    settings, path, remedy = folder / "settings.json", folder / name, again(folder)
    with reading(settings, remedy):
        identity = read_json(settings)
    if identity != job.identity:
        raise ResultsError(f"{settings} has other settings than asked for; {remedy}")
    with reading(path, remedy):
        digest = sha256_of(path)
    if digest != read_provenance(folder).sha256.get(name):
        raise ResultsError(
            f"{path} is not what was computed: its SHA-256 differs from that in provenance.json; {remedy}"
        )
    return load_arrays(path, arrays, without)


def cpu_platforms(jobs: list["Job"], results: Path) -> list[dict[str, Any]]:
    """The distinct CPU platforms that jobs ran on; raises as :func:`read_provenance`."""
    platforms: list[dict[str, Any]] = []
    for job in jobs:
        for platform in read_provenance(job.folder(results)).platforms:
            if platform not in platforms:
                platforms.append(platform)
    return platforms


def moved(jobs: Iterable["Job"], results: Path) -> list[list[str]]:
    """Of each result that more than one CPU platform computed, the devices in turn; raises as read_provenance."""
    found = (read_provenance(job.folder(results)).platforms for job in jobs if job.files)
    return [[str(platform["device"]) for platform in platforms] for platforms in found if len(platforms) > 1]


def codes(jobs: Iterable["Job"], results: Path) -> dict[str, dict[str, int]]:
    """By kind of job and hash of the code, how many of these results it made; raises as :func:`read_provenance`."""
    counts: dict[str, Counter[str]] = {}
    for job in jobs:
        if job.files and job.record(results).is_file():
            counts.setdefault(job.kind, Counter())[read_provenance(job.folder(results)).code] += 1
    return {kind: dict(sorted(by_code.items())) for kind, by_code in sorted(counts.items())}


def read_provenance(folder: Path) -> JobProvenance:
    """The provenance beside a job's results."""
    return read_record(folder / "provenance.json", JobProvenance, again(folder))


def save_arrays(path: Path, arrays: Any) -> None:
    """Write a dataclass whose fields are arrays or numbers as an uncompressed ``.npz``, atomically."""
    with written_whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **{f.name: getattr(arrays, f.name) for f in fields(arrays)})


def load_arrays(path: Path, kind: type[Arrays], without: tuple[str, ...] = ()) -> Arrays:
    """Read what :func:`save_arrays` wrote; fields named in ``without`` come back empty and are not read."""
    with reading(path, again(path.parent)), np.load(path, allow_pickle=False) as file:
        names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
        return kind(**{name: np.empty(0) if name in without else np.asarray(file[name]) for name in names})
