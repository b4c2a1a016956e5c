"""Oracle: the committed reference tables, and the same with two networks' labels swapped.

Sees a check that would hold whatever the evidence says: with the labels swapped the verdict must turn, or, where the
claim fails as it is, what was found must.
"""

import pytest

from resaudit.claims.records import Judgement
from resaudit.claims.words import why
from tests.claims.committed import as_committed, judged, table_of
from tests.conftest import configured

PAPER = "demystifying_resnet"

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


def reference(claim: str) -> str:
    """The name of the committed table that a claim is judged by."""
    return f"{PAPER}/{configured('device=cpu').claims[PAPER][claim].evidence}"


def found(judgement: Judgement, verdict: str) -> int:
    return sum(point.verdict == verdict for f in judgement.checks for point in f.points)


def failures(judgement: Judgement) -> int:
    return found(judgement, "contradicted")


@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_labels_turn_the_verdict(name: str) -> None:
    table = table_of(reference(name))
    if name == "relu-plain-stuck":
        table = table[table["learning_rate"] < 3]  # above, both diverge
    one, other = SWAPPED[name]
    honest, swapped = judged(reference(name), name, table), table["network"].replace({one: other, other: one})
    sabotaged = judged(reference(name), name, table.assign(network=swapped))
    fewer_hold = found(sabotaged, "supported") < found(honest, "supported")
    turned = honest.verdict != sabotaged.verdict or failures(sabotaged) > failures(honest) or fewer_hold
    if as_committed(reference(name), name).verdict == "supported":
        assert turned, why(sabotaged)
    else:
        assert turned or why(sabotaged) != why(honest)


def test_reversed_depths_turn_the_verdict_on_the_weights() -> None:
    name = "weights-shrink-with-depth-mlp"
    table = table_of(reference(name))
    depths = table.groupby("network")["depth"].unique().map(sorted)
    reverse = {(n, d): e for n, own in depths.items() for d, e in zip(own, reversed(own), strict=True)}
    keys = zip(table["network"], table["depth"], strict=True)
    honest = as_committed(reference(name), name)
    sabotaged = judged(reference(name), name, table.assign(depth=[reverse[key] for key in keys]))
    checks = [{f.name: f.verdict for f in judgement.checks} for judgement in (honest, sabotaged)]
    assert [each["shrinks-with-relus"] for each in checks] == ["contradicted", "contradicted"]
    assert failures(sabotaged) > failures(honest)


def test_every_empirical_claim_is_sabotaged() -> None:
    """But for those about images, which tests/residual/images/test_sabotage.py has."""
    config = configured("device=cpu")
    on_images = {name for name, figure in config.figure.items() if figure.protocol.needs_gpu}
    empirical = {
        name for name, claim in config.claims[PAPER].items() if claim.kind == "empirical" and not claim.not_yet
    }
    assert {n for n in empirical if reference(n) not in on_images} == {*SWAPPED, "weights-shrink-with-depth-mlp"}
