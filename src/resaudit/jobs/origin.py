"""Where a result comes from: computed here, or imported (``results/<kind>/<id>/imported.json``)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from resaudit.base.errors import reading
from resaudit.base.files import read_json
from resaudit.base.models import Closed, Line, Sha256, read_record
from resaudit.jobs.results import CpuPlatform

IMPORTED = "imported.json"
RECOMPUTED, CHECKS = ".spot-check", "spot-checks/check-*.json"
"""In the folder of all results, the folder of a spot-check, which may be at work beside a run, and its records."""


class Origin(Closed):
    """Where an imported result comes from: ``results/<kind>/<id>/imported.json``.

    Attributes:
        archive: SHA-256 of the archive that it was in.
        by: name of who ran it, as the archive says; None if it does not say.
        code: hash of the code that made it, as its provenance says (:func:`resaudit.jobs.code.code_sha256`).
        accepted_code: this checkout's hash of the same kind of job, for which the result was accepted.
        cpu_platform: CPU platform that made it, as its provenance says.
        kernel: kernel that computed it, as its provenance says; None for jobs without a choice.
        sha256: digests of its result files, by name, as found at the import.
    """

    model_config = ConfigDict(populate_by_name=True)

    archive: Sha256
    by: Line | None
    code: Sha256
    accepted_code: Sha256
    cpu_platform: Annotated[CpuPlatform, Field(alias="machine_class")]
    kernel: Line | None
    sha256: dict[Line, Sha256]


def origin_of(results: Path, key: str) -> Origin | None:
    """Where the result of the job ``kind/id`` comes from; None if it was computed here, or is not there."""
    path = results / key / IMPORTED
    if not path.is_file():
        return None
    origin = read_record(path, Origin, "import the run again")
    provenance = path.with_name("provenance.json")
    with reading(provenance, "import the run again"):
        # Whoever forces Snakemake to run the job again has a result of his own, beside the record of the old one.
        return origin if read_json(provenance)["sha256"] == origin.sha256 else None


def imported_among(keys: Iterable[str], results: Path) -> list[dict[str, Any]]:
    """Which of these jobs' results are imported: for each archive its SHA-256, by whom, and their keys."""
    origins = ((origin_of(results, key), key) for key in sorted(keys))
    return by_archive((origin.archive, origin.by, key) for origin, key in origins if origin)


def by_archive(jobs: Iterable[tuple[str, str | None, str]]) -> list[dict[str, Any]]:
    """Jobs, given with the SHA-256 of their archive and who ran it: for each of these pairs the jobs' keys, once."""
    archives: dict[tuple[str, str | None], set[str]] = {}
    for archive, by, key in jobs:
        archives.setdefault((archive, by), set()).add(key)
    return [{"archive": archive, "by": by, "jobs": sorted(keys)} for (archive, by), keys in archives.items()]
