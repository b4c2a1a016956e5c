"""Building every table and plot once from staged results: an import takes nothing that a later command cannot."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from resaudit.base.errors import ArchiveError, ResauditError
from resaudit.base.models import one_line
from resaudit.claims.comparison import verdicts_on
from resaudit.figures.drawing import ODD_CONTENT, lay_out, plot_of
from resaudit.figures.tables import Drawn, printed_values
from resaudit.plan.plan import Plan, with_inputs
from resaudit.share.judging import audited_table


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
