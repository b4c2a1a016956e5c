"""The audit in a terminal."""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

from resaudit.audit.build import Json, make_audit
from resaudit.audit.changes import CONTROLS, change_counts, changes_of
from resaudit.audit.words import (
    FITTED,
    STANDINGS,
    counted,
    counts_in_words,
    mixed_code,
    set_for_run,
    set_in_words,
    standing,
)
from resaudit.base.errors import ResauditError, least_name, one_named
from resaudit.base.papers import as_words, outside_papers
from resaudit.base.text import effect_and_interval
from resaudit.claims.verdicts import Verdict
from resaudit.plan.layout import Layout
from resaudit.plan.plan import Plan
from resaudit.plan.words import command_for

WIDTH = 100
HEADINGS = ("claim", "verdict", "check", "meets", "worst effect (95 % CI)", "our threshold")


def run_audit(
    plan: Plan,
    overrides: Sequence[str],
    say: Callable[[str], Any],
    wanted: str | None = None,
    strict: bool = False,
    as_markdown: bool = False,
) -> None:
    """Print the verdict on every claim, or one claim in full.

    Raises:
        ResauditError: nothing has been drawn, a table is damaged, all that are asked for are of other settings, the
            claim is unknown, or, with ``strict``, a claim is not supported.
    """
    evidence = {
        f"{paper}/{name}": f"{paper}/{claim.evidence}"
        for paper, claims in plan.config.claims.items()
        for name, claim in claims.items()
    }
    meant = None if wanted is None else one_named("claim", wanted, list(evidence))
    only = None if meant is None else {evidence[meant]}
    audit = make_audit(plan, overrides, only=only, refuse_others=False)
    claims = [claim for paper in audit["papers"] for claim in paper["claims"]]
    chosen = _chosen(claims, meant, plan)
    of_other_settings = _of_other_settings(plan, audit, {claim["evidence"] for claim in chosen})
    if wanted:
        lines = in_full(_to_be_run_here(chosen[0], overrides), *_matrix(audit, chosen[0]))
    else:
        lines = verdict_table(audit, chosen)
    least = _least_names(audit)
    set_here = [(least[claim["id"]], text) for claim in claims for text in set_for_run(claim)]
    if set_here:
        say(f"{len(set_here)} set for this run, not in config/paper/<paper>/claims.yaml:")
        for name, text in set_here:
            say(textwrap.fill(f"{name}: {text}", WIDTH, initial_indent="    ", subsequent_indent="        "))
    for line in _mixed(audit, {claim["evidence"] for claim in chosen}):
        say(line)
    for line in markdown(audit, chosen) if as_markdown else lines:
        say(line)
    if of_other_settings and not as_markdown:
        command = f"{command_for(of_other_settings, overrides, as_words())} -R show"
        say(f"figures of other settings: {', '.join(of_other_settings)}; to show them as asked for: {command}")
    others = [claim["id"] for claim in chosen if standing(claim) != Verdict.supported.value]
    if strict and others:
        raise ResauditError(f"{len(others)} of {len(chosen)} claims are not supported: {', '.join(others)}")


def _mixed(audit: Json, figures: set[str]) -> Iterator[str]:
    """A line for each of these figures whose table holds results of mixed code."""
    for figure in (figure for paper in audit["papers"] for figure in paper["figures"] if figure["id"] in figures):
        if mixed := mixed_code(figure):
            yield f"mixed code: {figure['id']}: {mixed} were made by different code; {figure['command']}"


def _to_be_run_here(claim: Json, overrides: Sequence[str]) -> Json:
    """A claim whose command has the folders of the papers outside that this process has."""
    return claim | {"command": claim["command"] and command_for([claim["evidence"]], overrides, as_words())}


def _least_names(audit: Json) -> dict[str, str]:
    """The name of each claim in a list of claims of all papers, by its id."""
    every = [claim["id"] for paper in audit["papers"] for claim in paper["claims"]]
    return {name: least_name(name, every) for name in every}


def _of_other_settings(plan: Plan, audit: Json, evidence: set[str]) -> list[str]:
    """The figures among the evidence that are there and do not count.

    Raises:
        ResauditError: there are some, and none that counts.
    """
    layout = Layout(plan.config.paths)
    missing = [figure for paper in audit["papers"] for figure in paper["not_drawn"] if figure["id"] in evidence]
    found = {figure["id"]: figure["why"] for figure in missing if layout.figure(figure["id"], "csv").is_file()}
    if found and not any(figure["id"] in evidence for paper in audit["papers"] for figure in paper["figures"]):
        raise ResauditError(next(iter(found.values())))
    return list(found)


def _chosen(claims: list[Json], meant: str | None, plan: Plan) -> list[Json]:
    if meant is None:
        # Figures chosen with figures=[…] choose their claims.
        chosen = [c for c in claims if not plan.config.figures or c["evidence"] in plan.figures]
        if not chosen:
            held = dict.fromkeys(claim["evidence"] for claim in claims)
            raise ResauditError(
                f"no claim is checked against {', '.join(plan.figures)}; figures with claims: {', '.join(held)}"
            )
        return chosen
    return [claim for claim in claims if claim["id"] == meant]


def verdict_table(audit: Json, claims: Sequence[Json]) -> Iterator[str]:
    """The verdicts as a table: of each check how many comparisons meet the threshold, and the worst effect."""
    yield f"scale {audit['scale']} ({audit['scale_summary']}), commit {_commit(audit)}"
    least = _least_names(audit)
    rows = [HEADINGS, *(row for claim in claims for row in _rows(claim, least[claim["id"]]))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
    for claim in claims:
        if not any(check["points"] for check in claim["checks"]):
            yield textwrap.fill(f"{least[claim['id']]}: {claim['why']}", WIDTH, subsequent_indent="    ")
    yield counts_in_words(counted(claims))
    yield "--claim ID shows one claim in full; figures/audit.html shows all."


def _rows(claim: Json, name: str) -> Iterator[tuple[str, ...]]:
    """A row for each check; the claim's name and verdict stand in the first."""
    lead = (name, standing(claim))
    for check in claim["checks"]:
        yield (*lead, check["name"], *_numbers(check), check["check"]["threshold"])
        lead = ("", "")


def _numbers(check: Json) -> tuple[str, str]:
    """How many comparisons meet the threshold, and the worst effect with its interval."""
    worst = check["worst"]
    if worst is None:
        return "–", "–"
    effect, ends = effect_and_interval(worst["effect"], worst["low"], worst["high"], check["ratio"], digits=3)
    met = sum(point["verdict"] == Verdict.supported.value for point in check["points"])
    return f"{met} of {len(check['points'])}", effect if check["exact"] else f"{effect} ({ends})"


def markdown(audit: Json, claims: Sequence[Json]) -> Iterator[str]:
    """The verdicts for docs/verdicts.md: the counts of every paper, then a section for each paper with its claims."""
    papers = {paper["id"]: paper for paper in audit["papers"]}
    by_paper = {name: list(of) for name, of in groupby(claims, key=lambda claim: claim["id"].split("/")[0])}
    columns = [each for each in STANDINGS if each != FITTED or counted(claims)[FITTED]]
    yield f"| paper, at scale {audit['scale']} | {' | '.join(columns)} |"
    yield "|---|" + "---|" * len(columns)
    for name, of_paper in by_paper.items():
        title, counts = papers[name]["title"], " | ".join(str(counted(of_paper)[each]) for each in columns)
        authors = f"({papers[name]['short']}; [{papers[name]['cited']}]({papers[name]['link']}))"
        yield f"| [{title}](#{_anchor(title)}) {authors} | {counts} |"
    for name, of_paper in by_paper.items():
        yield from ("", f"## {papers[name]['title']}", "")
        yield "| claim | verdict | comparisons that meet our threshold |"
        yield "|---|---|---|"
        yield from map(_row_of_markdown, of_paper)


def _anchor(heading: str) -> str:
    """The target of a heading, as Markdown on the web has it.

    >>> _anchor("Depth, and τ at last")
    'depth-and-τ-at-last'
    """
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _row_of_markdown(claim: Json) -> str:
    """One claim; its id links to findings.md where that explains it."""
    name = claim["id"].split("/")[1]
    link = f"[`{name}`](findings.md#{name})" if claim["finding"] else f"`{name}`"
    if claim["verdict"] == Verdict.not_run.value:
        grounds = claim["why"]
    else:
        grounds = "; ".join(f"{check['name'].replace('-', ' ')}: {_numbers(check)[0]}" for check in claim["checks"])
    cells = (f"{claim['statement']} {link}", f"**{standing(claim)}**", grounds)
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip()


def _matrix(audit: Json, claim: Json) -> tuple[bool, str | None]:
    """Whether a claim's verdicts under variants are those of the committed reference run, and why they are stale."""
    matrix = next(paper["robustness"] for paper in audit["papers"] if paper["id"] == claim["id"].split("/")[0])
    return bool(matrix and matrix["reference"]), matrix["stale"] if matrix else None


def in_full(claim: Json, of_reference: bool, stale: str | None = None) -> Iterator[str]:
    """Everything about one claim; the verdicts under variants may be of the committed reference run, or stale."""
    yield f"{claim['id']}: {standing(claim)}"
    for title, text in _sections(claim):
        yield textwrap.fill(f"{title}: {text}", WIDTH, subsequent_indent="    ")
    for check in claim["checks"]:
        yield f"\n{check['name'].replace('-', ' ')}: {check['verdict']} ({check['check']['name']})"
        yield textwrap.fill(f"{check['meaning']}; our threshold: {check['check']['threshold']}", WIDTH)
        for entry in check.get("set_for_run", []):
            yield textwrap.fill(set_in_words(entry), WIDTH, subsequent_indent="    ")
        yield from _points(check["points"])
        for line in check["left_out"]:
            yield f"    left out: {line}"
    yield from _under_variants(claim, " (reference run)" if of_reference else "", stale)
    if claim["command"]:
        yield f"\nreproduce with: {claim['command']}"


def _under_variants(claim: Json, where: str, stale: str | None) -> Iterator[str]:
    """How many variants change the verdict, and each verdict under one; of a stale matrix no change is said."""
    concerned, changes, count = [v for v in claim["variants"] if v["verdict"]], changes_of(claim), change_counts(claim)
    if concerned and stale is not None:
        yield textwrap.fill(f"under other assumptions{where}: stale: {stale}", WIDTH, subsequent_indent="    ")
    elif concerned and count.of:
        yield f"under {count.of} other assumptions{where}: {count}"
    for variant in concerned:
        alone = CONTROLS.get(variant["id"])
        lead = f"{alone} ({variant['id']})" if alone else f"under {variant['id']}"
        mark = "" if stale is not None else changes[variant["id"]].mark
        yield textwrap.fill(
            f"{lead}{where}: {variant['verdict']}{mark}: {variant['why']}", WIDTH, subsequent_indent="    "
        )


def _sections(claim: Json) -> Iterator[tuple[str, str]]:
    yield "the paper", f"{claim['statement']} ({claim['where']})"
    yield "verdict", claim["why"]
    if claim["fitted"]:
        yield "no evidence", claim["fitted"]
    if claim["finding"]:
        paper, _, name = claim["id"].partition("/")
        more = f" (docs/findings.md#{name})" if paper not in outside_papers() else ""
        yield "why, as far as tested", f"{claim['finding']}{more}"
    yield "interpretation", claim["interpretation"]
    yield "reason", claim["reason"]
    for entry in claim.get("set_for_run", []):
        yield "not the repository's", set_in_words(entry)
    if claim["response"]:
        yield f"response of {claim['response']['author']}, {claim['response']['date']}", claim["response"]["text"]


def _points(points: Sequence[Json]) -> Iterator[str]:
    """Each comparison, under a heading; runs of equal ones in one line."""
    if points:
        yield f"    {'effect':>10}  {'low':>10}  {'high':>10}"
    for (numbers, n, verdict), group in groupby(points, key=_shown):
        places = [point["where"] for point in group]
        where = places[0] if len(places) == 1 else f"{len(places)} comparisons: {places[0]} … {places[-1]}"
        yield f"    {numbers}  n = {n:<4} {verdict:13} {where}"


def _shown(point: Json) -> tuple[str, int, str]:
    numbers = "  ".join(f"{_number(point[key]):>10}" for key in ("effect", "low", "high"))
    return numbers, point["n"], point["verdict"]


def _commit(audit: Json) -> str:
    commit = audit["provenance"]["commit"]
    if commit is None:
        return "unknown"
    return f"{commit['id'][:10]}{'' if commit['clean'] else ' with uncommitted changes'}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
