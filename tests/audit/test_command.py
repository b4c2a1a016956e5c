"""The audit of a smoke run by the command: verdicts in a terminal, for machines, as a page; bad evidence in one line.

Sees a verdict that is not of the table that was drawn, an exit code that a CI would misread, a stale page.
"""

import csv
import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import parse_config

from resaudit.audit.job import AuditJob
from resaudit.audit.schema import check_audit
from resaudit.base.errors import ResauditError, TableError
from resaudit.claims.job import robustness_job
from resaudit.cli.workflow import overrides_from
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load
from resaudit.plan.models import CONTROLS
from resaudit.plan.plans import Plans
from tests.claims.made import mentions
from tests.conftest import CHECKOUT, Completed, configured, in_process, run_planned
from tests.refusals import assert_exits, refused

PAPER = "demystifying_resnet"
SMOKE = ("scale=smoke", f"paths.data={CHECKOUT / 'data'}")


@cache
def claims() -> dict[str, Claim]:
    return configured().claims_of(PAPER)


def never_run() -> set[str]:
    """The figures of whose claims a smoke run has none."""
    left_out = configured("scale=smoke").left_out
    return {c.evidence for c in claims().values() if c.not_yet or f"{PAPER}/{c.evidence}" in left_out}


def resaudit(folder: Path, *arguments: str) -> Completed:
    return in_process(*arguments, cwd=folder)


def reported(folder: Path, *overrides: str) -> dict[str, Any]:
    """The audit that the workflow's last job writes."""
    with chdir(folder):
        run_planned(AuditJob(load(overrides), overrides), Path("results"))
    audit: dict[str, Any] = json.loads((folder / "figures/audit.json").read_text(encoding="utf-8"))
    return audit


@pytest.fixture
def copy(smoked: Path, tmp_path: Path) -> Path:
    """The figures of a smoke run, to be tampered with."""
    shutil.copytree(smoked / "figures", tmp_path / "figures")
    return tmp_path


def test_the_run_leaves_an_audit_that_keeps_to_its_schema(smoked: Path) -> None:
    audit = json.loads((smoked / "figures/audit.json").read_text(encoding="utf-8"))
    check_audit(audit)
    paper = audit["papers"][0]
    assert {claim["id"] for claim in paper["claims"]} == {f"{PAPER}/{name}" for name in claims()}
    assert sum(paper["counts"].values()) == len(claims())
    # A smoke run is no evidence.
    assert paper["counts"]["supported"] == paper["counts"]["contradicted"] == 0
    assert paper["counts"]["not run"] == len([c for c in claims().values() if c.evidence in never_run()])
    for figure in paper["figures"]:
        content = (smoked / "figures" / figure["files"]["csv"]).read_bytes()
        assert figure["sha256"] == hashlib.sha256(content).hexdigest()
        assert figure["provenance"]["seconds"] >= 0
        assert all(device.startswith("cpu") for device in figure["provenance"]["devices"])
        assert figure["jobs"]
    (with_relus,) = (figure for figure in paper["figures"] if figure["files"]["csv"].endswith("fig08.csv"))
    linear, by_kernel = (device.split(",")[0] for device in with_relus["provenance"]["devices"])
    assert linear == "cpu"
    assert by_kernel in ("cpu by fused kernel", "cpu by torch")


def test_the_page_holds_every_claim(smoked: Path) -> None:
    page = (smoked / "figures/audit.html").read_text(encoding="utf-8")
    for name in claims():
        assert f'id="{PAPER}/{name}"' in page
    assert "scale smoke" in page.lower()


def test_the_verdict_table_in_a_terminal(smoked: Path) -> None:
    run = resaudit(smoked, "audit", *SMOKE)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    (row,) = (index for index, line in enumerate(lines) if line.endswith("  depth-invariant-condition"))
    assert (lines[row].split()[0], lines[row + 1].split()[0]) == ("inconclusive", "constant:")
    assert " factor of 1.1 in " in lines[row + 1]
    assert mentions(run.stdout, "scale", "laptop", "paper", "smoke")
    assert lines[-3].startswith("0 supported, 0 contradicted, ")
    assert mentions(" ".join(lines[-2:]), "reproducible 0 %", "robust –", "replicable –")


def test_a_figures_name_chooses_its_claims(smoked: Path) -> None:
    named, given = (resaudit(smoked, "audit", words, *SMOKE).stdout for words in ("fig07", "figures=[fig07]"))
    assert named == given != ""


def test_a_threshold_set_here_is_said(smoked: Path) -> None:
    changed = "claims.demystifying_resnet.depth-invariant-condition.checks.constant.within_factor=1.005"
    first, *entry = resaudit(smoked, "audit", changed, *SMOKE).stdout.splitlines()[:3]
    assert first.startswith("1 set ")
    assert mentions(" ".join(entry), "depth-invariant-condition", "threshold", "1.005", "1.1")
    assert resaudit(smoked, "audit", *SMOKE).stdout.startswith("scale smoke")


def test_one_claim_in_full(smoked: Path) -> None:
    run = resaudit(smoked, "audit", "--claim", "depth-invariant-condition", *SMOKE)
    claim, said = claims()["depth-invariant-condition"], " ".join(run.stdout.split())
    for text in (claim.statement, claim.where, claim.interpretation, claim.reason, "snakemake --cores all --config"):
        assert " ".join(text.split()) in said
    assert any(mentions(line, "2-shortcut, depth 4", 2, 3) for line in run.stdout.splitlines())
    assert resaudit(smoked, "audit", "depth-inv", *SMOKE).stdout == run.stdout


def test_strict_fails_unless_every_claim_asked_for_is_supported(smoked: Path) -> None:
    run = resaudit(smoked, "audit", "--strict", "figures=[demystifying_resnet/fig04]", *SMOKE)
    assert_exits(run, "3 of 3", "demystifying_resnet/depth-invariant-condition")


def test_strict_passes_where_all_are_supported(smoked: Path) -> None:
    """The theorems' claims, with a ledger that lets a smoke run count."""
    wanted = "theorem-2-two-shortcut-hessian"
    enough = [f"claims.{PAPER}.{wanted}.needs.{key}" for key in ("scales=[smoke]", "runs=1")]
    run = resaudit(smoked, "audit", "--strict", "--claim", wanted, *enough, *SMOKE)
    assert (run.returncode, run.stderr) == (0, ""), run.stderr
    assert f"\n{PAPER}/{wanted}: supported" in run.stdout


def test_a_figure_that_was_not_drawn_is_not_run(copy: Path) -> None:
    for file in (copy / "figures" / PAPER).glob("fig04.*"):
        file.unlink()
    run = resaudit(copy, "audit", "--claim", "depth-invariant-condition", *SMOKE)
    first = run.stdout.splitlines()[0]
    assert first.split(": ") == [f"{PAPER}/depth-invariant-condition", "not run"]
    assert mentions(run.stdout, f"{PAPER}/fig04 has")


def edited(change: Callable[[str], str], with_digest: bool, figure: str = f"{PAPER}/fig04") -> Callable[[Path], None]:
    """Change a table, and, if so wished, its SHA-256 in the file beside it."""

    def edit(folder: Path) -> None:
        table = folder / "figures" / f"{figure}.csv"
        table.write_text(change(table.read_text(encoding="utf-8")), encoding="utf-8")
        if with_digest:
            about = table.with_suffix(".json")
            said = json.loads(about.read_text(encoding="utf-8"))
            said["sha256"] = hashlib.sha256(table.read_bytes()).hexdigest()
            about.write_text(json.dumps(said), encoding="utf-8")

    return edit


def with_cell(column: str, cell: str) -> Callable[[str], str]:
    """Change a column's cell in line 3; of every column, where none is named."""

    def change(text: str) -> str:
        header, *rows = csv.reader(StringIO(text))
        rows[1] = [cell if column in (name, "") else old for name, old in zip(header, rows[1], strict=True)]
        changed = StringIO()
        csv.writer(changed, lineterminator="\n").writerows([header, *rows])
        return changed.getvalue()

    return change


@pytest.mark.parametrize(
    ("change", "mentioned"),
    [
        (with_cell("condition_number", ""), ("2-shortcut", "depth 2", "run 1", "line 3")),
        (lambda text: text.replace("condition_number", "condition"), ("condition_number", "lambda_max")),
        (lambda text: text + text.splitlines()[1] + "\n", ("fig04.csv", "network, depth")),
    ],
)
def test_what_cannot_be_judged_takes_no_other_claim_with_it(
    change: Callable[[str], str], mentioned: tuple[str, ...], smoked: Path, copy: Path
) -> None:
    """tests/claims/test_on_table.py has other cells. With two runs the claim's effects are measured."""
    settings = (*SMOKE, f"claims.{PAPER}.depth-invariant-condition.needs.runs=2")
    before = json.loads((smoked / "figures/audit.json").read_text(encoding="utf-8"))["papers"]
    edited(change, with_digest=True)(copy)
    audit = reported(copy, *settings)
    check_audit(audit)
    claims = [claim for paper in audit["papers"] for claim in paper["claims"]]
    bad = {claim["id"]: claim for claim in claims if claim["obstacle"].startswith("cannot be judged")}
    assert f"{PAPER}/depth-invariant-condition" in bad
    for claim in bad.values():
        assert (claim["evidence"], claim["verdict"]) == (f"{PAPER}/fig04", "inconclusive")
        assert mentions(claim["why"], *mentioned)
    judged = {claim["id"]: (claim["verdict"], claim["why"]) for claim in claims if claim["id"] not in bad}
    as_before = {claim["id"]: (claim["verdict"], claim["why"]) for paper in before for claim in paper["claims"]}
    assert len(judged) == len(as_before) - len(bad)
    assert judged.items() <= as_before.items()
    assert "cannot be judged" in (copy / "figures/audit.html").read_text(encoding="utf-8")
    in_terminal = resaudit(copy, "audit", *settings)
    assert_exits(in_terminal, *bad)
    assert len([line for line in in_terminal.stdout.splitlines() if "cannot be judged" in line]) == len(bad)


@pytest.mark.parametrize("cell", ["-inf", "1e400", "many", "", "-1"])
def test_a_fault_in_every_column_of_every_table_leaves_a_page(cell: str, copy: Path) -> None:
    for table in copy.glob("figures/*/*.csv"):
        edited(with_cell("", cell), with_digest=True, figure=f"{table.parent.name}/{table.stem}")(copy)
    check_audit(reported(copy, *SMOKE))


@pytest.mark.parametrize(
    ("tamper", "overrides", "mentioned"),
    [
        (edited(lambda text: text.replace("2-shortcut", "xavier"), False), SMOKE, ("fig04.csv", "SHA-256")),
        (lambda _: None, ("scale=laptop", SMOKE[1]), ("scale=smoke", "scale=laptop")),
        (lambda _: None, (*SMOKE, "seed=2"), ("seed=1", "seed=2")),
        (lambda folder: (folder / "figures" / PAPER / "fig04.json").unlink(), SMOKE, ("fig04.json",)),
        (lambda folder: (folder / "figures" / PAPER / "fig04.json").write_text("[]"), SMOKE, ("fig04.json",)),
    ],
)
def test_bad_evidence_is_one_line(
    tamper: Callable[[Path], None], overrides: tuple[str, ...], mentioned: tuple[str, ...], copy: Path
) -> None:
    tamper(copy)
    before = (copy / "figures/audit.json").read_bytes()
    with pytest.raises(ResauditError) as error:
        reported(copy, *overrides)
    assert "\n" not in str(error.value)
    assert mentions(str(error.value), *mentioned)
    # Nothing is half-written.
    assert (copy / "figures/audit.json").read_bytes() == before


def test_the_audit_in_a_terminal_refuses_it_too(copy: Path) -> None:
    run = resaudit(copy, "audit", *SMOKE, "seed=2")
    assert run.returncode == 1
    assert run.stderr.startswith("resaudit: error: ")
    assert run.stderr.count("\n") == 1
    assert mentions(run.stderr, "seed=1", "seed=2")
    words = shlex.split(re.sub(r" \[[\w-]+\]$", "", run.stderr[run.stderr.index("snakemake ") :].strip()))
    assert words[:6] == ["snakemake", "--cores", "all", "-R", "show", "--config"]
    figure, *others = sorted(overrides_from(parse_config(words[6:])), key=lambda each: not each.startswith("figures="))
    assert figure.startswith(f"figures=[{PAPER}/")
    assert set(others) == {"scale=smoke", "dataset=mnist", "seed=2"}


def test_one_claim_reads_its_own_table_alone(copy: Path) -> None:
    edited(lambda text: text + "\n", False)(copy)
    assert mentions(resaudit(copy, "audit", *SMOKE).stderr, "fig04.csv", "SHA-256")
    run = resaudit(copy, "audit", "--claim", "theorem-2-two-shortcut-hessian", *SMOKE)
    assert (run.returncode, run.stderr) == (0, "")
    blocked = resaudit(copy, "audit", "--claim", "depth-invariant-condition", *SMOKE)
    assert mentions(blocked.stderr, "fig04.csv", "SHA-256")


def test_one_figure_drawn_at_another_scale_does_not_spoil_the_others(copy: Path) -> None:
    with pytest.raises(ResauditError, match=r"fig04\.csv .*seed=1.*seed=2"):
        reported(copy, "figures=[demystifying_resnet/fig04]", "seed=2", *SMOKE)
    (copy / "figures" / PAPER / "fig04.csv").unlink()
    (copy / "figures" / PAPER / "fig07.json").unlink()
    paper = reported(copy, "figures=[demystifying_resnet/fig03]", *SMOKE)["papers"][0]
    claim = next(claim for claim in paper["claims"] if claim["id"] == f"{PAPER}/higher-learning-rates")
    assert claim["verdict"] == "not run"
    assert mentions(claim["why"], "fig07.json")


OF_FIG04 = {"as-configured", "fashion-mnist", "not-centred", "xavier-uniform", "exactly-zero", "float32-hessians",
           "other-seed", "nearest-signs", "farthest-signs"}  # fmt: skip
"""Under what Figure 4 has a table of its own: that of the control is the configured one's at this scale."""


def test_the_matrix_compares_a_drawing_for_each_variant_that_changes_the_figure() -> None:
    """What the matrix is made from; test_example_paper.py makes one of two variants by the workflow."""
    job = robustness_job(
        Plans.composed(["scale=smoke", "figures=[demystifying_resnet/fig04]"]), PAPER, configured("scale=paper")
    )
    drawings = {variant: of[f"{PAPER}/fig04"] for variant, of in job.drawings.items()}
    assert set(drawings) == {"as-configured", *CONTROLS, *configured().variants(PAPER)}
    assert len(set(drawings.values())) == len(OF_FIG04)
    assert {variant for variant, key in drawings.items() if key != drawings["control"]} == OF_FIG04 - {"as-configured"}


def test_a_matrix_of_another_ledger_is_called_stale(smoked: Path, copy: Path) -> None:
    robustness = copy / "figures" / PAPER / "robustness.json"
    variants = [{"id": "control", "summary": "s", "overrides": [], "scale": "smoke", "deviations": []}]
    made = {"paper": PAPER, "finished": "2026-01-01T00:00:00+00:00", "tables": {}, "variants": variants, "verdicts": {},
            "ledger": {"depth-invariant-condition": "0" * 64}}  # fmt: skip
    robustness.write_text(json.dumps(made), encoding="utf-8")
    for suffix in ("svg", "csv", "pdf", "png"):
        shutil.copy(smoked / "figures" / PAPER / f"fig04.{suffix}", robustness.with_suffix(f".{suffix}"))
    assert mentions(reported(copy, *SMOKE)["papers"][0]["robustness"]["stale"], "depth-invariant-condition")
    robustness.write_text("{}", encoding="utf-8")
    with pytest.raises(ResauditError, match=r"robustness\.json"):
        reported(copy, *SMOKE)


def test_a_matrix_of_what_was_not_drawn_is_refused(tmp_path: Path) -> None:
    job = robustness_job(Plans.composed(["figures=[demystifying_resnet/fig04]"]), PAPER, configured("scale=paper"))
    with chdir(tmp_path), refused(TableError, "figure.csv"):
        run_planned(job, Path("results"))
