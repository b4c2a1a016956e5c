"""The same claims under other readings of what the paper does not state: the matrix claim x variant."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from resaudit.claims.heatmap import plot
from resaudit.claims.tables import drawn, errors_naming
from resaudit.claims.verdicts import Finding, Judgement, judge
from resaudit.composition import load
from resaudit.config import CONTROL
from resaudit.errors import ResauditError
from resaudit.explanation import deviations, ledger_sha256
from resaudit.files import Layout, sha256_of
from resaudit.integrity import read_sealed, write_sealed
from resaudit.papers.drawing import save_drawing, write_csv
from resaudit.papers.style import apply_style
from resaudit.programme import Programme
from resaudit.provenance import provenance
from resaudit.report.models import VariantRun, VerdictUnderVariant
from resaudit.schema import Closed, validated

CONFIGURED = "as-configured"


class Robustness(Closed):
    """What ``robustness.json`` holds.

    Attributes:
        paper: its id.
        finished: when it was made.
        ledger: SHA-256 of the claims then.
        tables: SHA-256 of each figure's table then, as configured.
        variants: that were run.
        verdicts: by claim, then variant.
        sha256: of the matrix as a table.
        drawings: SHA-256 of the drawn matrix, by suffix.
    """

    paper: str
    finished: str
    ledger: str
    tables: dict[str, str]
    variants: list[VariantRun]
    verdicts: dict[str, dict[str, VerdictUnderVariant]]
    sha256: str = ""
    drawings: dict[str, str] = {}

    def of_claim(self, name: str) -> list[dict[str, Any]]:
        """A claim's verdict under each variant."""
        return [{"id": variant, **dict(verdict)} for variant, verdict in self.verdicts.get(name, {}).items()]

    def stale(self, ledger: str, tables: Mapping[str, str]) -> str | None:
        """Why this is not of the claims and tables given, if it is not."""
        if ledger != self.ledger:
            return "the ledger has changed since"
        changed = [name for name, digest in self.tables.items() if tables.get(name) != digest]
        return f"{', '.join(changed)} has been drawn anew since" if changed else None


def read_robustness(layout: Layout, paper: str) -> Robustness | None:
    """What the last run under all variants found; None if there was none.

    Raises:
        ResauditError: the file is damaged.
    """
    path = layout.figure(f"{paper}/robustness", "json")
    if not path.is_file():
        return None
    try:
        return validated(Robustness, read_sealed(path), "$")
    except (OSError, ValueError, ResauditError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); remove it and run snakemake robustness again") from error


def run_vary(programme: Programme, paper: str) -> None:
    """Judge a paper's claims under every variant: ``figures/<paper>/robustness.{csv,json,pdf,svg,png}``.

    Raises:
        ResauditError: a table is missing or not what it should be, or there is no such paper.
    """
    plan = programme.base
    if plan.config.variant is not None:
        raise ResauditError(f"variant is {plan.config.variant}; leave it out: robustness goes through all of them")
    if paper not in plan.config.claims:
        raise ResauditError(f"unknown paper {paper!r}; allowed: {', '.join(plan.config.claims)}")
    layout, name = Layout(plan.config.paths), f"{paper}/robustness"
    csv, record = layout.figure(name, "csv"), layout.figure(name, "json")
    table = matrix(programme, paper)
    # What it says of the files does not hold while they are made anew.
    record.unlink(missing_ok=True)
    write_csv(csv, table)
    apply_style()
    drawings = save_drawing(plot(table, _titles(programme)), layout, name, _footer(programme, paper))
    made = {"sha256": sha256_of(csv), "drawings": drawings}
    write_sealed(record, _record(programme, paper, table).model_dump() | made)


def matrix(programme: Programme, paper: str) -> pd.DataFrame:
    """One row for each claim that can be run, reading and check.

    Columns: claim, variant (:data:`CONFIGURED`, the control, then the variants), depends (whether the evidence for the
    claim is other than the control's), verdict (of the claim), check, check_verdict, effect, low, high, runs, where,
    unit, why.

    Raises:
        ResauditError: a table is missing or not what it should be.
    """
    rows: list[dict[str, Any]] = []
    claims = {n: c for n, c in programme.base.config.claims_of(paper).items() if not c.not_yet}
    judged: dict[tuple[str | None, str], Judgement] = {}
    for variant in (None, CONTROL, *programme.variants):
        for name in claims:
            if _chosen(programme, paper, name):
                other_evidence = depends(programme, variant, paper, name)
                # The same claim on the same evidence is not judged again.
                same = (None if variant == CONTROL else CONTROL, name)
                judgement = _judge(programme, variant, paper, name) if other_evidence else judged[same]
                judged[variant, name] = judgement
                rows += _rows(variant, name, other_evidence, judgement)
    if not rows:
        raise ResauditError(f"no claim is held against {', '.join(programme.base.figures)}; choose other figures=[…]")
    order = {name: position for position, name in enumerate(claims)}
    return (
        pd.DataFrame(rows)
        .sort_values("claim", key=lambda names: names.map(order), kind="stable")
        .reset_index(drop=True)
    )


def _judge(programme: Programme, variant: str | None, paper: str, name: str) -> Judgement:
    claim = programme.under(variant).config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    home = programme.home(variant, figure)
    evidence, csv = drawn(home, figure), Layout(home.config.paths).figure(figure, "csv")
    if evidence is None:
        raise ResauditError(f"{csv} has not been drawn; run snakemake --cores all robustness")
    with errors_naming(str(csv)):
        return judge(claim, evidence.table, home.config.scale.name)


def _chosen(programme: Programme, paper: str, name: str) -> bool:
    return f"{paper}/{programme.base.config.claims_of(paper)[name].evidence}" in programme.base.figures


def depends(programme: Programme, variant: str | None, paper: str, name: str) -> bool:
    """Whether a claim's evidence under a variant is other than the control's, or, of the control, than configured."""
    if variant is None:
        return True
    other = None if variant == CONTROL else CONTROL
    here, there = (programme.under(v) for v in (variant, other))
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
    return [common | _of_check(finding) | {"why": judgement.why} for finding in judgement.findings]


def _of_check(finding: Finding) -> dict[str, Any]:
    worst = finding.worst
    return {
        "check": finding.name,
        "check_verdict": finding.verdict.value,
        "effect": worst.effect if worst else np.nan,
        "low": worst.ends[0] if worst else np.nan,
        "high": worst.ends[1] if worst else np.nan,
        "runs": worst.runs if worst else 0,
        "where": worst.where if worst else "",
        "unit": finding.measured.unit,
    }


def _titles(programme: Programme) -> dict[str, str]:
    return {CONFIGURED: "as configured", CONTROL: "control"} | {v: v.replace("-", " ") for v in programme.variants}


def _footer(programme: Programme, paper: str) -> str:
    config, protocol = programme.base.config, load(["scale=paper"])
    control = programme.under(CONTROL).config
    reduced = [
        f"{name.split('/')[1]} {change}"
        for name in programme.base.figures
        if name.startswith(f"{paper}/")
        for change in deviations(control, protocol, name)
    ]
    summaries = "; ".join(
        f"{name.replace('-', ' ')}: {variant.summary}" for name, variant in programme.variants.items()
    )
    return (
        f"Each claim's verdict as configured (scale {config.scale.name}), and under one other reading at a time of "
        "what the paper leaves unsaid. The control is the reading configured, reduced as far as the variants are: "
        f"{'; '.join(reduced) or 'not at all'}. {summaries}."
    )


def _record(programme: Programme, paper: str, table: pd.DataFrame) -> Robustness:
    plan, protocol = programme.base, load(["scale=paper"])
    figures = [name for name in plan.figures if name.startswith(f"{paper}/")]
    digests = {name: figure.sha256 for name in figures if (figure := drawn(plan, name)) is not None}
    return Robustness(
        paper=paper,
        finished=provenance()["finished"],
        ledger=ledger_sha256(plan.config, paper),
        tables=digests,
        variants=[_variant(programme, variant, figures, protocol) for variant in (CONTROL, *programme.variants)],
        verdicts={str(name): _verdicts(rows) for name, rows in table.groupby("claim", sort=False)},
    )


def _variant(programme: Programme, variant: str, figures: list[str], protocol: Any) -> VariantRun:
    config, known = programme.under(variant).config, programme.variants.get(variant)
    changed = {d: None for name in figures for d in deviations(config, protocol, name)}
    return VariantRun(
        id=variant,
        summary=known.summary if known else "the reading configured, reduced as far as the variants are",
        overrides=list(known.overrides) if known else [],
        scale=config.scale.name,
        deviations=list(changed),
    )


def _verdicts(rows: pd.DataFrame) -> dict[str, VerdictUnderVariant]:
    """By variant, the verdict with the effect of the check that decides it; no verdict where nothing depends on it."""
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
