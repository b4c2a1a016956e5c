"""Oracle: the rules of choosing. Sees a verdict on a figure that was not chosen."""

import pytest

from resaudit.audit.terminal import run_audit
from resaudit.base.errors import ResauditError
from resaudit.claims import robustness
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.plans import Plans
from tests.conftest import CHECKOUT


def test_figures_without_claims_have_no_verdicts() -> None:
    without = "no claim is checked against demystifying_resnet/fig10; "
    committed = f"paths.figures={CHECKOUT / 'figures' / 'reference'}"
    with pytest.raises(ResauditError, match=f"{without}figures with claims: .*demystifying_resnet/fig04"):
        run_audit(make_plan(load(["figures=[fig10]", "device=cpu", committed])), [], print)
    with pytest.raises(ResauditError, match=without):
        robustness.matrix(Plans.composed(["figures=[fig10]"]), "demystifying_resnet", {})
