"""The audit: every claim with its verdict and evidence, as one JSON-able dictionary (docs/audit.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from resaudit.audit import set_for_run
from resaudit.audit.checked import checked
from resaudit.audit.spot_check_words import spot_checks
from resaudit.audit.words import counted
from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of
from resaudit.claims.robustness import Robustness, read_robustness
from resaudit.claims.verdicts import CheckResult, Judged, Judgement, judge
from resaudit.claims.words import is_ratio, sentence, threshold_in_words, why
from resaudit.figures.formats import FORMATS
from resaudit.figures.printed import printed_values
from resaudit.figures.tables import Drawn, OtherSettings, drawn, errors_naming, refuse_undrawn
from resaudit.jobs.provenance import provenance
from resaudit.jobs.results import read_provenance
from resaudit.plan.claim import Claim
from resaudit.plan.composition import claims_as_written, claims_file
from resaudit.plan.layout import Layout
from resaudit.plan.left_out import time_in_words
from resaudit.plan.models import Config, Paper
from resaudit.plan.plan import FigurePlan, Plan, make_plan, with_inputs
from resaudit.plan.words import claims_command, claims_sha256, command_for, judgement_sha256, value_of

VERSION = 1
LEFT_OUT = "left out: "
Json = dict[str, Any]


def drawn_figures(
    plan: Plan, every: Plan, paper: str, refuse_others: bool = True
) -> tuple[dict[str, Drawn], dict[str, str]]:
    """The figures of a paper that match the plan, by name, and for others the reason why they do not or are left out.

    A chosen figure must have the plan's settings, unless others are not refused; another counts only if it has them.

    Args:
        plan: with the chosen figures.
        every: the same with every figure.
        paper: its id.
        refuse_others: whether to refuse a chosen figure of other settings.

    Raises:
        ResauditError: a chosen figure's table is damaged or, if these are refused, of other settings.
    """
    figures: dict[str, Drawn] = {}
    left_out = every.config.left_out.items()
    reasons = {name: f"{LEFT_OUT}{reason}" for name, reason in left_out if name not in plan.figures}
    for name in every.figures:
        if name.startswith(f"{paper}/"):
            try:
                figure = drawn(every, name)
            except ResauditError as error:
                if name in plan.figures and (refuse_others or not isinstance(error, OtherSettings)):
                    raise
                reasons[name] = str(error)
            else:
                figures |= {name: figure} if figure else {}
                if figure:
                    reasons.pop(name, None)
    return figures, reasons


def judgements_of(
    config: Config, paper: str, figures: Mapping[str, Drawn], reasons: Mapping[str, str]
) -> dict[str, Judgement]:
    """The judgement on every claim of a paper, by id, from what :func:`drawn_figures` gives.

    Raises:
        ResauditError: a table lacks something.
    """
    judgements = {}
    for name, claim in config.claims_of(paper).items():
        figure = f"{paper}/{claim.evidence}"
        judged = _judge_by(f"{paper}/{name}", claim, figures.get(figure), config, figure)
        if figure not in figures and not claim.not_yet:
            judged = replace(judged, obstacle=reasons.get(figure, f"{figure} has not been drawn"))
        judgements[name] = judged
    return judgements


def _judge_by(name: str, claim: Claim, evidence: Drawn | None, config: Config, figure: str) -> Judgement:
    with errors_naming(f"claim {name}, table of {figure}", figure):
        return judge(claim, evidence.table if evidence else None, config.scale.name, config.dataset_of(figure))


def make_audit(plan: Plan, overrides: Sequence[str], only: set[str] | None = None, refuse_others: bool = True) -> Json:
    """The audit of the drawn figures.

    Args:
        plan: with the chosen figures.
        overrides: as they were given.
        only: the figures to read; default all.
        refuse_others: whether to refuse a chosen figure of other settings; its claims are not run otherwise.

    Raises:
        ResauditError: a table is damaged or, if these are refused, of other settings, or nothing has been drawn.
    """
    layout, every = Layout(plan.config.paths), make_plan(plan.config.with_every_figure())
    refuse_undrawn(every)
    if only is not None:
        every = Plan(every.config, {name: part for name, part in every.figures.items() if name in only})
    papers = [_paper(plan, every, paper, overrides, refuse_others) for paper in plan.config.claims]
    ran = provenance()
    return {
        "version": VERSION,
        "generated": ran["finished"],
        "scale": plan.config.scale.name,
        "scale_summary": plan.config.scale.summary,
        "provenance": ran,
        "checked": checked(layout, {figure["id"]: figure["sha256"] for paper in papers for figure in paper["figures"]}),
        "overrides": list(overrides),
        "spot_checks": spot_checks(layout.results),
        "papers": papers,
    }


def _paper(plan: Plan, every: Plan, paper: str, overrides: Sequence[str], refuse_others: bool) -> Json:
    figures, reasons = drawn_figures(plan, every, paper, refuse_others)
    judgements = judgements_of(plan.config, paper, figures, reasons)
    about = _about_paper(plan.config, paper)
    robustness = read_robustness(Layout(plan.config.paths), paper)
    if robustness and robustness.reference and plan.config.scale.name == "smoke":
        robustness = None  # a test run's verdicts are no evidence that a variant could change
    claims, file = plan.config.claims_of(paper), claims_file(paper)
    written = claims_as_written(file) if file else {}
    judged = [
        _claim(
            f"{paper}/{name}",
            claims[name],
            written.get(name),
            judgement,
            data_of(plan.config, f"{paper}/{claims[name].evidence}"),
            robustness,
            overrides,
        )
        for name, judgement in judgements.items()
    ]
    return {
        "id": paper,
        "title": about.title,
        "short": about.short,
        "link": about.link,
        "cited": about.cited,
        "thresholds": about.thresholds,
        "ledger": _ledger(plan.config, paper, file, overrides),
        "counts": counted(judged),
        "claims": judged,
        "figures": [_figure(every, figure, overrides) for figure in figures.values()],
        "not_drawn": _not_drawn(plan.config, paper, figures, reasons, overrides),
        "printed": printed_values(plan.config, paper, figures),
        "robustness": _robustness(robustness, plan.config, figures) if robustness else None,
    }


def _ledger(config: Config, paper: str, file: Path | None, overrides: Sequence[str]) -> Json:
    return {
        "file": f"config/paper/{paper}/claims.yaml",
        "sha256": claims_sha256(config, paper),
        "command": claims_command(paper, overrides),
        "file_sha256": sha256_of(file) if file else None,
    }


def _about_paper(config: Config, paper: str) -> Paper:
    """Title and authors, which every figure of the paper states."""
    about = next((figure.paper for name, figure in config.figure.items() if name.startswith(f"{paper}/")), None)
    if about is None:
        raise ResauditError(f"config/paper/{paper} has claims and no figure; add config/paper/{paper}/FIGURE.yaml")
    return about


def data_of(config: Config, figure: str) -> str | None:
    """The title of the data set of ``paper/figure``; None if it has none, or is not configured."""
    found = config.figure.get(figure)
    return found.dataset.title if found and found.dataset else None


def _not_drawn(
    config: Config, paper: str, figures: Mapping[str, Drawn], reasons: Mapping[str, str], overrides: Sequence[str]
) -> list[Json]:
    return [
        {
            "id": name,
            "title": figure.title,
            "data": data_of(config, name),
            "why": _why_not(config, name, reasons.get(name)),
            "command": command_for([name], overrides),
        }
        for name, figure in config.figure.items()
        if name.startswith(f"{paper}/") and name not in figures
    ]


def _why_not(config: Config, name: str, reason: str | None) -> str:
    """Why a figure is not drawn; of one that is left out, also how long its command takes."""
    if reason is None:
        return "not asked for, or not yet"
    takes = f": {time_in_words(config, [name])}" if reason.startswith(LEFT_OUT) else ""
    return f"{reason.removeprefix(LEFT_OUT)}{takes}"


def _claim(
    claim_id: str,
    claim: Claim,
    written: Claim | None,
    judgement: Judgement,
    data: str | None,
    robustness: Robustness | None,
    overrides: Sequence[str],
) -> Json:
    paper, name = claim_id.split("/")
    return {
        "id": claim_id,
        "statement": claim.statement,
        "where": claim.where,
        "kind": claim.kind,
        "interpretation": claim.interpretation,
        "reason": claim.reason,
        "needs": claim.needs.model_dump(mode="json"),
        "fitted": claim.fitted,
        "finding": claim.finding,
        "response": claim.response.model_dump(mode="json") if claim.response else None,
        "verdict": judgement.verdict.value,
        "why": why(judgement),
        "checks": [
            _result(result) | {"set_for_run": set_for_run.of_check(claim, result.name, written)}
            for result in judgement.checks
        ],
        "evidence": f"{paper}/{claim.evidence}",
        "data": data,
        "variants": robustness.of_claim(name) if robustness else [],
        "configured": robustness.configured.get(name) if robustness else None,
        "set_for_run": set_for_run.of_claim(claim, written),
        "command": None if claim.not_yet else command_for([f"{paper}/{claim.evidence}"], overrides),
    }


def _result(result: CheckResult) -> Json:
    low, high = result.check.region
    given = result.check.model_dump(mode="json")
    parameters = {key: value for key, value in given.items() if value not in (None, [], {}) and key != "check"}
    return {
        "name": result.name,
        "check": {
            "name": result.check.name,
            "parameters": parameters,
            "threshold": threshold_in_words(result.check),
        },
        "verdict": result.verdict.value,
        "sentence": sentence(result),
        "limit": _limit(result),
        "ratio": is_ratio(result),
        "meaning": result.measured.meaning,
        "unit": result.measured.unit,
        "scale": "log" if result.measured.logarithmic else "linear",
        "exact": result.exact,
        "level": result.level,
        "coverage": result.coverage,
        "tied": any(point.tied for point in result.points),
        "spread": result.measured.spread,
        "low": low,
        "high": high,
        "worst": _point(result.worst) if result.worst else None,
        "points": [_point(point) for point in result.points],
        "left_out": result.measured.without_effect,
    }


def _limit(result: CheckResult) -> Json | None:
    if result.limit is None:
        return None
    return result.limit.model_dump(mode="json") | {"excludes_threshold": result.limit.excludes(result.check)}


def _point(point: Judged) -> Json:
    low, high = point.ends
    return {
        "where": point.where,
        "effect": finite(point.effect),
        "low": finite(low),
        "high": finite(high),
        "n": point.runs,
        "verdict": point.verdict.value,
    }


def _figure(plan: Plan, figure: Drawn, overrides: Sequence[str]) -> Json:
    layout, part = Layout(plan.config.paths), plan.figures[figure.name]
    keys = sorted(key for key, job in with_inputs(part.jobs.values()).items() if job.files)
    return {
        "id": figure.name,
        "title": part.figure.title,
        "caption": part.figure.full_caption,
        "remark": part.figure.remark,
        "experiment": part.figure.experiment,
        "files": {suffix: f"{figure.name}.{suffix}" for suffix in ("csv", "json", *FORMATS)},
        "sha256": figure.sha256,
        "drawings": figure.about.get("drawings", {}),
        "rows": len(figure.table),
        "scale": figure.about["scale"],
        "settings": figure.about["settings"],
        "deviations": figure.about["differs from the protocol in"],
        "at_edge": [
            key.replace(" ", " at depth ")
            for key, best in figure.about.get("best rates", {}).items()
            if best["at_edge"]
        ],
        "assumptions": _assumptions(part),
        "provenance": _provenance(figure, [layout.results / key for key in keys]),
        "jobs": keys,
        "imported": figure.about.get("imported", []),
        "codes": figure.about.get("codes", {}),
        "command": command_for([figure.name], overrides),
    }


def _assumptions(part: FigurePlan) -> list[Json]:
    return [
        {
            "name": name,
            "value": value_of(assumption, part.figure),
            "reason": assumption.reason,
            "variants": [
                {"id": key, "summary": variant.summary, "overrides": variant.overrides}
                for key, variant in assumption.variants.items()
            ],
        }
        for name, assumption in part.figure.assumptions.items()
    ]


def _provenance(figure: Drawn, folders: Sequence[Path]) -> Json:
    """The provenance of the drawing, with the devices and seconds of its jobs whose results are still there."""
    jobs = [read_provenance(folder) for folder in folders if (folder / "provenance.json").is_file()]
    keys = ("commit", "finished", "machine", "system", "python", "packages", "constraints_sha256")
    drawing = {key: figure.about[key] for key in keys}
    return drawing | {
        "devices": sorted({" by ".join(filter(None, (job.device, job.kernel))) for job in jobs}),
        "seconds": round(math.fsum(job.seconds for job in jobs), 1),
    }


def _robustness(robustness: Robustness, config: Config, figures: Mapping[str, Drawn]) -> Json:
    files = {suffix: f"{robustness.paper}/robustness.{suffix}" for suffix in ("csv", *FORMATS)}
    ledger = judgement_sha256(config, robustness.paper, robustness.verdicts)
    return {
        "reference": robustness.reference,
        "files": None if robustness.reference else files,
        "drawings": {} if robustness.reference else robustness.drawings,
        "stale": robustness.stale(ledger, {name: figure.sha256 for name, figure in figures.items()}),
        "commit": robustness.commit.model_dump() if robustness.commit else None,
        "finished": robustness.finished,
        "variants": [variant.model_dump() for variant in robustness.variants],
    }


def finite(number: float) -> float | None:
    """A number for JSON: None if it is not finite."""
    return number if math.isfinite(number) else None
