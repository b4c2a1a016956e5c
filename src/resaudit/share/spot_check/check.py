"""``resaudit spot-check``: recompute some of an imported run and compare."""

import secrets
import shutil
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from resaudit.audit.sampling import in_order
from resaudit.audit.spot_check_words import reasons, statement_in_words
from resaudit.audit.spot_checks import AGREED, COMPARED, Recomputed, SpotCheck, statements, write_statement
from resaudit.base.errors import BusyError, Interrupted, ResauditError
from resaudit.base.files import sha256_of
from resaudit.base.models import shown
from resaudit.base.text import counted
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Job
from resaudit.jobs.job_provenance import JobProvenance
from resaudit.jobs.origin import RECOMPUTED
from resaudit.jobs.plan_files import code_of
from resaudit.jobs.provenance import commit
from resaudit.jobs.results import read_provenance
from resaudit.plan.layout import Layout
from resaudit.plan.plan import Plan, execution_of
from resaudit.runtime.limits import processors
from resaudit.runtime.locks import hold
from resaudit.share.comparing import Compared, compare
from resaudit.share.judging import judge_twice
from resaudit.share.records import imports
from resaudit.share.spot_check.frame import Frame, Imported, family, sampling_frame
from resaudit.share.spot_check.recomputing import Recomputation, folder_of, recompute

Say = Callable[[str], None]
MINUTES = 10.0
"""Default time to start jobs in."""
SEED_BYTES = 16
"""Bytes of a seed that is made here."""


def spot_check(plan: Plan, say: Say, minutes: float | None, claim: str | None = None, seed: str | None = None) -> bool:
    """Recompute imported results, compare them, and write the statement to ``results/spot-checks``.

    The file is written again after each comparison, so that an interrupted check keeps what it found. A later check
    with the same seed goes on from there.

    Args:
        plan: the plan of this checkout.
        say: prints a line.
        minutes: time to start jobs in; None: as long as it takes.
        claim: the only claim to check; None: all.
        seed: seed of the draw; None: a new one.

    Returns:
        Whether something was compared, all of it agrees (in every byte where equal bytes were expected), and every
        verdict is the same with what was recomputed.

    Raises:
        ResauditError: nothing is imported, or another spot-check is at work.
        Interrupted: by a signal; the statement so far was said and written.
    """
    results, cores = Layout(plan.config.paths).results, processors()
    seconds = None if minutes is None else 60 * minutes
    frame = sampling_frame(plan, results, execution_of(plan.config), seconds, cores, claim)
    folder = results / RECOMPUTED
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(NotImplementedError):
        if not hold(folder / ".lock"):
            raise BusyError(f"another spot-check is at work in {folder}; wait for it")
    check = _begun(frame, results, seed, minutes, claim)
    say(
        f"{len(frame.jobs)} imported results under {counted(len(frame.claims), 'verdict')}: {len(frame.always)} short "
        f"jobs are always recomputed, {len(frame.sampled)} in the order that the seed draws"
    )
    if check.jobs:
        say(f"{len(check.jobs)} of them were compared before with this seed, and count")
    if frame.out_of_reach:
        say(f"out of reach: {reasons(frame.out_of_reach)}")
    interruption = None
    with closing(_continued(check, frame, results, cores, seconds)) as comparisons:
        try:
            with _signals_raise():
                for key, check in comparisons:
                    write_statement(check, results)
                    job = check.jobs[key]
                    say(f"{key}: {job.outcome}{f': {job.difference}' if job.difference else ''} ({job.seconds} s)")
        except Interrupted as error:
            interruption = error
    if not interruption:
        compared = set(check.keys(*COMPARED))
        claims = [name for name, keys in check.claims.items() if compared.intersection(keys)]
        others = {key: _recomputed(frame.jobs[key].job, results) for key in compared - set(check.keys("equal"))}
        check = check.model_copy(update={"judged": judge_twice(plan, results, claims, others)})
    path = write_statement(check, results)
    for line in ("", *statement_in_words(check, results)):
        say(line)
    say(f"written to {path}; with --seed {check.seed} and more time the same list goes on")
    if interruption:
        raise interruption
    return bool(check.keys(*AGREED)) and not check.keys("failed", "warned") and not check.turned


def _begun(frame: Frame, results: Path, seed: str | None, minutes: float | None, claim: str | None) -> SpotCheck:
    """A check before its first comparison.

    It has those that earlier checks of the same seed made, as far as code and imported files are still the same.
    """
    earlier = [check for check in statements(results) if check.seed == seed]
    names = {record.archive: record.name for record in imports(results)}
    archives = sorted({one.origin.archive for one in frame.jobs.values()})
    now, drawn_by = _now(), seed or secrets.token_hex(SEED_BYTES)
    known = {
        key: job
        for check in earlier
        for key, job in check.jobs.items()
        if key in frame.jobs
        and job.outcome in COMPARED
        and job.code == code_of(frame.jobs[key].job)
        and job.imported == _digests(frame.jobs[key], results)
        and (job.outcome == "equal" or _recomputed(frame.jobs[key].job, results).is_dir())
    }
    return SpotCheck(
        started=now,
        finished=now,
        archives={archive: names.get(archive, "imported run") for archive in archives},
        seed=drawn_by,
        source=earlier[0].source if earlier else "given" if seed else "made here after the import",
        minutes=minutes,
        wanted=next(iter(frame.claims)) if claim else None,
        claims={name: list(keys) for name, keys in frame.claims.items()},
        always=list(frame.always),
        weights=dict(frame.sampled),
        clocks=in_order(drawn_by, frame.sampled),
        out_of_reach=dict(frame.out_of_reach),
        out_of_reach_weight=sum(frame.jobs[key].weight for key in frame.out_of_reach),
        jobs=known,
        commit=commit(),
    )


def _recomputed(job: Job, results: Path) -> Path:
    """The folder of a recomputed result; of one that is equal nothing is kept."""
    return job.folder(folder_of(results, job))


def _continued(
    check: SpotCheck, frame: Frame, results: Path, cores: int, seconds: float | None
) -> Generator[tuple[str, SpotCheck], None, None]:
    """The key of each further job that was compared, and the check after it."""
    always = [key for key in check.always if key not in check.jobs]
    keys = always + [key for key in check.clocks if key not in check.jobs]
    with closing(recompute([frame.jobs[key] for key in keys], len(always), results, cores, seconds)) as recomputations:
        for recomputation in recomputations:
            job = recomputation.one.job
            compared, is_same = _compared(recomputation, results)
            record = Recomputed(
                outcome=compared.outcome,
                difference=compared.difference,
                same_class=is_same,
                imported=_digests(recomputation.one, results),
                code=code_of(job),
                seconds=recomputation.seconds,
            )
            if compared.outcome == "equal":
                # Its inputs are links.
                shutil.rmtree(folder_of(results, job), ignore_errors=True)
            check = check.model_copy(update={"jobs": check.jobs | {job.key: record}, "finished": _now()})
            yield job.key, check


def _compared(recomputation: Recomputation, results: Path) -> tuple[Compared, bool]:
    """The comparison of one job, and whether both were made from the same inputs by one CPU platform."""
    if recomputation.error is not None:
        return Compared("not confirmed", f"it failed here: {recomputation.error}"), False
    job, origin, is_same = recomputation.one.job, recomputation.one.origin, False
    ours, theirs = _recomputed(job, results), job.folder(results)
    try:
        here, there = read_provenance(ours), read_provenance(theirs)
        # Input digests differ where, say, whitened data had to be computed here on another CPU platform.
        same_inputs = _computed_inputs(job, here) == _computed_inputs(job, there)
        # A result of several platforms has parts that no single one can give again.
        is_same = same_inputs and here.platforms == there.platforms == [origin.cpu_platform]
        if is_same and family(here.kernel) != family(origin.kernel):
            return Compared("not confirmed", f"computed by {here.kernel}, not by {shown(origin.kernel)}"), True
        return compare(job.files, ours, theirs, is_same, job.tolerances()), is_same
    except (OSError, ResauditError) as error:
        return Compared("failed", f"cannot be read ({error})"), is_same


def _computed_inputs(job: Job, provenance: JobProvenance) -> dict[str, str]:
    """The digests of what a job read, without raw data: of those, an import has to take the sender's word."""
    raw = {needed.key for needed in job.inputs.values() if isinstance(needed, Fetch)}
    return {name: digest for name, digest in provenance.inputs.items() if name.rpartition("/")[0] not in raw}


def _digests(one: Imported, results: Path) -> dict[str, str]:
    """SHA-256 of the imported files, as they are now, without those that are missing."""
    files = {name: one.job.folder(results) / name for name in one.job.files}
    return {name: sha256_of(file) for name, file in files.items() if file.is_file()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Raise :class:`Interrupted` at the first SIGINT or SIGTERM; ignore the next ones while jobs are stopped."""

    def stop(number: int, _frame: FrameType | None) -> None:
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number, "the statement above is of what was compared so far")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
