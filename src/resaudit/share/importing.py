"""Importing a run: the results of an archive, checked against this checkout's plan, become results here.

Every check comes before the first change of ``results/``; then whole job folders are renamed into place, so a crash
leaves whole jobs, and the next import goes on. The record of the import is written last.
"""

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from resaudit.audit.schema import check_audit, read_audit
from resaudit.base.commands import snakemake_command
from resaudit.base.errors import ArchiveError, MachineError, ResauditError
from resaudit.base.files import sha256_of, write_json
from resaudit.base.models import check_lines, one_line
from resaudit.base.papers import as_words, check_installed_from, root
from resaudit.claims.comparison import verdicts_on
from resaudit.figures.drawing import ODD_CONTENT, lay_out, plot_of
from resaudit.figures.tables import Drawn, printed_values
from resaudit.jobs.checkpoints import forget
from resaudit.jobs.job import RECORDS, Job
from resaudit.jobs.origin import IMPORTED, Origin, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.jobs.results import JobProvenance
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, make_plan, with_inputs
from resaudit.runtime.locks import hold_lock
from resaudit.runtime.progress import log as warn
from resaudit.share.checking import check_arrays, check_jobs
from resaudit.share.comparing import audited_table
from resaudit.share.packed import Packed, unpacked
from resaudit.share.records import Import, beside, imports, staging_of

DISK_LEFT = 2**30
"""Bytes that an import leaves free, for tables and drawings."""
Say = Callable[[str], None]


class Decision(Enum):
    """What an import does about one result of its archive."""

    NEW = "moved in: nothing whole is here"
    REPLACED = "moved in: what is here from this archive is damaged, or was accepted for other code"
    PRESENT = "left: it is here from this archive already"
    KEPT = "left: a result was computed here, or imported from another archive"


def import_run(archive: Path, config: Config, overrides: Sequence[str], other_code: bool, say: Say) -> Import:
    """Import a run.

    Args:
        archive: an archive of ``resaudit crate``.
        config: this checkout's configuration, with the overrides that the run had.
        overrides: the same overrides.
        other_code: whether to accept results of other code.
        say: called with each line for the user.
    """
    check_installed_from(root())
    _check_lines(archive.name, "the name of the archive")
    plan, results = make_plan(config.with_every_figure()), Path(config.paths.results)
    hold_lock(results)
    with unpacked(archive) as packed, _errors_of_writing(results):
        provenances = check_jobs(packed, plan, other_code)
        digest = sha256_of(archive)
        decisions = {
            key: _decided(plan.jobs[key], results, digest, provenance) for key, provenance in provenances.items()
        }
        moved = [key for key, decision in decisions.items() if decision in (Decision.NEW, Decision.REPLACED)]
        kept = sorted(key for key, decision in decisions.items() if decision is Decision.KEPT)
        _move_in(moved, packed, provenances, plan, results, digest)
    before, audit = _record_before(results, digest), Path(config.paths.figures) / "audit.json"
    chosen = with_inputs(job for name in config.chosen_figures() for job in plan.figures[name].jobs.values())
    is_compared = before is not None and not moved and audit.is_file()
    by = set(packed.agents.values())
    record = Import(
        archive=digest,
        name=archive.name,
        by=by.pop() if len(by) == 1 else None,
        imported=before.imported if before else datetime.now(UTC).isoformat(timespec="seconds"),
        jobs=sorted(decisions.keys() - kept),
        kept=kept,
        missing=sorted(key for key, job in chosen.items() if job.files and key not in packed.jobs),
        differences=list(differences(packed.audit, audit)) if is_compared else [],
    )
    write_json(results / "imports" / f"{digest}.json", record.model_dump(mode="json"))
    differing = [key for key in kept if not _is_equal(results / key, provenances[key])]
    for line in _in_words(record, differing):
        say(line)
    if not is_compared:
        draw = snakemake_command({"overrides": [*as_words(), *overrides]})
        say(f"next: {draw} draws and judges; then this import once more compares their verdicts")
    elif not record.differences:
        say("no verdict and no table of it differs from those in figures/, as far as both have them")
    return record


def _record_before(results: Path, digest: str) -> Import | None:
    """The record of an earlier import of the archive; none if it cannot be read."""
    with suppress(ResauditError):
        return next((record for record in imports(results) if record.archive == digest), None)
    return None


def _in_words(record: Import, differing: Collection[str]) -> Iterator[str]:
    """What an import did; of the results that were here, some differ from the archive's."""
    by_whom = f", run by {record.by} as it says" if record.by else ""
    yield f"{record.name} (SHA-256 {record.archive[:12]}…{by_whom}): {len(record.jobs)} results are imported"
    if record.kept:
        equal = len(record.kept) - len(differing)
        yield f"{len(record.kept)} were here and are kept: {equal} equal, {len(differing)} different"
    for key in differing:
        yield f"  differs, yours is kept: {key}"
    if record.missing:
        yield f"{len(record.missing)} planned jobs are not in it and will be computed, as {record.missing[0]}"
    yield from (f"  {line}" for line in record.differences)


def _decided(job: Job, results: Path, archive: str, provenance: JobProvenance) -> Decision:
    folder = results / job.key
    try:
        origin = origin_of(results, job.key)
    except ResauditError:
        return Decision.NEW  # a damaged record makes a result that nobody answers for
    is_whole = all(path.is_file() for path in job.written(results))
    if origin is not None and origin.archive == archive:
        is_fine = is_whole and origin.accepted_code == code_of(job) and _is_equal(folder, provenance)
        return Decision.PRESENT if is_fine else Decision.REPLACED
    # Of what a killed job left, files are missing.
    return Decision.KEPT if origin is not None or is_whole else Decision.NEW


def _is_equal(folder: Path, provenance: JobProvenance) -> bool:
    files = {folder / name: digest for name, digest in provenance.sha256.items()}
    return all(file.is_file() and sha256_of(file) == digest for file, digest in files.items())


def _move_in(
    keys: Collection[str],
    packed: Packed,
    provenances: Mapping[str, JobProvenance],
    plan: Plan,
    results: Path,
    digest: str,
) -> None:
    """Stage results, check all that is in them, write-protect them, and rename them into place."""
    needed = sum(packed.sizes[f"results/{key}/{name}"] for key in keys for name in packed.jobs[key])
    free = shutil.disk_usage(results).free
    if needed + DISK_LEFT > free:
        raise MachineError(f"{results} needs {needed} bytes and 1 GiB more, but has {free}")
    staging = staging_of(results, digest)
    shutil.rmtree(staging, ignore_errors=True)
    try:
        for key in keys:
            _stage(packed, plan.jobs[key], staging / key, provenances[key], digest)
        build_tables(plan, keys, staging, results)
        # Then whatever would replace an imported result is stopped before it deletes anything.
        try:
            for path in (path for key in keys for path in plan.jobs[key].written(staging)):
                path.chmod(0o444)
        except OSError:
            warn("resaudit: warning: imported results are not write-protected, since their file system takes no modes")
        for key in keys:
            # What lies there is of a killed job, or of the same archive.
            shutil.rmtree(results / key, ignore_errors=True)
            (results / key).parent.mkdir(parents=True, exist_ok=True)
            Path(shutil.move(staging / key, beside(results / key))).rename(results / key)
            forget(results / "checkpoints" / key)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def _errors_of_writing(results: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError(f"{results} cannot be written ({error.strerror or error})") from error


def _stage(packed: Packed, job: Job, folder: Path, provenance: JobProvenance, digest: str) -> None:
    """Copy a job's files, and check what they hold before anything reads them."""
    folder.mkdir(parents=True)
    for name in (*job.files, *RECORDS):
        entry = f"results/{job.key}/{name}"
        packed.copy(entry, folder / name)
        if name.endswith(".npz"):
            check_arrays(folder / name, job, f"{packed.path}: {entry}")
        elif name in job.files:
            _check_lines(packed.parsed(entry), f"{packed.path}: {entry}")
    origin = Origin(
        archive=digest,
        by=packed.agents[job.key],
        code=provenance.code,
        accepted_code=code_of(job),
        cpu_platform=provenance.cpu_platform,
        kernel=provenance.kernel,
        sha256=provenance.sha256,
    )
    write_json(folder / IMPORTED, origin.model_dump(mode="json", by_alias=True))


def build_tables(plan: Plan, staged: Collection[str], staging: Path, results: Path) -> None:
    """Read every staged result; make, judge and plot each table that rests on one and whose other results are here."""
    for key in staged:
        with _faults_of(key, staging):
            plan.jobs[key].read(staging)
    for name, figure_plan in plan.figures.items():
        jobs = with_inputs(figure_plan.jobs.values())
        if not jobs.keys() & set(staged):
            continue
        for key, job in jobs.items():
            if job.files and not (staging / key).exists():
                try:
                    job.read(results)
                # A result here that is missing or damaged is no fault of the archive.
                except (ResauditError, *ODD_CONTENT):
                    continue
                (staging / key).parent.mkdir(exist_ok=True)
                (staging / key).symlink_to((results / key).resolve())
        if all(file.is_file() for file in figure_plan.reads(staging)):
            with _faults_of(name, staging):
                table = audited_table(figure_plan, staging)
                verdicts_on(plan.config, name, table)
                printed_values(plan.config, name.split("/")[0], {name: Drawn(name, table, "", {})})
                lay_out(plot_of(figure_plan.figure, table))


@contextmanager
def _faults_of(name: str, staging: Path) -> Iterator[None]:
    try:
        yield
    except (ResauditError, *ODD_CONTENT) as error:
        reason = one_line(str(error).replace(str(staging), "results") or type(error).__name__)
        raise ArchiveError(f"the archive's results do not give {name}: {reason}; ask for another run") from error


def _check_lines(content: Any, where: str) -> None:
    try:
        check_lines(content)
    except ValueError as error:
        raise ArchiveError(f"{where} {error}") from error


def differences(theirs: dict[str, Any], ours: Path) -> Iterator[str]:
    """The verdicts and tables that differ between two audits, a line each."""
    try:
        check_audit(theirs)
    except ResauditError as error:
        yield f"nothing is compared: their audit has another format ({error})"
        return
    papers = read_audit(ours).as_json()["papers"]
    verdicts = {claim["id"]: claim["verdict"] for paper in papers for claim in paper["claims"]}
    tables = {figure["id"]: figure["sha256"] for paper in papers for figure in paper["figures"]}
    for paper in theirs["papers"]:
        for claim in paper["claims"]:
            name, verdict = claim["id"], claim["verdict"]
            if "not run" not in (verdict, verdicts.get(name, "not run")) and verdicts[name] != verdict:
                yield f"{name}: their audit says {verdict}, these results say {verdicts[name]}"
        for figure in paper["figures"]:
            if tables.get(figure["id"], figure["sha256"]) != figure["sha256"]:
                yield f"{figure['id']}: their table has other bytes than the one drawn from these results"
