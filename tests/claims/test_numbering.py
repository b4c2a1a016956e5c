"""Oracle: the committed tables with the runs of each network and depth in another order.

Sees a verdict that depends on which runs of different networks happen to have the same number.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.checks.means import ZeroOfExponent
from resaudit.claims.verdicts import judge
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load

REFERENCE = Path(__file__).resolve().parents[2] / "figures" / "reference"
CONFIG = load(["device=cpu"])


@cache
def table_of(figure: str) -> pd.DataFrame | None:
    path = REFERENCE / f"{figure}.csv"
    return pd.read_csv(path, low_memory=False) if path.is_file() else None


def claims() -> dict[str, tuple[str, Claim]]:
    """Every claim whose committed table has runs of networks, with its figure."""
    found = {}
    for paper in CONFIG.claims:
        for name, claim in CONFIG.claims_of(paper).items():
            table = None if claim.not_yet else table_of(f"{paper}/{claim.evidence}")
            if table is not None and {"network", "run"} <= set(table):
                found[f"{paper}/{name}"] = f"{paper}/{claim.evidence}", claim
    return found


def renumbered(table: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The runs of each network and depth under one another's numbers, the same at all rates and epochs."""
    rng, parts = np.random.default_rng(seed), []
    for _, rows in table.groupby([key for key in ("network", "depth") if key in table], sort=False):
        runs = rows["run"].unique()
        parts.append(rows.assign(run=rows["run"].map(dict(zip(runs, rng.permutation(runs), strict=True)))))
    return pd.concat(parts).sample(frac=1, random_state=seed, ignore_index=True)


CLAIMS = claims()


@pytest.mark.parametrize("name", CLAIMS)
def test_no_verdict_depends_on_how_runs_are_numbered(name: str) -> None:
    figure, claim = CLAIMS[name]
    table = table_of(figure)
    assert table is not None
    as_drawn = judge(claim, table, "laptop", CONFIG.dataset_of(figure))
    for seed in range(2):
        found = judge(claim, renumbered(table, seed), "laptop", CONFIG.dataset_of(figure))
        assert found.verdict is as_drawn.verdict
        for one, other in zip(as_drawn.checks, found.checks, strict=True):
            # Its runs have the same inputs at every power and depth: their numbers mean something.
            if not isinstance(one.check, ZeroOfExponent):
                ends = [{p.where: p.ends for p in result.points} for result in (one, other)]
                assert ends[0].keys() == ends[1].keys()
                assert np.allclose(*([each[where] for where in ends[0]] for each in ends), rtol=1e-9, equal_nan=True)
