"""Oracle: committed tables with one cell changed. Sees a fault that stops the judging, or does not say where it is."""

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.verdicts import judgement_on
from resaudit.figures.draw import reference_file
from tests.claims.made import mentions
from tests.conftest import configured

PAPER = "demystifying_resnet"


@pytest.mark.parametrize(
    ("claim", "column", "value", "named"),
    [
        ("condition-smaller-at-every-loss", "condition_number", -np.inf, ("2-shortcut", "run 10", "epoch 4", "-inf")),
        ("condition-smaller-at-every-loss", "loss", -1.0, ("2-shortcut", "run 10", "epoch 4", "above zero")),
        ("index-drops-early", "index", np.nan, ("2-shortcut", "run 10", "epoch 4", "line 6")),
        ("final-loss-better", "excess_loss", -0.5, ("2-shortcut", "depth 4", "screening", "run 4")),
        ("final-loss-better", "run", np.nan, ("2-shortcut", "depth 4", "screening", "line 6")),
        ("depth-invariant-condition", "condition_number", "many", ("2-shortcut", "depth 2", "run 4", "text")),
        ("depth-invariant-condition", "resolved", "yes", ("2-shortcut", "depth 2", "resolved")),
    ],
)
def test_a_fault_leaves_the_claim_open_with_the_keys_of_its_row(
    claim: str, column: str, value: float | str, named: tuple[str, ...]
) -> None:
    config = configured()
    table = pd.read_csv(reference_file(f"{PAPER}/{config.claims[PAPER][claim].evidence}"))
    table = table.astype({column: object} if isinstance(value, str) else {})
    table.loc[4, column] = value
    judgement = judgement_on(config, PAPER, claim, table)
    assert (judgement.verdict, len(judgement.checks)) == ("inconclusive", len(config.claims[PAPER][claim].checks))
    assert judgement.obstacle.startswith("cannot be judged at ")
    assert mentions(judgement.obstacle, *named)


def test_an_effect_beyond_a_limit_says_where() -> None:
    (check,) = configured().claims[PAPER]["final-loss-near-optimal"].checks
    limited = configured(f"claims.{PAPER}.final-loss-near-optimal.limits={{{check}:{{at_most:1e-9,reason:made}}}}")
    judgement = judgement_on(limited, PAPER, "final-loss-near-optimal", pd.read_csv(reference_file(f"{PAPER}/fig07")))
    assert judgement.obstacle.startswith("cannot be judged: ")
    assert mentions(judgement.obstacle, "depth 4", "limit")
