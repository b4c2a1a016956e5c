"""What the terminal says. Oracle: the rules of choosing, and the page.

Sees a verdict on a figure that was not chosen, counts that differ from the page's, and lines too long for a terminal.
"""

import re
from pathlib import Path

import pytest

from resaudit.audit.build import make_audit
from resaudit.audit.terminal import run_audit
from resaudit.base.errors import ConfigError, TableError
from resaudit.claims import robustness
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.plans import Plans
from tests.conftest import CHECKOUT, in_process
from tests.refusals import refused

FIGURE = "demystifying_resnet/fig10"


def test_figures_without_claims_have_no_verdicts() -> None:
    committed = f"paths.figures={CHECKOUT / 'figures' / 'reference'}"
    with refused(ConfigError, [FIGURE]) as error:
        run_audit(make_plan(load(["figures=[fig10]", "device=cpu", committed])), [], print)
    assert "demystifying_resnet/fig04" in str(error.value)
    with refused(ConfigError, [FIGURE]):
        robustness.matrix(Plans.composed(["figures=[fig10]"]), "demystifying_resnet", {})


COMMITTED = f"paths.figures={CHECKOUT / 'figures' / 'reference'}"


@pytest.mark.parametrize("asked", ["identity_matters", "figures=[identity_matters]"])
def test_a_papers_counts_are_those_of_its_page(asked: str) -> None:
    made = make_audit(make_plan(load(["figures=[identity_matters]", COMMITTED])), [], refuse_others=False)
    (paper,) = made.papers
    said = in_process("audit", asked, COMMITTED, cwd=CHECKOUT).stdout
    assert re.findall(r"(\d+) not run", said) == [str(paper.counts["not run"])]
    assert paper.counts["not run"] > 0


@pytest.mark.parametrize("command", [["audit", COMMITTED], ["list"]])
@pytest.mark.parametrize("columns", [80, 70])
def test_lines_fit_the_terminal(command: list[str], columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for words that cannot be broken, as commands to be copied."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = in_process(*command, cwd=CHECKOUT).stdout.splitlines()
    long = [line for line in lines if len(line) > columns]
    assert len(lines) > 20
    assert [line for line in long if "snakemake" not in line and "'" not in line and "=" not in line] == []


def test_before_any_run_the_committed_results_are_offered(tmp_path: Path) -> None:
    with refused(TableError, "paths.figures=") as error:
        run_audit(make_plan(load([f"paths.figures={tmp_path}"])), [], print)
    committed = str(error.value).rpartition("paths.figures=")[2]
    assert (CHECKOUT / committed).samefile(CHECKOUT / "figures" / "reference")
