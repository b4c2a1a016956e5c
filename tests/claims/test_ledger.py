"""Oracle: the rules that CONTRIBUTING states for a ledger. Sees bad entries that nothing but a verdict would show."""

# ruff: noqa: E501

import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from resaudit.composition import load
from resaudit.errors import ResauditError
from resaudit.explanation import ledger_sha256
from resaudit.ledger import AtTheEnd, GrowthDifference
from tests.conftest import CHECKOUT

IDS_OF_THE_PROTOCOL = {
    "depth-invariant-condition", "plain-condition-explodes", "orthogonal-slower-than-xavier",
    "condition-smaller-at-every-loss", "condition-converges", "index-always-smaller", "index-drops-early",
    "gradient-peak-at-index-drop", "final-loss-near-optimal", "higher-learning-rates", "relu-final-loss",
    "relu-plain-stuck", "weights-shrink-with-depth-mlp", "weights-shrink-with-depth-resnet", "shortcut-2-unique",
    "shortcut-1-like-orthogonal", "theorem-1-construction", "theorem-2-stationarity",
    "theorem-2-two-shortcut-hessian", "theorem-2-one-shortcut-hessian",
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKOUT / "config", tmp_path / "config"))


def with_entry(config: Path, old: str, new: str) -> Path:
    """The configuration with one thing changed in the ledger."""
    ledger = config / "claims" / "demystifying_resnet.yaml"
    text = ledger.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    ledger.write_text(text.replace(old, new, 1), encoding="utf-8")
    return config


def test_every_claim_of_the_paper_is_in_the_ledger() -> None:
    assert set(load().claims_of("demystifying_resnet")) == IDS_OF_THE_PROTOCOL


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("check: ratio_across_depths", "check: ratio_over_depths", "is 'ratio_over_depths'; allowed: ratio_across_depths, growth"),
        ("within_factor: 1.1", "within_factor: close", "Value 'close' of type 'str' could not be converted to Float"),
        ("within_factor: 1.1", "within_factor: 0.9", "within_factor is 0.9; allowed: finite numbers above 1"),
        ("within_factor: 1.1", "within_factor: .nan", "within_factor is nan; allowed"),
        (", within_factor: 1.1", "", "constant has no threshold; give at_least"),
        ("within_factor: 1.1", "within_factor: 1.1, at_most: 3", "has at_most and within_factor; give"),
        ("within_factor: 1.1", "at_least: 2, at_most: 1", "at_least 2.0 lies above at_most 1.0"),
        ("networks: [2-shortcut], column", "networks: [], column", "networks is empty; give at least one"),
        ("others: [orthogonal, xavier], column", "others: [], column", "others is empty; give at least one"),
        ('properties: ["theorem 2.1: a derivative of order n is not zero"]', "properties: []", "properties is empty; give"),
        ("constant: {check: ratio_across_depths, networks: [2-shortcut], column: condition_number, within_factor: 1.1}", "{}", "checks is empty; give at least one"),
        ("within_factor: 1.1", "within_factor: 1", "within_factor is 1.0; allowed: finite numbers above 1"),
        ("networks: [2-shortcut], column", "network: 2-shortcut, column", "Key 'network' not in 'RatioAcrossDepths'"),
        ("evidence: fig04", "evidence: fig99", "evidence is 'fig99', which is no figure; allowed: fig03, fig04"),
        ("evidence: fig04", "evidence: fig04\n  not_yet: later", "not_yet says 'later', but fig04 is here; remove"),
        ("kind: empirical", "kind: anecdotal", "Invalid value 'anecdotal', expected one of [theorem, empirical, count]"),
        ("  where: abstract; section 5.1, Figure 4\n", "", "where"),
        ("runs: 3, depths: [4, 64]", "runs: 0, depths: [4, 64]", "needs.runs is 0; allowed: finite numbers of at least 1"),
        ("runs: 3, depths: [4, 64]", "runs: 3, scales: [huge]", "needs.scales has 'huge'; allowed: laptop, paper, smoke"),
        ("plain-condition-explodes:", "depth-invariant-condition:", "duplicate key depth-invariant-condition"),
        ("statement: At", "statment: At", "Key 'statment' not in 'Claim'"),
        ("depth-invariant-condition:\n", "depth-invariant-condition: [\n", "claims"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_one_clear_line(config: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ResauditError) as error:
        load(folder=with_entry(config, old, new))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_claims_side_may_be_a_single_number(config: Path) -> None:
    claims = load(folder=with_entry(config, "within_factor: 1.1", "at_least: 1, at_most: 1")).claims_of(
        "demystifying_resnet"
    )
    assert claims["depth-invariant-condition"].checks["constant"].region == (1, 1)


def test_the_hash_changes_with_a_threshold_and_not_with_the_layout(config: Path) -> None:
    before = ledger_sha256(load(), "demystifying_resnet")
    assert ledger_sha256(load(folder=config), "demystifying_resnet") == before
    assert ledger_sha256(load(["scale=paper"]), "demystifying_resnet") == before
    spaced = with_entry(config, "kind: empirical", "kind:   empirical # really")
    assert ledger_sha256(load(folder=spaced), "demystifying_resnet") == before
    changed = with_entry(config, "within_factor: 1.1", "within_factor: 1.2")
    assert ledger_sha256(load(folder=changed), "demystifying_resnet") != before


def test_the_hash_changes_with_the_check_that_is_used(config: Path) -> None:
    """Both checks have the same parameters, with the same values."""
    claims, before = load().claims_of("demystifying_resnet"), ledger_sha256(load(), "demystifying_resnet")
    (name, check), *_ = ((n, k) for n, c in claims.items() for k, v in c.checks.items() if isinstance(v, AtTheEnd))
    one = load(folder=config)
    old = one.claims_of("demystifying_resnet")[name].checks[check]
    one.claims_of("demystifying_resnet")[name].checks[check] = GrowthDifference(**asdict(old))
    assert asdict(one.claims_of("demystifying_resnet")[name].checks[check]) == asdict(old)
    assert ledger_sha256(one, "demystifying_resnet") != before


def test_every_claim_has_words_for_its_reading_and_a_reason() -> None:
    for name, claim in load().claims_of("demystifying_resnet").items():
        for text in (claim.statement, claim.where, claim.reading, claim.reason):
            assert len(text) > 5, name
