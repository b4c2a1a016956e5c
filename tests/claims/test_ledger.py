"""Oracle: the rules that CONTRIBUTING states for a ledger. Sees bad entries that nothing but a verdict would show."""

# ruff: noqa: E501

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from resaudit.base.errors import CheckError, ResauditError
from resaudit.claims.checks.depths import GrowthDifference
from resaudit.claims.checks.losses import AtTheEnd
from resaudit.claims.verdicts import judge
from resaudit.claims.words import why
from resaudit.plan.claim import Check, Claim, Limit
from resaudit.plan.composition import load
from resaudit.plan.words import claims_sha256, judgement_sha256
from tests.claims.made import along_training, claim, mentions
from tests.conftest import CHECKOUT, configured
from tests.refusals import refused

CONDITION = "condition_number"

IDS_OF_THE_PROTOCOL = {
    "depth-invariant-condition", "plain-condition-explodes", "orthogonal-slower-than-xavier",
    "condition-smaller-at-every-loss", "condition-converges", "index-always-smaller", "index-drops-early",
    "gradient-peak-at-index-drop", "final-loss-near-optimal", "higher-learning-rates", "relu-final-loss",
    "relu-plain-stuck", "weights-shrink-with-depth-mlp", "weights-shrink-with-depth-resnet", "shortcut-2-unique",
    "shortcut-1-like-orthogonal", "theorem-1-construction", "theorem-2-stationarity",
    "theorem-2-two-shortcut-hessian", "theorem-2-one-shortcut-hessian", "final-loss-better",
    "weights-stay-near-start", "minimizers-similar-condition", "index-drops-at-high-loss",
    "final-loss-better-than-deeper-shortcuts", "deeper-shortcuts-hard-to-escape", "final-loss-better-in-pairs",
    "final-loss-better-than-deeper-shortcuts-in-pairs",
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKOUT / "config", tmp_path / "config"))


def with_entry(config: Path, old: str, new: str) -> Path:
    """The configuration with one thing changed in the ledger."""
    ledger = config / "paper" / "demystifying_resnet" / "claims.yaml"
    text = ledger.read_text(encoding="utf-8")
    assert text.count(old) >= 1, old
    ledger.write_text(text.replace(old, new, 1), encoding="utf-8")
    return config


def test_every_claim_of_the_paper_is_in_the_ledger() -> None:
    assert set(configured().claims_of("demystifying_resnet")) == IDS_OF_THE_PROTOCOL


@pytest.mark.parametrize(
    ("old", "new", "mentioned"),
    [
        ("check: ratio_across_depths", "check: ratio_over_depths", ("checks.constant", "'ratio_over_depths'", "did you mean ratio_across_depths")),
        ("check: ratio_across_depths, ", "", ("checks.constant", "None", "resaudit checks")),
        ("within_factor: 1.1", "within_factor: close", ("constant.within_factor", "'close'")),
        ("within_factor: 1.1", "within_factor: 0.9", ("within_factor", "0.9", "1")),
        ("within_factor: 1.1", "within_factor: .nan", ("within_factor", "nan")),
        (", within_factor: 1.1", "", ("constant", "threshold")),
        ("within_factor: 1.1", "within_factor: 1.1, at_most: 3", ("at_most", "within_factor")),
        ("within_factor: 1.1", "at_least: 2, at_most: 1", ("at_least", "2.0", "at_most", "1.0")),
        ("networks: [2-shortcut], column", "networks: [], column", ("networks", "empty")),
        ("networks: [2-shortcut], column", "networks: [2], column", ("networks[0]", "2")),
        ("networks: [2-shortcut], column", "networks: 2-shortcut, column", ("'2-shortcut'",)),
        ("networks: [2-shortcut], column: condition_number, ", "networks: [2-shortcut], ", ("constant.column", "missing")),
        ("column: condition_number, within", 'column: "a\\nb", within', ("constant.column", "'a\\nb'")),
        ("others: [orthogonal, xavier], column", "others: [], column", ("others", "empty")),
        ('properties: ["theorem 2.1: a derivative of order n is not zero"]', "properties: []", ("properties", "empty")),
        ("constant: {check: ratio_across_depths, networks: [2-shortcut], column: condition_number, within_factor: 1.1}", "{}", ("checks", "empty")),
        ("constant: {check: ratio_across_depths, networks: [2-shortcut], column: condition_number, within_factor: 1.1}", "constant: 3", ("checks.constant", "3")),
        ("within_factor: 1.1", "within_factor: 1", ("within_factor", "1")),
        ("networks: [2-shortcut], column", "network: 2-shortcut, column", ("'network'", "networks")),
        ("within_factor: 1.1", "within_factor: 1, at_least: x", ("constant.at_least", "'x'")),
        ("evidence: fig04", "evidence: fig99", ("'fig99'", "fig02", "fig03", "fig04")),
        ("evidence: fig04", "evidence: fig04\n  not_yet: later", ("not_yet", "'later'", "demystifying_resnet/fig04")),
        ("kind: empirical", "kind: anecdotal", ("kind", "'anecdotal'", "'theorem'")),
        ("  where: abstract; section 2, item 2; section 5.1, paragraph 2; Figure 4\n", "", ("depth-invariant-condition.where", "missing")),
        ("runs: 3, depths: [4, 64]", "runs: 0, depths: [4, 64]", ("needs.runs", "0", "1")),
        ("runs: 3, depths: [4, 64]", "runs: true, depths: [4, 64]", ("needs.runs", "True")),
        ("runs: 3, depths: [4, 64]", "runs: 3, scales: [huge]", ("needs.scales", "'huge'", "gpu_hour")),
        ("plain-condition-explodes:", "depth-invariant-condition:", ("depth-invariant-condition", "duplicate")),
        ("  statement: >-", "  statment: >-", ("'statment'", "statement")),
        ("depth-invariant-condition:\n", "depth-invariant-condition: [\n", ("claims",)),
        ("networks: [2-shortcut], column", "networks: [2-shortcutt], column", ("depth-invariant-condition.checks.constant", "'2-shortcutt'", "demystifying_resnet/fig04", "2")),
        ("column: condition_number, within", "column: condition_nmber, within", ("'condition_nmber'", "demystifying_resnet/fig04", "condition_number")),
        ("within_factor: 1.1", "epochs: [0.5], within_factor: 1.1", ("'epoch'", "demystifying_resnet/fig04", "condition_number")),
        ("kind: empirical", "kind: anecdotal", ("config/paper/demystifying_resnet/claims.yaml", "depth-invariant-condition.kind", "'anecdotal'")),
    ],
)  # fmt: skip
def test_a_bad_entry_is_one_clear_line(config: Path, old: str, new: str, mentioned: tuple[str, ...]) -> None:
    with pytest.raises(ResauditError) as error:
        load(folder=with_entry(config, old, new))
    assert [each for each in mentioned if each not in str(error.value)] == []
    assert "\n" not in str(error.value)


def test_networks_that_a_user_leaves_out_are_no_error() -> None:
    load(["fig07.networks=[xavier]"])


def test_the_claims_side_may_be_a_single_number(config: Path) -> None:
    claims = load(folder=with_entry(config, "within_factor: 1.1", "at_least: 1, at_most: 1")).claims_of(
        "demystifying_resnet"
    )
    assert claims["depth-invariant-condition"].checks["constant"].region == (1, 1)


def test_the_hash_changes_with_a_threshold_and_not_with_the_layout(config: Path) -> None:
    before = claims_sha256(configured(), "demystifying_resnet")
    assert claims_sha256(load(folder=config), "demystifying_resnet") == before
    assert claims_sha256(configured("scale=paper"), "demystifying_resnet") == before
    spaced = with_entry(config, "kind: empirical", "kind:   empirical # really")
    assert claims_sha256(load(folder=spaced), "demystifying_resnet") == before
    changed = with_entry(config, "within_factor: 1.1", "within_factor: 1.2")
    assert claims_sha256(load(folder=changed), "demystifying_resnet") != before


def test_the_hash_changes_with_the_check_that_is_used(config: Path) -> None:
    """Both checks have the same parameters, with the same values."""
    claims, before = configured().claims_of("demystifying_resnet"), claims_sha256(configured(), "demystifying_resnet")
    (name, check), *_ = ((n, k) for n, c in claims.items() for k, v in c.checks.items() if isinstance(v, AtTheEnd))
    one = load(folder=config)
    old = one.claims_of("demystifying_resnet")[name].checks[check]
    one.claims_of("demystifying_resnet")[name].checks[check] = GrowthDifference(**dict(old))
    assert dict(one.claims_of("demystifying_resnet")[name].checks[check]) == dict(old)
    assert claims_sha256(one, "demystifying_resnet") != before


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("within_factor: 1.1", "within_factor: 1.2", False),
        ("column: condition_number, at_least: 0.5", "column: condition_number, at_least: 0.4", True),  # another claim's
        ("does not depend on the", "does not change with the", True),
    ],
)
def test_the_hash_of_a_verdict_changes_with_what_it_is_computed_from(
    old: str, new: str, same: bool, config: Path
) -> None:
    """A matrix of verdicts is not stale because a claim was worded better."""
    judged = "depth-invariant-condition"
    before = judgement_sha256(configured(), "demystifying_resnet", judged)
    changed = load(folder=with_entry(config, old, new))
    assert claims_sha256(changed, "demystifying_resnet") != claims_sha256(configured(), "demystifying_resnet")
    assert (judgement_sha256(changed, "demystifying_resnet", judged) == before) is same


@pytest.fixture
def paper_with_a_check(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up paper with a check of its own: one module and one ledger more, and nothing else changed."""
    package = tmp_path / "papers" / "made_up"
    package.mkdir(parents=True)
    (package / "checks.py").write_text(OWN_CHECK, encoding="utf-8")
    monkeypatch.syspath_prepend(package.parent)
    claims = config / "paper" / "made_up" / "claims.yaml"
    claims.parent.mkdir()
    claims.write_text(OWN_CLAIM, encoding="utf-8")
    return config


OWN_CHECK = """
from resaudit.plan.claim import Check
from resaudit.claims.checks.measured import Measured

class RowCount(Check, name="row_count"):
    column: str
    def measure(self, table, least_runs):
        measured = Measured("rows", "a number")
        measured.add("all", float(table[self.column].count()), None, len(table))
        return measured
"""
OWN_CLAIM = """
large:
  {statement: The table is large., where: there, kind: count, evidence: fig01, not_yet: later, interpretation: rows, reason: why,
   checks: {rows: {check: row_count, column: x, at_least: 3}}}
"""


def test_a_paper_brings_its_own_check_in_a_module(paper_with_a_check: Path) -> None:
    loaded = load(folder=paper_with_a_check)
    (claim,) = loaded.claims_of("made_up").values()
    assert judge(claim, pd.DataFrame({"x": [1, 2, 3, 4]}), "laptop").verdict == "supported"
    assert claim.model_dump()["checks"]["rows"]["check"] == "row_count"
    assert Claim.model_validate(claim.model_dump()) == claim


def test_a_second_check_of_the_same_name_is_refused() -> None:
    with pytest.raises(TypeError, match="at_the_end"):
        type("Other", (Check,), {}, name="at_the_end")


def test_every_claim_has_words_for_its_interpretation_and_a_reason() -> None:
    for name, each in configured().claims_of("demystifying_resnet").items():
        for text in (each.statement, each.where, each.interpretation, each.reason):
            assert len(text) > 5, name


def test_every_finding_has_its_section_on_its_papers_page() -> None:
    for paper, claims in configured().claims.items():
        page = (CHECKOUT / "docs" / "findings" / f"{paper}.md").read_text(encoding="utf-8")
        assert re.findall(r"^## (\S+)$", page, re.MULTILINE) == [name for name, each in claims.items() if each.finding]


@pytest.mark.parametrize(
    ("limit", "excluded"),
    [({"at_most": 0.03}, True), ({"at_most": 0.3}, False), ({"at_least": 0.01}, False)],  # the ratio is 0.02
)
def test_a_limit_that_excludes_the_threshold_is_said_beside_the_verdict(
    limit: dict[str, float], excluded: bool
) -> None:
    check = AtTheEnd(network="a", other="b", column=CONDITION, at_least=0.1)
    asked = claim(check).model_copy(update={"limits": {"part-0": Limit(reason="because of the rank.", **limit)}})
    judgement = judge(asked, along_training({"a": lambda loss: loss / loss, "b": lambda loss: 50 + 0 * loss}), "laptop")
    # A limit explains and changes no verdict.
    assert judgement.verdict == "contradicted"
    assert why(judgement).endswith(asked.limits["part-0"].reason) is excluded


@pytest.mark.parametrize("limit", [{"at_least": 0.3}, {"at_most": 0.01}])
def test_an_effect_beyond_a_limit_is_an_error_that_names_both(limit: dict[str, float]) -> None:
    """A limit that a measurement breaks must not vanish: the theory is wrong, or the measurement."""
    check = AtTheEnd(network="a", other="b", column=CONDITION, at_least=0.1)
    asked = claim(check).model_copy(update={"limits": {"part-0": Limit(reason="because of the rank.", **limit)}})
    table = along_training({"a": lambda loss: loss / loss, "b": lambda loss: 50 + 0 * loss})
    (bound,) = limit.values()
    with refused(CheckError, "part-0", "last epoch", "0.02") as error:
        judge(asked, table, "laptop")
    assert mentions(str(error.value).partition("limit, ")[2], bound)


def test_a_limit_names_a_check_of_its_claim(config: Path) -> None:
    old = "  checks:\n    falls-far: {check: early_fall"
    new = f"  limits: {{falls: {{at_most: 1, reason: proved.}}}}\n{old}"
    with pytest.raises(ResauditError) as error:
        load(folder=with_entry(config, old, new))
    assert mentions(str(error.value), "limits", "falls", "falls-far")
