"""Oracle: the rules of choosing. Sees a verdict on a figure that was not chosen."""

from resaudit.audit.terminal import run_audit
from resaudit.claims import robustness
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.plans import Plans
from tests.conftest import CHECKOUT
from tests.refusals import refused

FIGURE = "demystifying_resnet/fig10"


def test_figures_without_claims_have_no_verdicts() -> None:
    committed = f"paths.figures={CHECKOUT / 'figures' / 'reference'}"
    with refused("missing-claim", figures=[FIGURE]) as error:
        run_audit(make_plan(load(["figures=[fig10]", "device=cpu", committed])), [], print)
    assert "demystifying_resnet/fig04" in error.value.fields["allowed"]
    with refused("missing-claim", figures=[FIGURE]):
        robustness.matrix(Plans.composed(["figures=[fig10]"]), "demystifying_resnet", {})
