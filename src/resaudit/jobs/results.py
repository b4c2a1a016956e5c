"""Reading results back: each must have the expected settings and the recorded SHA-256."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from resaudit.base.errors import ResauditError
from resaudit.base.files import again, read_json, sha256_of
from resaudit.base.models import read_record
from resaudit.jobs.arrays import load_arrays
from resaudit.jobs.job_provenance import JobProvenance

if TYPE_CHECKING:
    from resaudit.jobs.job import Job

Arrays = TypeVar("Arrays")
Found = TypeVar("Found")


def read_result(job: "Job", results: Path, name: str, arrays: type[Arrays], without: tuple[str, ...] = ()) -> Arrays:
    """Read one of a job's files.

    Args:
        job: whose result it is.
        results: folder of all results.
        name: of the file.
        arrays: the dataclass that it holds.
        without: fields that come back empty and are not read.

    Raises:
        ResauditError: it is missing, damaged, or of other settings.
    """
    folder = job.folder(results)
    _check_settings(folder, job.identity)
    return load_arrays(_as_written(folder, name), arrays, without)


def cpu_platforms(jobs: list["Job"], results: Path) -> list[dict[str, Any]]:
    """The distinct CPU platforms that jobs ran on; raises as :func:`read_provenance`."""
    found: list[dict[str, Any]] = []
    for job in jobs:
        ran_on = read_provenance(job.folder(results)).cpu_platform
        if ran_on not in found:
            found.append(ran_on)
    return found


def codes(jobs: Iterable["Job"], results: Path) -> dict[str, dict[str, int]]:
    """By kind of job and hash of the code, how many of these results it made; raises as :func:`read_provenance`."""
    there = [job for job in jobs if job.files and job.record(results).is_file()]
    found = Counter((job.kind, read_provenance(job.folder(results)).code) for job in there)
    return {
        kind: {code: number for (of, code), number in sorted(found.items()) if of == kind} for kind, _ in sorted(found)
    }


def read_provenance(folder: Path) -> JobProvenance:
    """The provenance beside a job's results.

    Raises:
        ResauditError: it is missing or damaged.
    """
    return read_record(folder / "provenance.json", JobProvenance, again(folder))


def _as_written(folder: Path, name: str) -> Path:
    """A result's path, after checking its SHA-256."""
    path = folder / name
    if _taken(sha256_of, path, folder) != read_provenance(folder).sha256.get(name):
        raise ResauditError(
            f"{path} is not what was computed: its SHA-256 is not that in provenance.json; {again(folder)}"
        )
    return path


def _taken(read: Callable[[Path], Found], path: Path, folder: Path) -> Found:
    try:
        return read(path)
    except FileNotFoundError:
        raise ResauditError(f"{path} does not exist; {again(folder)}") from None
    except (OSError, ValueError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); {again(folder)}") from error


def _check_settings(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "settings.json"
    if _taken(read_json, path, folder) != expected:
        raise ResauditError(f"{path} is not what was asked for here; {again(folder)}")
