"""The claims and the figures of every paper, from the configuration."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from resaudit.base.commands import resaudit_command
from resaudit.claims.words import threshold_in_words
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load
from resaudit.plan.estimates import effort_in_words
from resaudit.plan.words import command_for, value_of
from site_pages.links import plain

if TYPE_CHECKING:
    from resaudit.plan.figure import Figure
    from resaudit.plan.models import Config


@cache
def configuration(scale: str = "paper") -> "Config":
    """The configuration of a scale without other overrides, on a CPU and without results: it looks for neither."""
    return load([f"scale={scale}", "device=cpu", "paths.results=none"])


def claims() -> Iterator[str]:
    """Every claim, by paper: the paper's words, our interpretation, checks with thresholds."""
    for paper, of_paper in configuration().claims.items():
        about = next(figure.paper for name, figure in configuration().figure.items() if name.startswith(f"{paper}/"))
        yield from ("", f"## {about.title}", "", f"{about.short}; {about.cited}. {plain(about.thresholds)}", "")
        for key, claim in of_paper.items():
            yield from _claim(paper, key, claim)


def _claim(paper: str, key: str, claim: Claim) -> Iterator[str]:
    yield from ("", f"(claim-{paper}-{key})=", f"### {key}", "", plain(claim.statement), "")
    yield f"- **Where:** {plain(claim.where)} ({claim.kind})"
    yield f"- **Our interpretation:** {plain(claim.interpretation)}"
    yield f"- **Reason:** {plain(claim.reason)}"
    yield f"- **Minimum sample:** {claim.needs}"
    yield f"- **Evidence:** {_evidence(paper, claim)}"
    if not claim.not_yet:
        yield f"- **Check it:** {_command(paper, key, claim)}"
    if claim.fitted:
        yield f"- **No evidence:** {plain(claim.fitted)}"
    if claim.finding:
        yield f"- **Finding:** {plain(claim.finding)} [More](../findings/{paper}.md#{key})"
    yield from ("", "| check | what it measures | with | our threshold |", "|---|---|---|---|")
    for name, check in claim.checks.items():
        own = check.model_dump(exclude={"check", "at_least", "at_most", "within_factor"}, exclude_defaults=True)
        given = "; ".join(f"`{field}`: {plain(_short(value))}" for field, value in own.items() if field != "check")
        kind = f"[`{check.name}`](#keys-{type(check).__name__.lower()})"
        yield f"| {name} | {kind} | {given} | {threshold_in_words(check)} |"
    yield from ("", *(f"Theory's limit for {name}: {plain(limit.reason)}" for name, limit in claim.limits.items()), "")


def _evidence(paper: str, claim: Claim) -> str:
    if claim.not_yet:
        return f"none: {plain(claim.not_yet)}"
    return f"[{claim.evidence}](#figure-{paper}-{claim.evidence})"


def _command(paper: str, key: str, claim: Claim) -> str:
    """How an evaluator checks a claim, at the least scale that is evidence, and what it takes by built-in estimates."""
    figure, scale = f"{paper}/{claim.evidence}", claim.needs.scales[0]
    overrides = [f"scale={scale}"] if scale != load(only=()).scale.name else []
    commands = f"{command_for([figure], overrides)} && {resaudit_command('audit', '--claim', key, *overrides)}"
    return f"`{commands}`: {effort_in_words(configuration(scale), figure)}"


def _short(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def figures() -> Iterator[str]:
    """Every figure, by paper: caption, experiment, claims, assumptions."""
    paper = ""
    for name, figure in configuration().figure.items():
        if name.split("/")[0] != paper:
            paper = name.split("/")[0]
            yield from ("", f"## {figure.paper.title}")
        yield from _figure(name, figure)


def _figure(name: str, figure: "Figure") -> Iterator[str]:
    paper, short = name.split("/")
    yield from ("", f"(figure-{paper}-{short})=", f"### {short}", "")
    yield from (f"**{plain(figure.title)}.** {plain(figure.caption)}", "")
    data = f"data {figure.dataset.title}" if figure.dataset else "no data"
    kind = type(figure.protocol).__name__.lower()
    yield f'- Draw it: `snakemake --cores all --config "figures=[{name}]"`'
    yield f"- Experiment: [`{figure.experiment}`](#keys-{kind}), {data}"
    held = [key for key, claim in configuration().claims.get(paper, {}).items() if claim.evidence == short]
    links = ", ".join(f"[{key}](#claim-{paper}-{key})" for key in held)
    yield from (f"- Claims: {links or 'none'}", "")
    if figure.assumptions:
        yield from ("| assumption | value | why | variants |", "|---|---|---|---|")
    for key, assumption in figure.assumptions.items():
        variants = "; ".join(f"`{each}`: {plain(variant.summary)}" for each, variant in assumption.variants.items())
        yield f"| {plain(key)} | {plain(value_of(assumption, figure))} | {plain(assumption.reason)} | {variants} |"
    yield ""
