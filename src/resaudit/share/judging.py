"""Claims judged again, with what was recomputed in place of what was imported.

Tolerances bound how far each number may be off, not what follows from all of them together: a forger who stays within
every tolerance could still turn a verdict. So the verdicts are compared too.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from resaudit.audit.spot_checks import JudgedTwice
from resaudit.base.errors import ResauditError, TableError
from resaudit.base.models import one_line
from resaudit.claims.comparison import claims_on, verdicts_on
from resaudit.figures.drawing import ODD_CONTENT, read_csv, table_of, write_csv
from resaudit.figures.expected import unexpected
from resaudit.plan.plan import FigurePlan, Plan, with_inputs


def judge_twice(
    plan: Plan, results: Path, claims: Collection[str], recomputed: Mapping[str, Path]
) -> dict[str, JudgedTwice]:
    """Judge claims by the results that are here, and with recomputed ones (their folders by key) in place of these."""
    judged: dict[str, JudgedTwice] = {}
    for figure, figure_plan in plan.figures.items():
        names = set(claims).intersection(claims_on(plan.config, figure))
        if not names:
            continue
        try:
            before = verdicts_on(plan.config, figure, audited_table(figure_plan, results))
            with TemporaryDirectory() as folder:
                # Links to the results, to the recomputed ones where there are any.
                for key, job in with_inputs(figure_plan.jobs.values()).items():
                    if job.files:
                        link = job.folder(Path(folder))
                        link.parent.mkdir(parents=True, exist_ok=True)
                        link.symlink_to(recomputed.get(key, job.folder(results)).resolve())
                after = verdicts_on(plan.config, figure, audited_table(figure_plan, Path(folder)))
        except (ResauditError, *ODD_CONTENT) as error:
            judged |= dict.fromkeys(names, JudgedTwice(obstacle=one_line(str(error) or type(error).__name__)))
        else:
            judged |= {name: JudgedTwice(imported=before[name], recomputed=after[name]) for name in names}
    return judged


def audited_table(figure_plan: FigurePlan, results: Path) -> pd.DataFrame:
    """A figure's table as the drawing writes it and the audit reads it."""
    with TemporaryDirectory() as folder:
        csv = Path(folder) / "figure.csv"
        write_csv(csv, table_of(figure_plan, results)[1])
        table = read_csv(csv)
    if fault := unexpected(table, figure_plan):
        raise TableError(f"the table is not the planned one: {fault}")
    return table
