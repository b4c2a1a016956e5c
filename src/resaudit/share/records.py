"""The records of imports: ``results/imports/<sha256>.json``."""

from pathlib import Path

from resaudit.base.models import Closed, Line, Sha256, Time, read_record


class Import(Closed):
    """A complete import, written last: ``results/imports/<sha256>.json``.

    Attributes:
        archive: SHA-256 of the archive.
        name: its file name.
        by: who ran it, as the archive says; None if it does not say.
        imported: when, ISO 8601 with its zone.
        jobs: keys (``kind/id``) of the results that were imported.
        kept: keys of the results that were here already and were kept.
        missing: keys of the planned jobs that the archive does not have.
        differences: verdicts and tables of the archive that its results do not give here, a line each.
    """

    archive: Sha256
    name: Line
    by: Line | None
    imported: Time
    jobs: list[Line]
    kept: list[Line]
    missing: list[Line]
    differences: list[str]


def staging_of(results: Path, archive: str) -> Path:
    """Where the results of an archive are put together, on the same file system as their place."""
    return results / f".import-{archive}"


def imports(results: Path) -> list[Import]:
    """The complete imports of a results folder, in the order of their archives' digests.

    Raises:
        ResauditError: a record cannot be read.
    """
    paths = sorted((results / "imports").glob("[!.]*.json"))
    return [read_record(path, Import, "import the run again") for path in paths]
