"""The committed tables, each read, planned and judged once a process."""

from functools import cache

import pandas as pd

from resaudit.claims.records import Judgement
from resaudit.claims.verdicts import judge
from resaudit.plan.claim import Claim
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, plan_figure
from tests.conftest import CHECKOUT, configured

REFERENCE = CHECKOUT / "figures" / "reference"
TABLES = {
    "/".join([*csv.parent.relative_to(REFERENCE).parts, csv.stem]): csv
    for csv in sorted(REFERENCE.rglob("*/*.csv"))
    if csv.stem != "robustness"
}
"""By ``[scale_NAME/]paper/figure[-dataset]``."""


def figure_of(name: str) -> str:
    """The ``paper/figure`` that a table is of."""
    *_, paper, stem = name.split("/")
    return f"{paper}/{stem.split('-')[0]}"


@cache
def config_of(name: str) -> Config:
    """The configuration that a table was drawn with."""
    *scale, _, stem = name.split("/")
    overrides = [f"scale={each.removeprefix('scale_')}" for each in scale]
    return configured("device=cpu", *overrides, *(f"dataset={each}" for each in stem.split("-")[1:]))


@cache
def planned(name: str) -> FigurePlan:
    """The plan of a table's figure."""
    return plan_figure(config_of(name).figure[figure_of(name)], "data")


@cache
def table_of(name: str) -> pd.DataFrame:
    """A committed table. Do not change it in place."""
    return pd.read_csv(TABLES[name], low_memory=False)


def claims_on(name: str) -> dict[str, Claim]:
    """The claims that are judged by a table, by id."""
    paper, evidence = figure_of(name).split("/")
    return {
        key: claim
        for key, claim in config_of(name).claims_of(paper).items()
        if claim.evidence == evidence and not claim.not_yet
    }


def judged(name: str, claim: str, table: pd.DataFrame) -> Judgement:
    """The judgement on a claim by a table in place of the committed one."""
    config, figure = config_of(name), figure_of(name)
    return judge(claims_on(name)[claim], table, config.scale_of(figure), config.dataset_of(figure))


@cache
def as_committed(name: str, claim: str) -> Judgement:
    """The judgement on a claim by a committed table."""
    return judged(name, claim, table_of(name))
