"""Result files: written whole, and read back only with the expected settings and the recorded SHA-256."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from resaudit.base.errors import ResultsError, reading
from resaudit.base.files import again, read_json, sha256_of, written_whole
from resaudit.base.models import read_record
from resaudit.jobs.job_provenance import JobProvenance

if TYPE_CHECKING:
    from resaudit.jobs.job import Job

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
