"""Oracle: the rules of choosing. Sees a verdict on a figure that was not chosen."""

import pytest

from resaudit.audit.terminal import _chosen
from resaudit.base.errors import ResauditError
from resaudit.claims import robustness
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.plans import Plans


def test_figures_without_claims_have_no_verdicts() -> None:
    without = "no claim is checked against demystifying_resnet/fig10; "
    claims = [{"id": "paper/claim", "evidence": "demystifying_resnet/fig04"}]
    with pytest.raises(ResauditError, match=f"{without}figures with claims: demystifying_resnet/fig04"):
        _chosen(claims, None, make_plan(load(["figures=[fig10]"])))
    assert _chosen(claims, None, make_plan(load(["figures=[demystifying_resnet/fig04]"]))) == claims
    with pytest.raises(ResauditError, match=without):
        robustness.matrix(Plans.composed(["figures=[fig10]"]), "demystifying_resnet", {})
