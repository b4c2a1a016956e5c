"""Building every table and plot once from staged results: an import takes nothing that a later command cannot."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line
from resaudit.figures.drawing import ODD_CONTENT, plot_of
from resaudit.figures.printed import printed_values
from resaudit.figures.tables import Drawn
from resaudit.jobs.job import Job
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, Plan, with_inputs
from resaudit.share.judging import audited_table, verdicts_on


def build_tables(plan: Plan, staged: Collection[str], staging: Path, results: Path) -> None:
    """Read every staged result; make, judge and plot each table that rests on one and whose other results are here.

    Args:
        plan: with every figure.
        staged: keys of the jobs whose results are staged.
        staging: their folder of results; those that are here already are linked into it.
        results: folder of the results that are here.

    Raises:
        ResauditError: a result or a table is not what later commands take.
    """
    for key in staged:
        with _named(key):
            plan.jobs[key].read(staging)
    for name, part in plan.figures.items():
        behind = with_inputs(part.jobs.values())
        if behind.keys() & set(staged):
            for key, job in behind.items():
                if job.files and not (staging / key).exists() and _is_read(job, results):
                    (staging / key).parent.mkdir(exist_ok=True)
                    (staging / key).symlink_to((results / key).resolve())
            if all(file.is_file() for file in part.reads(staging)):
                with _named(name):
                    _check(plan.config, name, part, staging)


@contextmanager
def _named(what: str) -> Iterator[None]:
    try:
        yield
    except (ResauditError, *ODD_CONTENT) as error:
        reason = one_line(str(error) or type(error).__name__)
        raise ResauditError(f"the archive's results give no {what}: {reason}; ask for another run") from error


def _is_read(job: Job, results: Path) -> bool:
    """Whether a result is here and whole; that it is not, is no fault of the archive."""
    try:
        job.read(results)
    except (ResauditError, *ODD_CONTENT):
        return False
    return True


def _check(config: Config, name: str, part: FigurePlan, staging: Path) -> None:
    """Check and judge a table as the audit does, and plot it as the drawing does."""
    table = audited_table(part, staging)
    verdicts_on(config, name, table)
    printed_values(config, name.split("/")[0], {name: Drawn(name, table, "", {})})
    plot_of(part, table).draw_without_rendering()
