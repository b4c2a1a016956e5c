"""Claims judged again, with what was recomputed in place of what was imported.

Tolerances bound how far each number may be off, not what follows from all of them together: a forger who stays within
every tolerance could still turn a verdict. So the verdicts are compared too.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
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
    """Judge claims by the results that are here, and with recomputed ones in place of these.

    Args:
        plan: of this checkout.
        results: folder of all results, imported ones among them.
        claims: ``paper/claim``.
        recomputed: folder of each recomputed result, by the key of its job; the others count as they are.
    """
    found: dict[str, JudgedTwice] = {}
    for figure, part in plan.figures.items():
        own = set(claims).intersection(_claims_of(plan.config, figure))
        if own:
            try:
                before = verdicts_on(plan.config, figure, audited_table(part, results))
                with _replaced(part, results, recomputed) as folder:
                    after = verdicts_on(plan.config, figure, audited_table(part, folder))
            except (ResauditError, *ODD_CONTENT) as error:
                found |= dict.fromkeys(own, JudgedTwice(obstacle=one_line(str(error) or type(error).__name__)))
            else:
                found |= {claim: JudgedTwice(imported=before[claim], recomputed=after[claim]) for claim in own}
    return found


def audited_table(part: FigurePlan, results: Path) -> pd.DataFrame:
    """A figure's table as the drawing writes it and the audit reads it.

    Raises:
        ResauditError: a result is missing, or the table is not what the plan draws.
    """
    with TemporaryDirectory() as folder:
        csv = Path(folder) / "figure.csv"
        write_csv(csv, table_of(part, results)[1])
        table = read_csv(csv)
    if wrong := unexpected(table, part):
        raise ResauditError(wrong)
    return table


def verdicts_on(config: Config, figure: str, table: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim about a figure, by ``paper/claim``; raises as :func:`judge`."""
    paper, scale, data = figure.split("/")[0], config.scale.name, config.dataset_of(figure)
    claims = config.claims_of(paper)
    return {
        name: judge(claims[name.removeprefix(f"{paper}/")], table, scale, data).verdict.value
        for name in _claims_of(config, figure)
    }


def _claims_of(config: Config, figure: str) -> list[str]:
    paper, _, evidence = figure.partition("/")
    return [f"{paper}/{name}" for name, claim in config.claims_of(paper).items() if claim.evidence == evidence]


@contextmanager
def _replaced(part: FigurePlan, results: Path, recomputed: Mapping[str, Path]) -> Iterator[Path]:
    """A folder of links to a figure's results, to the recomputed ones where there are any."""
    with TemporaryDirectory() as name:
        for key, job in with_inputs(part.jobs.values()).items():
            if job.files:
                link = job.folder(Path(name))
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(recomputed.get(key, job.folder(results)).resolve())
        yield Path(name)
