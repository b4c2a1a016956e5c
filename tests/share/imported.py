"""Imported results for tests: computed results with the record beside them that an import writes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.job import Job
from resaudit.jobs.origin import IMPORTED, Origin
from resaudit.jobs.plan_files import code_of
from resaudit.share.records import Import

ARCHIVE = "ab" * 32


def mark_imported(jobs: Iterable[Job], results: Path, **changed: Any) -> list[str]:
    """Write ``imported.json`` beside the results of these jobs, as an import of them would, and its record.

    Args:
        jobs: that have been computed.
        results: folder of all results.
        changed: fields of :class:`Origin` that shall be otherwise.

    Returns:
        Their keys.
    """
    keys = []
    for job in jobs:
        folder = job.folder(results)
        ran = read_json(folder / "provenance.json")
        fields: dict[str, Any] = {
            "archive": ARCHIVE,
            "by": "A. Person",
            "code": code_of(job),
            "accepted_code": code_of(job),
            "cpu_platform": ran["machine class"],
            "kernel": ran.get("kernel"),
            "sha256": {name: sha256_of(folder / name) for name in job.files},
        }
        write_json(folder / IMPORTED, Origin(**(fields | changed)).model_dump(by_alias=True))
        keys.append(job.key)
    record = Import(
        archive=ARCHIVE,
        name="run.zip",
        by="A. Person",
        imported="2026-11-22T12:00:00+00:00",
        jobs=keys,
        kept=[],
        missing=[],
        differences=[],
    )
    write_json(results / "imports" / f"{ARCHIVE}.json", record.model_dump(by_alias=True))
    return keys
