"""Claims judged again, with what was recomputed in place of what was imported.

Tolerances bound how far each number may be off, not what follows from all of them together: a forger who stays within
every tolerance could still turn a verdict. So the verdicts are compared too.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from resaudit.audit.spot_checks import JudgedTwice
from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line
from resaudit.claims.verdicts import judge
from resaudit.figures.drawing import ODD_CONTENT, read_csv, table_of, write_csv
from resaudit.figures.expected import unexpected
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, Plan, with_inputs


def judge_twice(
    plan: Plan, results: Path, claims: Collection[str], recomputed: Mapping[str, Path]
) -> dict[str, JudgedTwice]:
    """Judge claims by the results that are here, and with recomputed ones (their folders by key) in place of these."""
    judged: dict[str, JudgedTwice] = {}
    for figure, figure_plan in plan.figures.items():
        names = set(claims).intersection(_claims_of(plan.config, figure))
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
    """A figure's table as the drawing writes it and the audit reads it.

    Raises:
        ResauditError: a result is missing, or the table is not what the plan draws.
    """
    with TemporaryDirectory() as folder:
        csv = Path(folder) / "figure.csv"
        write_csv(csv, table_of(figure_plan, results)[1])
        table = read_csv(csv)
    if fault := unexpected(table, figure_plan):
        raise ResauditError("unexpected-table", "the table is not the planned one: {fault}", fault=fault)
    return table


def verdicts_on(config: Config, figure: str, table: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim about a figure, by ``paper/claim``; raises as :func:`judge`."""
    paper, scale, data = figure.split("/")[0], config.scale_of(figure), config.dataset_of(figure)
    claims = config.claims_of(paper)
    return {
        name: judge(claims[name.removeprefix(f"{paper}/")], table, scale, data, config.rung).verdict.value
        for name in _claims_of(config, figure)
    }


def _claims_of(config: Config, figure: str) -> list[str]:
    paper, _, evidence = figure.partition("/")
    return [f"{paper}/{name}" for name, claim in config.claims_of(paper).items() if claim.evidence == evidence]
