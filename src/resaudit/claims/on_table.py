"""A claim judged by the table of a drawn figure; what cannot be judged takes no other claim with it."""

import numpy as np
import pandas as pd

from resaudit.base.errors import ResauditError, TableError
from resaudit.claims.decision import Verdict
from resaudit.claims.records import UNJUDGED
from resaudit.claims.verdicts import Judgement, judge, untried
from resaudit.figures.tables import errors_naming
from resaudit.plan.experiment import in_words
from resaudit.plan.models import Config


def judgement_on(config: Config, paper: str, name: str, table: pd.DataFrame | None) -> Judgement:
    """The judgement on a claim by its figure's table (None: not drawn).

    A table that cannot be judged leaves the claim inconclusive, with the fault and the keys of its row as the obstacle.
    """
    claim = config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    try:
        with errors_naming(f"table of {figure}", figure):
            return judge(claim, table, config.scale_of(figure), config.dataset_of(figure), config.rung)
    except ResauditError as error:
        place = _place(error.__cause__, table, config.figure[figure].keys)
        return Judgement(Verdict.inconclusive, f"{UNJUDGED}{place}: {error}", untried(claim))


def _place(error: BaseException | None, table: pd.DataFrame | None, keys: list[str]) -> str:
    """The keys of the row at fault, in words; empty where the error has its own words for the place."""
    if table is None or not isinstance(error, TableError):
        return ""
    place = int(np.nanargmin(table[error.least_of])) if error.least_of in table else error.row
    if place is None:
        return ""
    row = table.iloc[place]
    return f" at {in_words(tuple((key, row[key]) for key in keys if key in table))}"
