"""Oracle: a made matrix. Sees verdicts under variants that get lost on the way through robustness.json."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.audit.build import make_audit
from resaudit.audit.terminal import under_variants
from resaudit.base.errors import ResauditError, TableError
from resaudit.base.files import sha256_of, write_json
from resaudit.claims import robustness
from resaudit.claims.robustness import CONFIGURED, Matrix, keep_matrix, ledger_of, read_robustness, verdicts_of
from resaudit.figures.draw import reference_file
from resaudit.plan.composition import load
from resaudit.plan.models import Layout, Paths
from resaudit.plan.plan import make_plan
from tests.audit import example
from tests.claims.made import mentions
from tests.refusals import refused

PAPER = "demystifying_resnet"
WHY = "one check fails"
ROWS = pd.DataFrame(
    [
        (CONFIGURED, True, "supported", "supported", 1.0, 0.9, 1.1, "as configured"),
        ("control", True, "contradicted", "supported", 1.0, 0.9, 1.1, WHY),
        ("control", True, "contradicted", "contradicted", 3.0, 2.0, np.inf, WHY),
        ("not-centred", False, "supported", "supported", 1.0, 0.9, 1.1, "as the control"),
    ],
    columns=["variant", "depends", "verdict", "check_verdict", "effect", "low", "high", "why"],
)

UNDER_CONTROL = {"verdict": "supported", "why": "", "effect": 1.0, "low": 0.9, "high": 1.1}


def recorded(figures: Path, paper: str = "made_up", **changes: object) -> Layout:
    layout = Layout(Paths(data="data", results="results", figures=str(figures)))
    made = Matrix(
        paper="made_up", finished="2026-01-01T00:00:00+00:00", ledger={"a-claim": "a"},
        tables={"made_up/fig01": "b"}, variants=[],
        verdicts={"a-claim": verdicts_of(ROWS)},
    )  # fmt: skip
    file = layout.figure(f"{paper}/robustness", "json")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, json.loads(made.model_dump_json()) | changes)
    return layout


def test_the_deciding_check_stands_for_a_claim_under_a_variant(tmp_path: Path) -> None:
    found = read_robustness(recorded(tmp_path), "made_up")
    assert found is not None
    nothing = {"verdict": None, "why": None, "effect": None, "low": None, "high": None}
    assert found.model_dump()["verdicts"]["a-claim"] == {
        "control": {"verdict": "contradicted", "why": WHY, "effect": 3.0, "low": 2.0, "high": None},
        "not-centred": nothing,
    }
    assert found.stale({"a-claim": "a", "another": "b"}, {"made_up/fig01": "b"}) is None
    assert mentions(found.stale({"a-claim": "a"}, {"made_up/fig01": "c"}) or "", "made_up/fig01", "anew")
    # Nobody has drawn anew what is gone.
    assert mentions(found.stale({"a-claim": "a"}, {}) or "", "made_up/fig01", "not drawn")


def test_the_matrix_is_judged_by_the_tables_that_are_read(tmp_path: Path) -> None:
    """Sees a matrix that is stale for one claim, since the other claims' tables were not looked for."""
    plan = make_plan(load([f"paths.figures={tmp_path}", "device=cpu"]))
    figures = [f"{PAPER}/fig04", f"{PAPER}/fig11"]
    digests = {name: sha256_of(reference_file(name)) for name in figures}
    layout = recorded(tmp_path, PAPER, ledger={}, tables=digests)
    for name in figures:
        for suffix in ("csv", "json"):
            shutil.copy(reference_file(name).with_suffix(f".{suffix}"), layout.figure(name, suffix))

    def stale() -> str | None:
        audit = make_audit(plan, [], only={figures[0]}, refuse_others=False)
        matrix = next(paper.robustness for paper in audit.papers if paper.id == PAPER)
        assert matrix is not None
        return matrix.stale

    assert stale() is None
    recorded(tmp_path, PAPER, ledger={}, tables=dict.fromkeys(figures, "0" * 64))
    assert stale() == f"{figures[0]} has been drawn anew since"
    for suffix in ("csv", "json"):
        layout.figure(figures[0], suffix).unlink()
    assert mentions(stale() or "", figures[0], "not drawn")


def test_the_committed_matrix_stands_in_and_only_the_claims_make_it_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(load([f"paths.figures={tmp_path / 'drawn'}", "figures=[demystifying_resnet/fig04]"]))
    now = ledger_of(plan.config, PAPER, ["depth-invariant-condition"])
    layout, kept = recorded(tmp_path / "drawn", PAPER, ledger=now), tmp_path / "reference" / "robustness.csv"
    layout.figure(f"{PAPER}/robustness", "csv").write_text("claim,variant\na-claim,configured\n")
    monkeypatch.setattr(robustness, "reference_file", lambda _: kept)
    keep_matrix(plan, print)
    assert kept.read_text() == "claim,variant\na-claim,configured\n"
    own = read_robustness(layout, PAPER)
    layout.figure(f"{PAPER}/robustness", "json").unlink()
    reference = read_robustness(layout, PAPER)
    assert own is not None
    assert reference is not None
    assert (own.reference, reference.reference) == (False, True)
    # It is of the reference's tables.
    assert reference.stale(now, {"made_up/fig01": "c"}) is None
    assert mentions(reference.stale(dict.fromkeys(now, "b"), {}) or "", *now)


@pytest.mark.parametrize("other", ["claim", "unknown claim", "table"])
def test_a_matrix_of_another_paper_of_the_name_is_no_reference(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(load([f"paths.figures={tmp_path / 'drawn'}", "figures=[demystifying_resnet/fig04]"]))
    ledger = ledger_of(plan.config, PAPER, ["depth-invariant-condition"])
    ledger |= {"claim": dict.fromkeys(ledger, "b"), "unknown claim": {"a-claim": "a"}}.get(other, {})
    layout = recorded(tmp_path / "drawn", PAPER, ledger=ledger, tables={f"{PAPER}/fig04": "b"})
    layout.figure(f"{PAPER}/robustness", "csv").write_text("claim,variant\na-claim,configured\n")
    if other == "table":
        layout.figure(f"{PAPER}/fig04", "csv").write_text("depth\n1\n")
    monkeypatch.setattr(robustness, "reference_file", lambda _: tmp_path / "kept.csv")
    with refused(TableError, layout.figure(f"{PAPER}/robustness", "csv")):
        keep_matrix(plan, print)
    assert not (tmp_path / "kept.csv").exists()


def test_a_matrix_of_some_claims_replaces_these_and_those_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sees a claim that is lost, or kept though its checks have changed, when figures are run one after the other."""
    kept, drawn = tmp_path / "reference" / "robustness.csv", tmp_path / "drawn"
    monkeypatch.setattr(robustness, "reference_file", lambda _: kept)
    plan = make_plan(load([f"paths.figures={drawn}", "figures=[demystifying_resnet/fig04]"]))
    replaced, unchanged, changed = "depth-invariant-condition", "condition-converges", "final-loss-better"
    drawn_before = {f"{PAPER}/{figure}": "before" for figure in ("fig04", "fig05", "fig07")}
    now = ledger_of(plan.config, PAPER, [unchanged, replaced, changed])
    for claims, why, deviations in (
        ([replaced, unchanged, changed], "before", ["fig05 runs 1", "fig07 runs 1", "fig04 runs 1"]),
        ([replaced], "1,00", ["fig04 runs 2"]),
    ):
        shutil.rmtree(drawn, ignore_errors=True)
        layout = recorded(
            drawn,
            PAPER,
            ledger={name: now[name] for name in claims},
            tables=drawn_before if why == "before" else {f"{PAPER}/fig04": why},
            variants=[{"id": "control", "summary": "", "overrides": [], "scale": "laptop", "deviations": deviations}],
            verdicts={name: {"control": UNDER_CONTROL | {"why": why}} for name in claims},
        )
        rows = pd.DataFrame({"claim": claims, "effect": "1.50", "why": why})
        rows.to_csv(layout.figure(f"{PAPER}/robustness", "csv"), index=False)
        keep_matrix(plan, print)
        # Since then, a claim has changed.
        reference = kept.with_suffix(".json")
        reference.write_text(reference.read_text().replace(now[changed], "a"))
    layout.figure(f"{PAPER}/robustness", "json").unlink()
    joined = read_robustness(layout, PAPER)
    assert joined is not None
    assert joined.stale(now, {}) is None
    assert {name: under["control"].why for name, under in joined.verdicts.items()} == {
        replaced: "1,00", unchanged: "before"
    }  # fmt: skip
    assert kept.read_text() == f'claim,"effect",why\n{replaced},1.50,"1,00"\n{unchanged},1.50,before\n'
    assert joined.sha256 == sha256_of(kept)
    # Nothing of the claim that has changed is left.
    assert joined.tables == {f"{PAPER}/fig05": "before", f"{PAPER}/fig04": "1,00"}
    assert joined.variants[0].deviations == ["fig05 runs 1", "fig04 runs 2"]


def test_verdicts_of_the_reference_run_are_said_to_be(tmp_path: Path) -> None:
    claim = example.judged(example.claim("a", "supported", "fig04", checks=[], variants=example.VARIANTS))
    example.draw(tmp_path)
    reference = example.matrix(tmp_path, reference=True, stale=None)
    (own,) = (line for line in under_variants(claim, None) if mentions(line, "not-centred"))
    (committed,) = (line for line in under_variants(claim, reference) if mentions(line, "not-centred"))
    assert mentions(own, "supported")
    assert mentions(committed, "supported", "reference run")
    assert "reference" not in own


def test_a_damaged_record_is_named_in_one_line(tmp_path: Path) -> None:
    layout = recorded(tmp_path, verdicts={"a-claim": {"control": {"verdict": "proven"}}})
    with pytest.raises(ResauditError) as error:
        read_robustness(layout, "made_up")
    file = layout.figure("made_up/robustness", "json")
    assert mentions(str(error.value), file, "verdicts.a-claim.control.verdict", "proven")
