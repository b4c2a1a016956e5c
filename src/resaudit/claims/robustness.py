"""Robustness: the claims under every variant of the assumptions, as the matrix claim x variant."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from resaudit.base.errors import ResauditError
from resaudit.base.files import read_json, sha256_of, write_json, written_whole
from resaudit.base.models import Closed, read_record
from resaudit.claims.heatmap import plot
from resaudit.claims.records import Commit, Drawings, VariantRun, VerdictUnderVariant
from resaudit.claims.records import Verdict as VerdictWord
from resaudit.claims.verdicts import CheckResult, Judgement, judge
from resaudit.claims.words import why
from resaudit.figures.drawing import save_drawing, write_csv
from resaudit.figures.references import reference_file
from resaudit.figures.style import apply_style
from resaudit.figures.tables import drawn, errors_naming
from resaudit.jobs.provenance import provenance
from resaudit.plan.layout import Layout
from resaudit.plan.models import CONFIGURED, CONTROL, CONTROLS
from resaudit.plan.plan import Plan
from resaudit.plan.plans import Plans
from resaudit.plan.words import judgement_sha256

Tables = Mapping[tuple[str, str], Path]
"""By variant, or :data:`CONFIGURED`, and figure."""


class Matrix(Closed):
    """The content of ``robustness.json``.

    Attributes:
        paper: its id.
        reference: whether it was committed as a reference.
        commit: of the code that made it.
        constraints_sha256: of constraints.txt then.
        finished: when the matrix was made.
        ledger: SHA-256 of what its verdicts are computed from in the claims, as of :func:`judgement_sha256`.
        tables: SHA-256 of each configured figure's table.
        variants: as they were run.
        verdicts: by claim, then variant.
        configured: each claim's verdict as configured in that run.
        sha256: of the matrix as a table.
        drawings: SHA-256 of the drawn matrix, by suffix.
    """

    paper: str
    reference: bool = False
    commit: Commit | None = None
    constraints_sha256: str | None = None
    finished: str
    ledger: str
    tables: dict[str, str]
    variants: list[VariantRun]
    verdicts: dict[str, dict[str, VerdictUnderVariant]]
    configured: dict[str, VerdictWord] = {}
    sha256: str = ""
    drawings: Drawings = {}

    def stale(self, ledger: str, tables: Mapping[str, str]) -> str | None:
        """Why the matrix is stale for these claims and tables; None if it is not.

        A reference is of other tables, and only the claims count.
        """
        if ledger != self.ledger:
            return "the claims have changed since"
        if self.reference:
            return None
        changed = [name for name, digest in self.tables.items() if tables.get(name) != digest]
        return f"{', '.join(changed)} has been drawn anew since" if changed else None


def read_robustness(layout: Layout, paper: str) -> Matrix | None:
    """The last matrix of a paper, else the committed reference; None if there is neither.

    Raises:
        ResauditError: the file is damaged.
    """
    own = layout.figure(f"{paper}/robustness", "json")
    path = own if own.is_file() else reference_file(f"{paper}/robustness").with_suffix(".json")
    if not path.is_file():
        return None
    return read_record(path, Matrix, "remove it and run snakemake robustness again")


def _configured(table: pd.DataFrame) -> dict[str, Any]:
    rows = table[table["variant"] == CONFIGURED]
    return {str(name): str(verdict) for name, verdict in zip(rows["claim"], rows["verdict"], strict=True)}


def keep_matrix(plan: Plan, say: Callable[[str], None]) -> None:
    """Copy the matrix of each chosen paper that has one to the references, marked as one."""
    for name in dict.fromkeys(f"{figure.split('/')[0]}/robustness" for figure in plan.figures):
        drawn, kept = Layout(plan.config.paths).figure(name, "csv"), reference_file(name)
        record = drawn.with_suffix(".json")
        if record.is_file():
            with written_whole(kept) as temporary:
                shutil.copyfile(drawn, temporary)
            write_json(kept.with_suffix(".json"), read_json(record) | {"reference": True})
            say(f"{name}: the matrix in {kept}")


def write_matrix(plans: Plans, paper: str, deviations: Mapping[str, Sequence[str]], tables: Tables) -> None:
    """Judge a paper's claims under every variant: ``figures/<paper>/robustness.{csv,json,pdf,svg,png}``.

    Args:
        plans: as configured, and under every variant of the paper.
        paper: whose claims.
        deviations: from the paper's protocol, in words, by variant and for the control.
        tables: of the figures that claims are checked against.

    Raises:
        ResauditError: a table is missing, damaged or of other settings.
    """
    layout, name = Layout(plans.base.config.paths), f"{paper}/robustness"
    csv, record = layout.figure(name, "csv"), layout.figure(name, "json")
    table = matrix(plans, paper, tables)
    # The record must not describe files that are being replaced.
    record.unlink(missing_ok=True)
    write_csv(csv, table)
    apply_style()
    drawing = plot(table, _titles(plans, paper))
    title = f"Claims of {paper} under other readings"
    words, note = _description(plans, paper, deviations[CONTROL]), "Controls and variants: reduced protocol."
    drawings = save_drawing(drawing, layout.figures, name, title, words, note if deviations[CONTROL] else "")
    made = {"sha256": sha256_of(csv), "drawings": drawings}
    write_json(record, _record(plans, paper, table, deviations, tables).model_dump() | made)


def matrix(plans: Plans, paper: str, tables: Tables) -> pd.DataFrame:
    """One row per runnable claim, variant and check.

    Columns: claim, variant (:data:`CONFIGURED`, the controls, then the variants), depends (whether the claim's evidence
    differs from the control's), verdict (of the claim), check, check_verdict, effect, low, high, runs, where,
    unit, why.

    Raises:
        ResauditError: a table is missing or not what it should be.
    """
    rows: list[dict[str, Any]] = []
    claims = {n: c for n, c in plans.base.config.claims_of(paper).items() if not c.not_yet}
    judged: dict[tuple[str | None, str], Judgement] = {}
    for variant in (None, *CONTROLS, *plans.variants(paper)):
        for name in claims:
            if _chosen(plans, paper, name):
                other_evidence = depends(plans, variant, paper, name)
                # The same claim on the same evidence is not judged again.
                same = (None if variant == CONTROL else CONTROL, name)
                judgement = _judge(plans, variant, paper, name, tables) if other_evidence else judged[same]
                judged[variant, name] = judgement
                rows += _rows(variant, name, other_evidence, judgement)
    if not rows:
        raise ResauditError(f"no claim is checked against {', '.join(plans.base.figures)}; choose other figures=[…]")
    order = {name: position for position, name in enumerate(claims)}
    return (
        pd.DataFrame(rows)
        .sort_values("claim", key=lambda names: names.map(order), kind="stable")
        .reset_index(drop=True)
    )


def _judge(plans: Plans, variant: str | None, paper: str, name: str, tables: Tables) -> Judgement:
    plan = plans.under(variant)
    claim = plan.config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    csv = tables[variant or CONFIGURED, figure]
    evidence = drawn(plan, figure, csv)
    if evidence is None:
        raise ResauditError(f"{csv} has not been drawn; run snakemake --cores all robustness")
    with errors_naming(f"claim {paper}/{name}, {csv}", figure):
        return judge(claim, evidence.table, plan.config.scale.name, plan.config.dataset_of(figure))


def _chosen(plans: Plans, paper: str, name: str) -> bool:
    return f"{paper}/{plans.base.config.claims_of(paper)[name].evidence}" in plans.base.figures


def depends(plans: Plans, variant: str | None, paper: str, name: str) -> bool:
    """Whether a claim's evidence differs from the control's; for the control, from the configured one."""
    if variant is None:
        return True
    other = None if variant == CONTROL else CONTROL
    here, there = (plans.under(v) for v in (variant, other))
    figure = f"{paper}/{here.config.claims_of(paper)[name].evidence}"
    same_evidence = here.figures[figure].evidence == there.figures[figure].evidence
    return not same_evidence or here.config.claims_of(paper)[name] != there.config.claims_of(paper)[name]


def _rows(variant: str | None, name: str, other_evidence: bool, judgement: Judgement) -> list[dict[str, Any]]:
    common = {
        "claim": name,
        "variant": variant or CONFIGURED,
        "depends": other_evidence,
        "verdict": judgement.verdict.value,
    }
    return [common | _of_check(result) | {"why": why(judgement)} for result in judgement.checks]


def _of_check(result: CheckResult) -> dict[str, Any]:
    worst = result.worst
    return {
        "check": result.name,
        "check_verdict": result.verdict.value,
        "effect": worst.effect if worst else np.nan,
        "low": worst.ends[0] if worst else np.nan,
        "high": worst.ends[1] if worst else np.nan,
        "runs": worst.runs if worst else 0,
        "where": worst.where if worst else "",
        "unit": result.measured.unit,
    }


def _titles(plans: Plans, paper: str) -> dict[str, str]:
    variants = {variant: variant.replace("-", " ") for variant in plans.variants(paper)}
    return {CONFIGURED: "as configured"} | {control: control.replace("-", " ") for control in CONTROLS} | variants


def _description(plans: Plans, paper: str, reduced: Sequence[str]) -> str:
    variants = plans.variants(paper).items()
    summaries = "; ".join(f"{name.replace('-', ' ')}: {variant.summary}" for name, variant in variants)
    return (
        f"Each claim's verdict as configured (scale {plans.base.config.scale.name}), and under one other reading at a "
        "time of what the paper leaves unsaid. The control is the reading configured, reduced as far as the variants "
        f"are: {'; '.join(reduced) or 'not at all'}; the other seed is the control with the next seed. {summaries}."
    )


def _record(
    plans: Plans, paper: str, table: pd.DataFrame, deviations: Mapping[str, Sequence[str]], tables: Tables
) -> Matrix:
    variants, ran = (*CONTROLS, *plans.variants(paper)), provenance()
    verdicts = {str(name): _verdicts(rows) for name, rows in table.groupby("claim", sort=False)}
    return Matrix(
        paper=paper,
        commit=ran["commit"],
        constraints_sha256=ran["constraints_sha256"],
        finished=ran["finished"],
        ledger=judgement_sha256(plans.base.config, paper, verdicts),
        tables={name: sha256_of(csv) for (variant, name), csv in tables.items() if variant == CONFIGURED},
        variants=[_variant(plans, paper, variant, deviations[variant]) for variant in variants],
        verdicts=verdicts,
        configured=_configured(table),
    )


def _variant(plans: Plans, paper: str, variant: str, deviations: Sequence[str]) -> VariantRun:
    known = plans.variants(paper).get(variant)
    return VariantRun(
        id=variant,
        summary=known.summary if known else CONTROLS[variant],
        overrides=list(known.overrides) if known else [],
        scale=plans.under(variant).config.scale.name,
        deviations=list(deviations),
    )


def _verdicts(rows: pd.DataFrame) -> dict[str, VerdictUnderVariant]:
    """Verdicts by variant, each with the effect of its deciding check; null if the evidence does not depend on it."""
    verdicts = {}
    for variant, part in rows[rows["variant"] != CONFIGURED].groupby("variant", sort=False):
        deciding = part[part["check_verdict"] == part["verdict"]]
        row = (deciding if len(deciding) else part).iloc[0]
        numbers = {key: float(row[key]) if np.isfinite(row[key]) else None for key in ("effect", "low", "high")}
        verdicts[str(variant)] = (
            VerdictUnderVariant(verdict=row["verdict"], why=row["why"], **numbers)
            if row["depends"]
            else VerdictUnderVariant(verdict=None, why=None, effect=None, low=None, high=None)
        )
    return verdicts
