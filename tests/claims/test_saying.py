"""Oracle: the rules of JUnit files and of choosing. Sees a verdict that a CI takes for another."""

from xml.etree import ElementTree

import pytest

from resaudit.auditing import _chosen, junit_xml
from resaudit.claims import robustness
from resaudit.claims.verdicts import Verdict
from resaudit.composition import load
from resaudit.errors import ResauditError
from resaudit.plan import make_plan
from resaudit.programme import Programme


def test_a_ci_sees_what_fails_and_what_was_not_run() -> None:
    claims = [
        {"id": f"paper/{verdict.name}", "verdict": verdict.value, "why": "because", "statement": "said"}
        for verdict in Verdict
    ]
    suite = ElementTree.fromstring(junit_xml(claims))
    outcomes = {case.attrib["name"]: [part.tag for part in case] for case in suite}
    assert outcomes == {
        "supported": [], "contradicted": ["failure"], "inconclusive": ["failure"], "not_run": ["skipped"]
    }  # fmt: skip
    assert {key: suite.attrib[key] for key in ("tests", "failures", "skipped")} == {
        "tests": "4", "failures": "2", "skipped": "1"
    }  # fmt: skip
    assert [case.attrib["type"] for case in suite.iter("failure")] == ["contradicted", "inconclusive"]


def test_figures_without_claims_have_no_verdicts() -> None:
    without = "no claim is held against demystifying_resnet/fig10; "
    claims = [{"id": "paper/claim", "evidence": "demystifying_resnet/fig04"}]
    with pytest.raises(ResauditError, match=f"{without}figures with claims: fig04"):
        _chosen(claims, None, make_plan(load(["figures=[fig10]"])))
    assert _chosen(claims, None, make_plan(load(["figures=[fig04]"]))) == claims
    with pytest.raises(ResauditError, match=without):
        robustness.matrix(Programme(["figures=[fig10]"]), "demystifying_resnet")
