"""Imported results: the records of imports, ``results/imports/<sha256>.json``, Snakemake's view of them, their removal.

For Snakemake they are leaves of its graph: nothing that they were computed from is needed, or makes them stale.
Measured with Snakemake 9.27: a producer that must run reruns everything after it, also what ``ancient`` inputs have.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from resaudit.base.errors import ConfigError, ResultsError, listed, reading
from resaudit.base.files import read_json, sha256_of
from resaudit.base.models import Closed, Line, Sha256, Time, read_record
from resaudit.jobs.job import Job
from resaudit.jobs.origin import IMPORTED, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.plan.models import Layout
from resaudit.plan.plan import Plan
from resaudit.runtime.locks import hold_lock


class Import(Closed):
    """A complete import, written last: ``results/imports/<sha256>.json``.

    Attributes:
        archive: SHA-256 of the archive.
        name: file name of the archive.
        by: who ran it, as the archive says; None if it does not say.
        imported: time of the import, ISO 8601 with its zone.
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
    """The folder in which an archive's results are staged."""
    return results / f".import-{archive}"


def beside(folder: Path) -> Path:
    """A place on the same file system as a job's folder, of which a kind's may be a link; it is made empty."""
    place = folder.with_name(f".{folder.name}")
    shutil.rmtree(place, ignore_errors=True)
    return place


def imports(results: Path) -> list[Import]:
    """The complete imports of a results folder, in the order of their archives' digests."""
    paths = sorted((results / "imports").glob("[!.]*.json"))
    return [read_record(path, Import, "import the run again") for path in paths]


def check_imported(plan: Plan, results: Path) -> None:
    """Check before any job that imported results are of today's code, or were accepted for it."""
    stale = [key for key, job in plan.jobs.items() if job.files and _is_imported(job, results) is False]
    if stale:
        raise ResultsError(
            f"{len(stale)} imported results ({stale[0]} …) were accepted for other code than today's; check that code "
            "out, import the run again with --other-code, or 'resaudit import --forget RUN'"
        )


def leaf_inputs(job: Job, results: Path) -> list[Path] | None:
    """The record of an imported result, all that a rule's job needs then; None if the result is computed here."""
    return [results / job.key / IMPORTED] if job.files and _is_imported(job, results) else None


def _is_imported(job: Job, results: Path) -> bool | None:
    """Whether a result was imported and accepted for today's code; None if it was computed here."""
    origin = origin_of(results, job.key)
    return None if origin is None else origin.accepted_code == code_of(job)


def forget_import(run: str, layout: Layout) -> tuple[str, list[str]]:
    """Remove the results of an import, and what was drawn from them.

    Args:
        run: the archive's SHA-256, its beginning, or the archive itself.
        layout: the folders of the run.

    Returns:
        The archive's SHA-256 and the jobs whose results were removed.
    """
    results = layout.results
    keys = [path.parent.relative_to(results).as_posix() for path in sorted(results.glob(f"*/*/{IMPORTED}"))]
    archives = {key: origin.archive for key in keys if (origin := origin_of(results, key))}
    known = sorted({*archives.values(), *(record.archive for record in imports(results))})
    beginning = sha256_of(Path(run)) if Path(run).is_file() else run
    matches = [each for each in known if re.fullmatch("[0-9a-f]+", beginning) and each.startswith(beginning)]
    if len(matches) != 1:
        raise ConfigError(f"{run!r} names {len(matches)} imports; allowed: {listed([each[:12] for each in known])}")
    (archive,) = matches
    hold_lock(results)
    # Snakemake draws again what is missing, not what was drawn from results that are gone.
    for record in _drawn_from(archive, [*layout.figures.glob("*/*.json"), *results.glob("draw/*/figure.json")]):
        for file in record.parent.glob(f"{record.stem}.*"):
            file.unlink()
    removed = [key for key in archives if archives[key] == archive]
    for key in removed:
        # Renamed first: a folder is there whole or not at all, even if this process is killed.
        shutil.rmtree((results / key).rename(beside(results / key)), ignore_errors=True)
    shutil.rmtree(staging_of(results, archive), ignore_errors=True)
    (results / "imports" / f"{archive}.json").unlink(missing_ok=True)
    return archive, removed


def _drawn_from(archive: str, records: Sequence[Path]) -> list[Path]:
    """The records of drawings whose tables rest on an import, and of the matrices of such tables."""
    tables, of_import = dict[Path, set[str]](), set[str]()
    for record in records:
        with reading(record, "remove it"):
            about = read_json(record)
            tables[record] = {about["sha256"], *about.get("tables", {}).values()}
            if any(part["archive"] == archive for part in about.get("imported", [])):
                of_import.add(about["sha256"])
    return [record for record in records if not of_import.isdisjoint(tables[record])]
