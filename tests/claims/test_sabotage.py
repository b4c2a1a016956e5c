"""Oracle: the committed reference tables, and the same with two networks' labels swapped.

Sees a check that would hold whatever the evidence says: with the labels swapped the verdict must turn, or, where the
claim fails as it is, what was found must.
"""

import pandas as pd
import pytest

from resaudit.claims.decision import Verdict
from resaudit.claims.verdicts import Judgement, judge
from resaudit.claims.words import why
from tests.conftest import CHECKOUT, configured

REFERENCES = CHECKOUT / "figures" / "reference" / "demystifying_resnet"
CONFIG = configured()
CLAIMS = CONFIG.claims_of("demystifying_resnet")
ON_IMAGES = {name.split("/")[1] for name, figure in CONFIG.figure.items() if figure.protocol.needs_gpu}
"""Figures without reference tables; tests/residual/images/test_sabotage.py has their claims."""
CAN_BE_RUN = [n for n, c in CLAIMS.items() if c.kind == "empirical" and not c.not_yet and c.evidence not in ON_IMAGES]

SWAPPED = {
    "depth-invariant-condition": ("2-shortcut", "orthogonal"),
    "plain-condition-explodes": ("orthogonal", "2-shortcut"),
    "orthogonal-slower-than-xavier": ("orthogonal", "xavier"),
    "condition-smaller-at-every-loss": ("2-shortcut", "xavier"),
    "condition-converges": ("2-shortcut", "xavier"),
    "index-always-smaller": ("2-shortcut", "orthogonal"),
    "index-drops-early": ("2-shortcut", "xavier"),
    "index-drops-at-high-loss": ("2-shortcut", "xavier"),
    "gradient-peak-at-index-drop": ("2-shortcut", "xavier"),
    "final-loss-near-optimal": ("2-shortcut", "xavier"),
    "final-loss-better": ("2-shortcut", "xavier"),
    "final-loss-better-in-pairs": ("2-shortcut", "xavier"),
    "final-loss-better-than-deeper-shortcuts": ("2-shortcut", "4-shortcut"),
    "final-loss-better-than-deeper-shortcuts-in-pairs": ("2-shortcut", "4-shortcut"),
    "deeper-shortcuts-hard-to-escape": ("2-shortcut", "3-shortcut"),
    "higher-learning-rates": ("2-shortcut", "orthogonal"),
    "relu-final-loss": ("2-shortcut-relu", "xavier-relu"),
    "relu-plain-stuck": ("xavier-relu", "2-shortcut-relu"),
    "shortcut-1-like-orthogonal": ("orthogonal", "2-shortcut"),
}


def judged(name: str, table: pd.DataFrame) -> Judgement:
    return judge(CLAIMS[name], table, "laptop")


def reference(name: str) -> pd.DataFrame:
    return pd.read_csv(REFERENCES / f"{CLAIMS[name].evidence}.csv")


def found(judgement: Judgement, verdict: str) -> int:
    return sum(point.verdict.value == verdict for f in judgement.checks for point in f.points)


SUPPORTED = {name for name in SWAPPED if judged(name, reference(name)).verdict is Verdict.supported}


def failures(judgement: Judgement) -> int:
    return found(judgement, "contradicted")


@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_labels_turn_the_verdict(name: str) -> None:
    table = reference(name)
    if name == "relu-plain-stuck":
        table = table[table["learning_rate"] < 3]  # above, both diverge
    one, other = SWAPPED[name]
    honest = judged(name, table)
    sabotaged = judged(name, table.assign(network=table["network"].replace({one: other, other: one})))
    fewer_hold = found(sabotaged, "supported") < found(honest, "supported")
    turned = honest.verdict != sabotaged.verdict or failures(sabotaged) > failures(honest) or fewer_hold
    if name in SUPPORTED:
        assert turned, why(sabotaged)
    else:
        assert turned or why(sabotaged) != why(honest)


def test_reversed_depths_turn_the_verdict_on_the_weights() -> None:
    name = "weights-shrink-with-depth-mlp"
    table = reference(name)
    depths = table.groupby("network")["depth"].unique().map(sorted)
    reverse = {(n, d): e for n, own in depths.items() for d, e in zip(own, reversed(own), strict=True)}
    keys = zip(table["network"], table["depth"], strict=True)
    honest, sabotaged = judged(name, table), judged(name, table.assign(depth=[reverse[key] for key in keys]))
    checks = [{f.name: f.verdict.value for f in judgement.checks} for judgement in (honest, sabotaged)]
    assert [each["shrinks-with-relus"] for each in checks] == ["contradicted", "contradicted"]
    assert failures(sabotaged) > failures(honest)


@pytest.mark.parametrize("name", [n for n in CAN_BE_RUN if n != "weights-shrink-with-depth-mlp"])
def test_every_empirical_claim_is_sabotaged(name: str) -> None:
    assert name in SWAPPED
