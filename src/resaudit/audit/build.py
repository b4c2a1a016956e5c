"""The audit: every claim with its verdict and evidence (docs/audit.md), and what would decide an open one."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from resaudit.audit.changes import shares_of
from resaudit.audit.models import (
    Assumed,
    Audit,
    AuditedPaper,
    ClaimUnderVariant,
    CommittedVerdict,
    DrawnFigure,
    FigureProvenance,
    FileKind,
    JudgedClaim,
    Ledger,
    NotDrawn,
    Provenance,
    Robustness,
    SpotCheckMade,
    set_for_run,
    standings_of,
)
from resaudit.base.errors import ConfigError, OtherSettings, ResauditError, UnplannedTable
from resaudit.base.files import sha256_of
from resaudit.base.models import read_record, refusals
from resaudit.base.papers import outside_papers, reference_folder
from resaudit.claims.decision import ERRORS_OF_RUNGS, MOST_RUNS
from resaudit.claims.records import UNJUDGED, Commit, Judgement, NamedVariant
from resaudit.claims.reruns import turns_on_rerun
from resaudit.claims.robustness import Matrix, ledger_of, read_robustness
from resaudit.claims.sources import checked_claims
from resaudit.claims.verdicts import judgement_on
from resaudit.claims.words import leaning, why
from resaudit.figures.tables import Drawn, drawn, printed_values, refuse_undrawn
from resaudit.jobs.origin import CHECKS, origin_of
from resaudit.jobs.provenance import commit_of, provenance
from resaudit.jobs.results import read_provenance
from resaudit.plan.claim import Claim, Statement
from resaudit.plan.composition import claims_as_written, claims_file, files_in, load
from resaudit.plan.estimates import Estimates, hours_in_words, time_in_words
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import Files
from resaudit.plan.plan import Plan, execution_of, make_plan, with_inputs
from resaudit.plan.words import claims_command, claims_sha256, command_for, judgement_sha256, value_of


def would_decide(
    config: Config,
    claim: Claim,
    figure: str,
    judgement: Judgement,
    overrides: Sequence[str],
    files: Files | None = None,
) -> tuple[str, str | None]:
    """What would decide a claim, in words, and the command for it, if one can.

    Both are empty if it is decided, or its figure cannot be drawn yet.

    Args:
        config: the configuration of the run.
        claim: the claim.
        figure: ``paper/figure`` of its evidence.
        judgement: the verdict.
        overrides: the overrides as they were given.
        files: the configuration's files, if several claims share them.
    """
    if judgement.verdict == "not run" and not claim.not_yet:
        return _to_run(config, claim, figure, overrides, files)
    seen = max((point.n for result in judgement.checks for point in result.points), default=0)
    if judgement.obstacle and 0 < seen < claim.needs.followed:
        return by_more_runs(config, figure, seen, claim.needs.followed, overrides, files)
    if judgement.verdict != "inconclusive" or judgement.obstacle:
        return "", None
    is_open = [result for result in judgement.checks if result.verdict == "inconclusive"]
    missing = [place for result in is_open for place in result.missing]
    if missing:
        return f"What is missing would decide it: {'; '.join(missing)}.", None
    needed = [result.runs_to_decide for result in is_open]
    if None in needed:
        if any(result.spread for result in is_open):
            return "More runs can decide it only if they tell the tied learning rates apart.", None
        if reasons := [reason for result in is_open if result.is_open for reason in result.left_out]:
            more = f" and {len(reasons) - 1} more" * (len(reasons) > 1)
            return f"More runs alone would not decide it, since an interval is open: {reasons[0]}{more}.", None
        return f"Too close to call: {MOST_RUNS} runs would not decide it, or it is not known.", None
    wanted = max(number for number in needed if number is not None)
    on_screening = any(claim.checks[result.name].on_screening for result in is_open)
    if config.figure[figure].protocol.is_confirmed and on_screening:
        return f"About {wanted} runs of the sweep would decide it.", None
    read = max(point.n for result in is_open for point in result.points if result.runs_to_decide == wanted)
    return by_more_runs(config, figure, read, wanted, overrides, files)


def _to_run(
    config: Config, claim: Claim, figure: str, overrides: Sequence[str], files: Files | None
) -> tuple[str, str]:
    # Which scales give a verdict is the claim's own need.
    takes, scale = f"To run it takes {time_in_words(config, [figure])}", claim.needs.scales[0]
    if config.scale_of(figure) in claim.needs.scales:
        return f"{takes}. For a verdict:", command_for([figure], overrides)
    paper, _, short = figure.partition("/")
    replaced = ["scale=", "device=", f"{short}.scale=", f"figure.{paper}.{short}.scale="]
    if figure not in config.figures:
        replaced.append("protocol.")  # of the figures that were chosen
    kept = [override for override in overrides if not override.startswith(tuple(replaced))]
    hours = hours_in_words(load([*kept, f"scale={scale}"], files, only=[figure]))
    given = [*kept, f"scale={scale}", f"device={execution_of(config).device}"]
    return (
        f"{takes}, which is no evidence: that begins at scale {scale}, with {hours}. For a verdict:",
        command_for([figure], given),
    )


def by_more_runs(
    config: Config, figure: str, read: int, wanted: int, overrides: Sequence[str], files: Files | None = None
) -> tuple[str, str | None]:
    """``wanted`` runs where a claim reads ``read``: the core-hours that they add, and the command if there is one.

    On a ladder that was decided on beforehand the next look is the next rung's.
    """
    protocol, would = config.figure[figure].protocol, f"About {wanted} runs would decide it"
    if config.rung is not None and protocol.is_confirmed:
        if config.rung == len(ERRORS_OF_RUNGS):
            return f"{would}; this is the last rung.", None
        given = [each for each in overrides if not each.startswith("rung=")] + [f"rung={config.rung + 1}"]
        return f"{would}. The next rung, {_hours(config, figure, given, files)}:", command_for([figure], given)
    settings = [f"protocol.{key}={runs}" for key, runs in protocol.with_runs(read, wanted).items()]
    if not settings:
        return f"{would}.", None
    try:
        hours = _hours(config, figure, [*overrides, *settings], files)
    except ResauditError:
        return f"{would}, which is more than the figure takes.", None
    return f"{would}, {hours}:", command_for([figure], [*overrides, *settings])


def _hours(config: Config, figure: str, overrides: Sequence[str], files: Files | None) -> str:
    """The core-hours that other overrides add to a figure, in words."""
    before = make_plan(config.model_copy(update={"figures": [figure]})).jobs
    after = make_plan(load(overrides, files, only=[figure]).model_copy(update={"figures": [figure]})).jobs
    estimates = Estimates.of(config)
    seconds = sum(estimates.cost(job).seconds for key, job in after.items() if key not in before)
    return f"{seconds / 3600:.2g} core-hours"


def drawn_figures(
    plan: Plan, every: Plan, paper: str, refuse_others: bool = True
) -> tuple[dict[str, Drawn], dict[str, str]]:
    """The figures of a paper that match the plan, by name, and for others the reason why they do not or are excluded.

    A chosen figure must have the plan's settings, unless others are not refused; another counts only if it has them.
    Claims about a table whose content is not the plan's cannot be judged, which its reason says.

    Args:
        plan: the plan with the chosen figures.
        every: the same with every figure.
        paper: the paper's id.
        refuse_others: whether to refuse a chosen figure of other settings.
    """
    figures: dict[str, Drawn] = {}
    excluded = every.config.left_out.items()
    reasons = {name: f"left out: {reason}" for name, reason in excluded if name not in plan.figures}
    for name in every.figures:
        if name.startswith(f"{paper}/"):
            try:
                figure = drawn(every, name)
            except ResauditError as error:
                unjudged = isinstance(error, UnplannedTable)
                if name in plan.figures and not unjudged and (refuse_others or not isinstance(error, OtherSettings)):
                    raise
                reasons[name] = f"{UNJUDGED}: {error}" if unjudged else str(error)
            else:
                figures |= {name: figure} if figure else {}
                if figure:
                    reasons.pop(name, None)
    return figures, reasons


def judgements_of(
    config: Config, paper: str, figures: Mapping[str, Drawn], reasons: Mapping[str, str]
) -> dict[str, Judgement]:
    """The judgement on every claim of a paper, by id, from what :func:`drawn_figures` gives."""
    judgements = {}
    for name, claim in config.claims_of(paper).items():
        figure = f"{paper}/{claim.evidence}"
        table = figures[figure].table if figure in figures else None
        judgement = judgement_on(config, paper, name, table)
        if table is None and not claim.not_yet:
            reason = reasons.get(figure, f"{figure} has not been drawn")
            verdict = "inconclusive" if reason.startswith(UNJUDGED) else judgement.verdict
            judgement = judgement.model_copy(update={"verdict": verdict, "obstacle": reason})
        judgements[name] = judgement
    return judgements


def make_audit(
    plan: Plan,
    overrides: Sequence[str],
    only: set[str] | None = None,
    refuse_others: bool = True,
    refuse_nothing: bool = True,
) -> Audit:
    """The audit of the drawn figures.

    Args:
        plan: the plan with the chosen figures.
        overrides: the overrides as they were given.
        only: the figures to read; default all.
        refuse_others: whether to refuse a chosen figure of other settings; its claims are not run otherwise.
        refuse_nothing: whether to refuse a folder without any drawn figure.
    """
    every = make_plan(plan.config.with_every_figure())
    if refuse_nothing:
        refuse_undrawn(every)
    papers = plan.config.audited_papers()
    if only is not None:
        papers = list(plan.config.claims)
        every = Plan(every.config, {name: figure for name, figure in every.figures.items() if name in only})
    made, audited = provenance(), [_paper_here(plan, every, paper, overrides, refuse_others) for paper in papers]
    with refusals("audit.json breaks its schema: $"):
        return Audit(
            version=4,
            generated=made["finished"],
            scale=plan.config.scale.name,
            scale_summary=plan.config.scale.summary,
            evidence=plan.config.scale.evidence,
            provenance=Provenance(**made),
            overrides=list(overrides),
            spot_checks=spot_checks(Layout(plan.config.paths).results),
            shares=shares_of(audited),
            papers=audited,
        )


def committed_verdicts(folder: Path) -> dict[str, dict[str, CommittedVerdict]]:
    """The verdicts that a folder of committed tables records (``verdicts_scale_SCALE.csv``), by claim and scale."""
    verdicts: dict[str, dict[str, CommittedVerdict]] = {}
    for path in sorted(folder.glob("verdicts_scale_*.csv")):
        with path.open(encoding="utf-8", newline="") as file, refusals(f"{path}: $"):
            for row in csv.DictReader(file):
                of_claim = verdicts.setdefault(row.pop("claim"), {})
                of_claim[path.stem.removeprefix("verdicts_scale_")] = CommittedVerdict.model_validate(row)
    return verdicts


def spot_checks(results: Path) -> list[SpotCheckMade]:
    """The spot-checks whose results are all here, imported from the same archives."""
    checks = [read_record(path, SpotCheckMade, "remove it") for path in sorted(results.glob(CHECKS))]
    return [
        check
        for check in checks
        if all((origin := origin_of(results, key)) and origin.archive in check.archives for key in check.jobs)
    ]


def _paper_here(plan: Plan, every: Plan, paper: str, overrides: Sequence[str], refuse_others: bool) -> AuditedPaper:
    """A paper as it is drawn in the folder of figures."""
    figures, reasons = drawn_figures(plan, every, paper, refuse_others)
    shown = [_figure(every, figure, overrides) for figure in figures.values()]
    matrix = read_robustness(Layout(plan.config.paths), paper)
    if matrix and matrix.reference and not plan.config.scale.evidence:
        matrix = None  # a test run's verdicts are no evidence that a variant could change
    read = matrix.among(every.figures) if matrix else None
    return audited_paper(plan.config, paper, figures, shown, reasons, read, overrides)


def audited_paper(
    config: Config,
    paper: str,
    figures: Mapping[str, Drawn],
    shown: list[DrawnFigure],
    reasons: Mapping[str, str],
    matrix: Matrix | None,
    overrides: Sequence[str],
) -> AuditedPaper:
    """A paper with every claim judged.

    Args:
        config: the configuration with the claims.
        paper: the paper's id.
        figures: the tables that claims are judged by, by ``paper/figure``.
        shown: the same figures, as the audit has them.
        reasons: why others have no table, by ``paper/figure``.
        matrix: the claims under variants, if they were run.
        overrides: the overrides as they were given.
    """
    # Title and authors, which every figure of the paper states.
    about = next((figure.paper for name, figure in config.figure.items() if name.startswith(f"{paper}/")), None)
    if about is None:
        raise ConfigError(f"config/paper/{paper} has claims and no figure; add config/paper/{paper}/FIGURE.yaml")
    file, files = claims_file(paper), files_in(None)
    written, committed = claims_as_written(file) if file else {}, committed_verdicts(reference_folder(paper))
    claims = [
        _claim(config, paper, name, written.get(name), judgement, matrix, committed, figures, overrides, files)
        for name, judgement in judgements_of(config, paper, figures, reasons).items()
    ]
    return AuditedPaper(
        **{key: getattr(about, key) for key in ("title", "short", "link", "cited", "thresholds")},
        id=paper,
        commit=_commit_outside(paper),
        ledger=Ledger(
            file=f"config/paper/{paper}/claims.yaml",
            sha256=claims_sha256(config, paper),
            command=claims_command(paper, overrides),
            file_sha256=sha256_of(file) if file else None,
        ),
        counts=standings_of(claims),
        claims=claims,
        in_text=checked_claims(paper, Layout(config.paths).results),
        figures=shown,
        not_drawn=[
            not_drawn(config, name, reasons.get(name), overrides)
            for name in config.figure
            if name.startswith(f"{paper}/") and name not in figures
        ],
        printed=printed_values(config, paper, figures),
        robustness=_robustness(matrix, config, figures) if matrix else None,
    )


def _commit_outside(paper: str) -> Commit | None:
    """The commit of a paper outside the checkout; None of another, and where no repository has its folder."""
    place = outside_papers().get(paper)
    found = commit_of(place.folder, [str(folder) for folder in place.sources]) if place else None
    return Commit.model_validate(found) if found else None


def data_of(config: Config, figure: str) -> str | None:
    """The title of the data set of ``paper/figure``; None if it has none, or is not configured."""
    configured = config.figure.get(figure)
    return configured.dataset.title if configured and configured.dataset else None


def not_drawn(config: Config, name: str, reason: str | None, overrides: Sequence[str]) -> NotDrawn:
    """A figure without a drawing; of one that is excluded, the reason says how long its command takes."""
    why = reason or "not asked for, or not yet"
    if why.startswith("left out: "):
        why = f"{why.removeprefix('left out: ')}: {time_in_words(config, [name])}"
    title, command = config.figure[name].title, command_for([name], overrides)
    return NotDrawn(id=name, title=title, data=data_of(config, name), why=why, command=command)


def _claim(
    config: Config,
    paper: str,
    name: str,
    written: Claim | None,
    judgement: Judgement,
    matrix: Matrix | None,
    committed: Mapping[str, Mapping[str, CommittedVerdict]],
    figures: Mapping[str, Drawn],
    overrides: Sequence[str],
    files: Files,
) -> JudgedClaim:
    claim, rule = config.claims_of(paper)[name], judgement_sha256(config, paper, name)
    evidence, verdicts = f"{paper}/{claim.evidence}", matrix.verdicts.get(name, {}) if matrix else {}
    words, command = would_decide(config, claim, evidence, judgement, overrides, files)
    return JudgedClaim(
        **{key: getattr(claim, key) for key in Statement.model_fields},
        **dict(judgement),
        id=f"{paper}/{name}",
        why=why(judgement),
        leans=leaning(judgement),
        would_decide=words,
        deciding_command=command,
        turns_on_rerun=turns_on_rerun(claim, figures[evidence].table, judgement) if evidence in figures else None,
        evidence=evidence,
        data=data_of(config, evidence),
        variants=[ClaimUnderVariant(id=variant, **dict(verdict)) for variant, verdict in verdicts.items()],
        configured=matrix.configured.get(name) if matrix else None,
        committed={key: row for key, row in committed.get(f"{paper}/{name}", {}).items() if row.rule == rule},
        set_for_run=set_for_run(claim, written),
        command=None if claim.not_yet else command_for([evidence], overrides),
    )


def _figure(plan: Plan, figure: Drawn, overrides: Sequence[str]) -> DrawnFigure:
    planned, about, results = plan.figures[figure.name], figure.about, Layout(plan.config.paths).results
    keys = sorted(key for key, job in with_inputs(planned.jobs.values()).items() if job.files)
    return DrawnFigure(
        id=figure.name,
        title=planned.figure.title,
        caption=planned.figure.full_caption,
        remark=planned.figure.remark,
        experiment=planned.figure.experiment,
        files={kind: f"{figure.name}.{kind}" for kind in get_args(FileKind)},
        sha256=figure.sha256,
        drawings=about.get("drawings", {}),
        rows=len(figure.table),
        scale=about["scale"],
        settings=about["settings"],
        deviations=about["differs from the protocol in"],
        at_edge=[
            " at depth ".join(key.rsplit(" ", 1))
            for key, best in about.get("best rates", {}).items()
            if best["at_edge"]
        ],
        assumptions=[
            Assumed(
                name=name,
                value=value_of(assumption, planned.figure),
                reason=assumption.reason,
                variants=[NamedVariant(id=key, **dict(variant)) for key, variant in assumption.variants.items()],
            )
            for name, assumption in planned.figure.assumptions.items()
        ],
        provenance=provenance_of(figure, [results / key for key in keys]),
        jobs=keys,
        imported=about.get("imported", []),
        codes=about.get("codes", {}),
        command=command_for([figure.name], overrides),
    )


def provenance_of(figure: Drawn, folders: Sequence[Path]) -> FigureProvenance:
    """The provenance of the drawing, with the devices of its jobs whose results are there, and the seconds of all."""
    jobs = [read_provenance(folder) for folder in folders if (folder / "provenance.json").is_file()]
    keys = ("commit", "finished", "machine", "system", "python", "packages", "constraints_sha256")
    return FigureProvenance(
        **{key: figure.about[key] for key in keys},
        devices=sorted({" by ".join(filter(None, (job.device, job.kernel))) for job in jobs}),
        seconds=round(math.fsum(job.seconds for job in jobs), 1) if len(jobs) == len(folders) else None,
    )


def _robustness(matrix: Matrix, config: Config, figures: Mapping[str, Drawn]) -> Robustness:
    ledger = ledger_of(config, matrix.paper, matrix.ledger)
    files = {kind: f"{matrix.paper}/robustness.{kind}" for kind in get_args(FileKind) if kind != "json"}
    return Robustness(
        reference=matrix.reference,
        files=None if matrix.reference else files,
        drawings={} if matrix.reference else matrix.drawings,
        stale=matrix.stale(ledger, {name: figure.sha256 for name, figure in figures.items()}),
        commit=matrix.commit,
        finished=matrix.finished,
        variants=matrix.variants,
    )
