"""The audit in a terminal."""

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from resaudit.audit.build import make_audit
from resaudit.audit.changes import CONTROLS, change_counts, changes_of, opposed, shares_of
from resaudit.audit.models import (
    Audit,
    JudgedClaim,
    Robustness,
    counts_in_words,
    refuse_unjudged,
    refuse_unsupported,
    standings_of,
)
from resaudit.base.commands import ANY_FOLDER, resaudit_command
from resaudit.base.errors import ConfigError, least_name, listed, one_named
from resaudit.base.papers import as_words, outside_papers
from resaudit.base.text import counted, folded
from resaudit.claims.records import UNJUDGED, Comparison
from resaudit.figures.tables import drawn
from resaudit.plan.estimates import effort_in_words, time_in_words
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import in_hydra
from resaudit.plan.plan import Plan, make_plan
from resaudit.plan.words import command_for


def run_audit(
    plan: Plan,
    overrides: Sequence[str],
    say: Callable[[str], Any],
    name: str | None = None,
    strict: bool = False,
    page: Path | None = None,
) -> None:
    """Print the verdict on every claim, or one claim in full; write a page of what is drawn into a file, if wanted."""
    evidence = {
        f"{paper}/{key}": f"{paper}/{claim.evidence}"
        for paper, claims in plan.config.claims.items()
        for key, claim in claims.items()
    }
    claim_id = None if name is None else one_named("claim", name, list(evidence))
    audit = make_audit(plan, overrides, only=None if claim_id is None else {evidence[claim_id]}, refuse_others=False)
    chosen = _chosen(plan, audit, claim_id)
    figures = {claim.evidence for claim in chosen}
    of_other_settings = _of_other_settings(plan, audit, figures)
    for line in (*_set_for_run(audit), *_mixed_code(audit, figures)):
        say(line)
    for line in verdict_table(audit, chosen) if claim_id is None else in_full(plan.config, audit, chosen[0], overrides):
        say(line)
    if of_other_settings:
        command = f"{command_for(of_other_settings, overrides, as_words())} -R show"
        say(folded(f"figures of other settings: {', '.join(of_other_settings)}; to show them as asked for:"))
        say(command)
        say(folded("a figure of another scale counts as it is with FIGURE.scale=SCALE"))
    if page:
        from resaudit.audit.page import write_page

        write_page(audit, page, Layout(plan.config.paths).figures)
    refuse_unjudged({claim.id: claim.obstacle for claim in chosen})
    if strict:
        refuse_unsupported({claim.id: claim.standing for claim in chosen})


def _chosen(plan: Plan, audit: Audit, claim_id: str | None) -> list[JudgedClaim]:
    """The claim of that id, or those that are asked for; raises ResauditError if there is none."""
    if claim_id is not None:
        return [claim for claim in audit.claims if claim.id == claim_id]
    chosen = [claim for claim in audit.claims if plan.config.asks_about(claim.evidence)]
    if not chosen:
        allowed = list(dict.fromkeys(claim.evidence for claim in audit.claims))
        raise ConfigError(
            f"no claim is checked against {listed(list(plan.figures))}; figures with claims: {listed(allowed)}"
        )
    return chosen


def _of_other_settings(plan: Plan, audit: Audit, figures: Collection[str]) -> list[str]:
    """Figures that were drawn with other settings than the plan's; raises ResauditError if no others were drawn."""
    layout = Layout(plan.config.paths)
    absent = (figure for paper in audit.papers for figure in paper.not_drawn if figure.id in figures)
    not_drawn = [figure.id for figure in absent if not figure.why.startswith(UNJUDGED)]
    others = [figure for figure in not_drawn if layout.figure(figure, "csv").is_file()]
    if others and not any(figure.id in figures for figure in audit.figures):
        drawn(make_plan(plan.config.with_every_figure()), others[0])  # raises what is wrong with it
    return others


def _set_for_run(audit: Audit) -> Iterator[str]:
    """What this run sets of the claims."""
    every = [claim.id for claim in audit.claims]
    set_here = [(least_name(claim.id, every), text) for claim in audit.claims for text in claim.settings_of_run]
    if set_here:
        yield f"{len(set_here)} set for this run, not in config/paper/<paper>/claims.yaml:"
    for short, text in set_here:
        yield folded(f"{short}: {text}", "    ", "        ")


def _mixed_code(audit: Audit, figures: Collection[str]) -> Iterator[str]:
    """Which of the figures were made by different code."""
    for figure in audit.figures:
        if figure.id in figures and figure.mixed_code:
            yield f"mixed code: {figure.id}: {figure.mixed_code} were made by different code; {figure.command}"


def explain_claim(plan: Plan, overrides: Sequence[str], name: str) -> Iterator[str]:
    """One claim in full, whether or not its figure has been drawn."""
    paper, claim = name.split("/")
    figure = f"{paper}/{plan.config.claims_of(paper)[claim].evidence}"
    audit = make_audit(plan, overrides, only={figure}, refuse_others=False, refuse_nothing=False)
    return in_full(plan.config, audit, next(judged for judged in audit.claims if judged.id == name), overrides)


def verdict_table(audit: Audit, claims: Sequence[JudgedClaim]) -> Iterator[str]:
    """The verdicts by paper: of each check how many comparisons meet the threshold, and the worst effect; the shares.

    Args:
        audit: the audit that has the claims.
        claims: those to show.
    """
    commit = audit.provenance.commit
    yield folded(f"scale {audit.scale_in_words}; commit {commit.in_words if commit else 'unknown'}")
    for paper in audit.papers:
        of_paper = [claim for claim in claims if claim.paper == paper.id]
        not_run = [claim.name for claim in of_paper if claim.verdict == "not run"]
        if of_paper:
            yield f"\n{paper.id}"
        for claim in of_paper:
            if claim.name not in not_run:
                yield f"{claim.standing:12}  {claim.name}"
                yield from _measured(claim, paper.robustness)
        if not_run:
            yield folded(f"not run:      {', '.join(not_run)}")
    yield ""
    yield folded("--claim ID: one in full, or why it was not run.")
    yield folded(counts_in_words(standings_of(claims)))
    yield folded(shares_of(audit.papers, {claim.id for claim in claims}).in_words)


def _measured(claim: JudgedClaim, matrix: Robustness | None) -> Iterator[str]:
    """A line for each check, and what else is to be known of the verdict."""
    for check in claim.checks:
        effect, ends = check.worst_in_words
        worst = effect if check.exact or check.worst is None else f"{effect} ({ends})"
        yield folded(f"{check.name}: {check.check.threshold} in {check.met_in_words}; worst {worst}", "    ", "      ")
    if said := opposed(claim, matrix) if any(check.points for check in claim.checks) else claim.why:
        yield folded(said, "    ", "      ")
    if claim.may_turn:
        yield folded(claim.may_turn, "    ", "      ")


def in_full(config: Config, audit: Audit, claim: JudgedClaim, overrides: Sequence[str] = ()) -> Iterator[str]:
    """Everything about one claim: verdict, texts, checks with their keys, variants, commands.

    Args:
        config: the configuration that has the claim.
        audit: the audit that has the claim.
        claim: the claim.
        overrides: the overrides as they were given.
    """
    yield f"{claim.id}: {claim.standing}"
    yield folded(f"the paper: {claim.statement} ({claim.where})")
    yield folded(f"verdict: {claim.why}")
    matrix = next(paper.robustness for paper in audit.papers if paper.id == claim.paper)
    if readings := opposed(claim, matrix):
        yield folded(readings)
    if claim.turns_on_rerun:
        yield folded(str(claim.turns_on_rerun))
    if claim.leans:
        yield folded(claim.leans)
    if claim.would_decide:
        command = (claim.deciding_command or "").replace(ANY_FOLDER, shlex.join(as_words()))
        yield folded(f"{claim.would_decide} {command}")
    if claim.fitted:
        yield folded(f"no evidence: {claim.fitted}")
    if claim.finding:
        more = f" (docs/findings/{claim.paper}.md#{claim.name})" if claim.paper not in outside_papers() else ""
        yield folded(f"why, as far as tested: {claim.finding}{more}")
    yield folded(f"interpretation: {claim.interpretation}")
    yield folded(f"reason: {claim.reason}")
    for entry in claim.set_for_run:
        if entry.check is None:
            yield folded(f"not the repository's: {entry}")
    if claim.response:
        yield folded(f"response of {claim.response.author}, {claim.response.date}: {claim.response.text}")
    composed, where = config.claims_of(claim.paper)[claim.name], f"claims.{claim.paper}.{claim.name}"
    for check in claim.checks:
        yield f"\n{check.name.replace('-', ' ')}: {check.verdict} ({check.check.name})"
        yield folded(f"{check.meaning}; our threshold: {check.check.threshold}")
        yield from (folded(turns.words) for turns in check.turns)
        yield from (folded(str(entry)) for entry in claim.set_for_run if entry.check == check.name)
        yield from _points(check.points)
        for line in check.left_out:
            yield f"    excluded: {line}"
        for key, value in composed.checks[check.name]:
            if value not in (None, []):
                yield f"    {shlex.quote(f'{where}.checks.{check.name}.{key}={in_hydra(value)}')}"
    yield "\nminimum sample"
    for key, value in composed.needs:
        yield f"    {shlex.quote(f'{where}.needs.{key}={in_hydra(value)}')}"
    if figure := config.figure.get(claim.evidence):
        yield f"\nfigure {figure.name}: {figure.title}"
        yield f"explained: {resaudit_command('explain', figure.name, *as_words(), *overrides)}"
        yield from (folded(f"variant={name}: {variant.summary}") for name, variant in figure.variants.items())
    yield from map(folded, under_variants(claim, matrix))
    if claim.command:
        yield f"\nreproduce with: {command_for([claim.evidence], overrides, as_words())}"
        yield folded(f"{time_in_words(config, [claim.evidence])}; {effort_in_words(config, claim.evidence)}")


def under_variants(claim: JudgedClaim, matrix: Robustness | None) -> Iterator[str]:
    """How many variants change the verdict, and each verdict under one; no changes from a stale matrix."""
    where, stale = " (reference run)" if matrix and matrix.reference else "", matrix.stale if matrix else None
    concerned, changes, count = [v for v in claim.variants if v.verdict], changes_of(claim), change_counts(claim)
    if concerned and stale is not None:
        yield f"under other assumptions{where}: stale: {stale}"
    elif concerned and count.of:
        yield f"under {counted(count.of, 'other assumption')}{where}: {count}"
    for variant in concerned:
        alone = CONTROLS.get(variant.id)
        lead = f"{alone} ({variant.id})" if alone else f"under {variant.id}"
        mark = "" if stale is not None else changes[variant.id].mark
        yield f"{lead}{where}: {changes[variant.id].after}{mark}: {variant.why}"


def _points(points: Sequence[Comparison]) -> Iterator[str]:
    """Each comparison, under a heading; runs of equal ones in one line."""

    def shown(point: Comparison) -> tuple[str, int, str]:
        numbers = ("–" if value is None else f"{value:.4g}" for value in point.numbers)
        return "  ".join(f"{number:>10}" for number in numbers), point.n, point.verdict

    if points:
        yield f"    {'effect':>10}  {'low':>10}  {'high':>10}"
    for (numbers, n, verdict), group in groupby(points, key=shown):
        places = [point.where for point in group]
        where = places[0] if len(places) == 1 else f"{len(places)} comparisons: {places[0]} … {places[-1]}"
        yield f"    {numbers}  n = {n:<4} {verdict:13} {where}"
