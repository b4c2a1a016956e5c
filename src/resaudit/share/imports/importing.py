"""Importing a run: the results of an archive, checked against this checkout's plan, become results here.

Every check comes before the first change of ``results/``; then whole job folders are renamed into place, so a crash
leaves whole jobs, and the next import goes on. The record of the import is written last.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from resaudit.audit.schema import check_audit, read_audit
from resaudit.base.commands import snakemake_command
from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of, write_json
from resaudit.base.models import check_lines
from resaudit.base.papers import as_words, check_installed_from
from resaudit.jobs.checkpoints import forget
from resaudit.jobs.job import RECORDS, Job
from resaudit.jobs.job_provenance import JobProvenance
from resaudit.jobs.origin import IMPORTED, Origin, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.plan.composition import config_folder
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, make_plan, with_inputs
from resaudit.runtime.locks import hold_lock
from resaudit.share.imports.arrays import check_arrays
from resaudit.share.imports.building import build_tables
from resaudit.share.imports.checking import check_jobs
from resaudit.share.imports.opening import opened
from resaudit.share.imports.packed import Packed, check_entry, unpacked
from resaudit.share.imports.touching import touch
from resaudit.share.records import Import, imports, staging_of

DISK_LEFT = 2**30
"""Bytes that an import leaves free, for tables and drawings."""
Say = Callable[[str], None]


def import_run(archive: Path, config: Config, overrides: Sequence[str], other_code: bool, say: Say) -> Import:
    """Import a run.

    Args:
        archive: of ``resaudit crate``.
        config: this checkout's, with the overrides that the run had.
        overrides: these.
        other_code: whether to accept results of other code.
        say: called with each line for the user.

    Raises:
        ResauditError: the archive does not fit this checkout, or ``results/`` cannot be written.
    """
    check_installed_from(config_folder().parent)
    _check_lines(archive.name, "the name of the archive")
    plan, results = make_plan(config.with_every_figure()), Path(config.paths.results)
    hold_lock(results)
    with opened(archive, partial(check_entry, archive)) as found:
        packed = unpacked(archive, found)
        ran = check_jobs(packed, plan, other_code)
        digest = sha256_of(archive)
        known = None
        with suppress(ResauditError):
            known = next((record for record in imports(results) if record.archive == digest), None)
        moved, kept = _fill(packed, ran, plan, results, digest)
    ours = sorted(key for key in ran if (origin := _origin(results, key)) and origin.archive == digest)
    if ours and (moved or known is None):
        say(f"telling Snakemake of {len(ours)} imported results")
        resting = [name for name, part in plan.figures.items() if {*ours} & with_inputs(part.jobs.values()).keys()]
        touch([plan.jobs[key] for key in ours], results, overrides, resting)
    chosen = with_inputs(job for name in config.chosen_figures() for job in plan.figures[name].jobs.values())
    audit, by = Path(config.paths.figures) / "audit.json", set(packed.agents.values())
    compared = known is not None and not moved and audit.is_file()
    record = Import(
        archive=digest,
        name=archive.name,
        by=by.pop() if len(by) == 1 else None,
        imported=known.imported if known else datetime.now(UTC).isoformat(timespec="seconds"),
        jobs=ours,
        kept=sorted(kept),
        missing=sorted(key for key, job in chosen.items() if job.files and key not in packed.jobs),
        differences=list(differences(packed.audit, audit)) if compared else [],
    )
    write_json(results / "imports" / f"{digest}.json", record.model_dump(mode="json"))
    _tell(record, kept, compared, overrides, say)
    return record


def _fill(
    packed: Packed, ran: Mapping[str, JobProvenance], plan: Plan, results: Path, digest: str
) -> tuple[list[str], dict[str, bool]]:
    """Stage and rename the results that are not here.

    Returns:
        The jobs whose results are new here, and those of other origin that were kept, with whether they are equal.
    """
    staging = staging_of(results, digest)
    shutil.rmtree(staging, ignore_errors=True)
    kept, new = dict[str, bool](), list[str]()
    try:
        for key, provenance in ran.items():
            job, here = plan.jobs[key], _origin(results, key)
            complete = all(path.is_file() for path in job.written(results))
            equal = complete and all(sha256_of(results / key / name) == d for name, d in provenance.sha256.items())
            if here is not None and here.archive == digest:
                if not equal or here.accepted_code != code_of(job):
                    new.append(key)
            elif here is not None or complete:
                kept[key] = equal
            else:
                # Nothing is here, or what a killed job left.
                new.append(key)
        entries = [f"results/{key}/{name}" for key in new for name in packed.jobs[key]]
        needed, free = sum(packed.zip.entries[name].file_size for name in entries), shutil.disk_usage(results).free
        if needed + DISK_LEFT > free:
            raise ResauditError(
                f"{results} has {free} bytes free, the results need {needed} and 1 GiB to go on; free some"
            )
        for key in new:
            _stage(packed, plan.jobs[key], staging / key, ran[key], digest)
        build_tables(plan, new, staging, results)
        for key in new:
            _move(staging / key, results / key)
            forget(results / "checkpoints" / key)
    except OSError as error:
        raise ResauditError(f"cannot write into {results}: {error.strerror or error}; free or allow it") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return new, kept


def _origin(results: Path, key: str) -> Origin | None:
    """As :func:`resaudit.jobs.origin.origin_of`; a record that cannot be read counts as none: it is made again."""
    try:
        return origin_of(results, key)
    except ResauditError:
        (results / key / IMPORTED).unlink()
        (results / key / RECORDS[1]).unlink(missing_ok=True)
        return None


def _stage(packed: Packed, job: Job, folder: Path, ran: JobProvenance, digest: str) -> None:
    """Copy a job's files, and check what they hold before anything reads them."""
    folder.mkdir(parents=True)
    for name in (*job.files, *RECORDS):
        entry = f"results/{job.key}/{name}"
        if packed.zip.copy(entry, folder / name) != packed.digests[entry]:
            raise ResauditError(f"{packed.path} changes while it is read; copy it and import the copy")
        if name.endswith(".npz"):
            check_arrays(folder / name, job)
        elif name in job.files:
            _check_lines(packed.parsed(entry), f"{packed.path}: {entry}")
    origin = Origin(
        archive=digest,
        by=packed.agents[job.key],
        code=ran.code,
        accepted_code=code_of(job),
        cpu_platform=ran.cpu_platform,
        kernel=ran.kernel,
        sha256=ran.sha256,
    )
    write_json(folder / IMPORTED, origin.model_dump(mode="json", by_alias=True))


def _check_lines(given: Any, where: str) -> None:
    try:
        check_lines(given)
    except ValueError as error:
        raise ResauditError(f"{where} {error}") from error


def _move(staged: Path, folder: Path) -> None:
    """Rename a whole folder; what lies there is of a killed job, or of the same archive for other code."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged.rename(folder)


def differences(theirs: dict[str, Any], ours: Path) -> Iterator[str]:
    """The verdicts and tables that differ between two audits, a line each.

    Args:
        theirs: the archive's ``audit.json``.
        ours: file of this checkout's.

    Raises:
        ResauditError: ours is damaged.
    """
    try:
        check_audit(theirs)
    except ResauditError as error:
        yield f"nothing is compared: their audit has another format ({error})"
        return
    here = read_audit(ours).as_json()["papers"]
    verdicts = {claim["id"]: claim["verdict"] for paper in here for claim in paper["claims"]}
    tables = {figure["id"]: figure["sha256"] for paper in here for figure in paper["figures"]}
    for paper in theirs["papers"]:
        for claim in paper["claims"]:
            name, verdict = claim["id"], claim["verdict"]
            if "not run" not in (verdict, verdicts.get(name, "not run")) and verdicts[name] != verdict:
                yield f"{name}: their audit says {verdict}, these results say {verdicts[name]}"
        for figure in paper["figures"]:
            if tables.get(figure["id"], figure["sha256"]) != figure["sha256"]:
                yield f"{figure['id']}: their table has other bytes than the one drawn from these results"


def _tell(record: Import, kept: Mapping[str, bool], compared: bool, overrides: Sequence[str], say: Say) -> None:
    by = f", run by {record.by} as it says" if record.by else ""
    say(f"{record.name} (SHA-256 {record.archive[:12]}…{by}): {len(record.jobs)} results are imported")
    if kept:
        differing = [key for key, equal in kept.items() if not equal]
        say(f"{len(kept)} were here and are kept: {len(kept) - len(differing)} equal, {len(differing)} different")
        for key in differing:
            say(f"  differs, yours is kept: {key}")
    if record.missing:
        say(f"{len(record.missing)} planned jobs are not in it and will be computed, as {record.missing[0]}")
    for line in record.differences:
        say(f"  {line}")
    if not compared:
        draw = snakemake_command({"overrides": [*as_words(), *overrides]})
        say(f"next: {draw} draws and judges; then this import once more compares their verdicts")
    elif not record.differences:
        say("no verdict and no table of it differs from those in figures/, as far as both have them")
