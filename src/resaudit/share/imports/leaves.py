"""Imported results as leaves of Snakemake's graph: nothing that they were computed from is needed, or makes them stale.

Measured with Snakemake 9.27: a producer that must run reruns everything after it, also what ``ancient`` inputs have.
"""

from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.jobs.job import Job
from resaudit.jobs.origin import IMPORTED, origin_of
from resaudit.jobs.plan_files import code_of
from resaudit.plan.plan import Plan


def check_imported(plan: Plan, results: Path) -> None:
    """Check before any job that imported results are of today's code, or were accepted for it.

    Raises:
        ResauditError: some are not; Snakemake would replace them.
    """
    stale = [key for key, job in plan.jobs.items() if job.files and _is_imported(job, results) is False]
    if stale:
        raise ResauditError(
            "stale-imports",
            "{count} imported results ({first} …) were accepted for other code than today's; check that code out, "
            "import the run again with --other-code, or 'resaudit import --forget RUN'",
            count=len(stale),
            first=stale[0],
        )


def leaf_inputs(job: Job, results: Path) -> list[Path] | None:
    """The record of an imported result, all that a rule's job needs then; None if the result is computed here."""
    return [results / job.key / IMPORTED] if job.files and _is_imported(job, results) else None


def _is_imported(job: Job, results: Path) -> bool | None:
    """Whether a result was imported and accepted for today's code; None if it was computed here."""
    origin = origin_of(results, job.key)
    return None if origin is None else origin.accepted_code == code_of(job)
