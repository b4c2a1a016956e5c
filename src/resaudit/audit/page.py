"""``figures/audit.html``: an audit as one self-contained page."""

import base64
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic.main import IncEx

from resaudit.audit import forest
from resaudit.audit.changes import CONTROLS, Change, change_counts, changed_by, changes_of, opposed, variants_of
from resaudit.audit.claim_models import FITTED, STANDINGS, JudgedClaim, standing_of
from resaudit.audit.embedding import Download, Picture, download, picture
from resaudit.audit.models import Audit, AuditedPaper, DrawnFigure, NotDrawn
from resaudit.base import text
from resaudit.base.commands import ANY_FOLDER, resaudit_command, snakemake_command
from resaudit.base.files import written_whole
from resaudit.claims.records import VariantRun
from resaudit.claims.words import sentence
from resaudit.figures.printed import examined_in_words

BY_CONCERN = ("contradicted", "depends", "inconclusive", FITTED, "supported", "not run")
POINTS_SHOWN = 8
NO_DATA = "no data set"
KINDS = {"empirical": "measured", "theorem": "theory", "count": "counted"}
_NUMBERED = {"fig": "Figure", "table": "Table", "theorem": "Theorem"}

Changed = list[tuple[VariantRun, list[tuple[JudgedClaim, Change]]]]
"""Variants that change verdicts, with the claims."""


@dataclass(frozen=True)
class Embedded:
    """A figure of the audit with its files read."""

    figure: DrawnFigure
    picture: Picture
    download: Download


@dataclass(frozen=True)
class Group:
    """A figure and its claims; ``drawn`` is None if the figure has not been drawn."""

    id: str
    label: str
    drawn: Embedded | None
    claims: list[JudgedClaim]

    @property
    def absence(self) -> str:
        """What is so of a figure without a drawing: no command can draw it yet, or none has."""
        return "no figure yet" if self.claims and self.claims[0].command is None else "not drawn"


@dataclass(frozen=True)
class Section:
    """A paper, its claims by figure, all its figures, its variants' summaries, and the verdicts that each changes.

    ``alone`` has what the controls change; both are empty of a stale matrix.
    """

    paper: AuditedPaper
    groups: dict[str, Group]
    gallery: list[DrawnFigure | NotDrawn]
    variants: dict[str, str]
    changed: Changed
    alone: Changed


def figure_label(name: str, title: str = "") -> str:
    """The name of ``paper/figure`` in a text, as its title begins if that is with a number.

    >>> figure_label("x/fig04"), figure_label("x/theorem12"), figure_label("x/theorem21", "Theorem 2.1: small factors")
    ('Figure 4', 'Theorem 12', 'Theorem 2.1')
    >>> figure_label("x/fig01_cifar100"), figure_label("x/shortcut_depths")
    ('Figure 1 (cifar100)', 'shortcut depths')
    """
    if numbered := re.match(rf"({'|'.join(_NUMBERED.values())}) [0-9]+(\.[0-9]+)*", title):
        return numbered[0]
    slug = name.split("/")[-1]
    numbered = re.fullmatch(r"(fig|table|theorem)0*([0-9]+)(?:_(.+))?", slug)
    if numbered is None:
        return slug.replace("_", " ")
    variety = f" ({numbered[3].replace('_', ' ')})" if numbered[3] else ""
    return f"{_NUMBERED[numbered[1]]} {numbered[2]}{variety}"


def write_page(audit: Audit, page_file: Path) -> None:
    """Write the page of an audit into the folder of its figures."""
    page = render(audit, page_file.parent)
    with written_whole(page_file) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def render(audit: Audit, figures: Path) -> str:
    """The page of an audit; the same audit and files give the same text.

    Args:
        audit: the audit.
        figures: the folder that the audit's paths are relative to.
    """
    style, script = (
        files("resaudit.audit").joinpath("templates", name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    )
    outside = any(ANY_FOLDER in shlex.split(paper.ledger.command) for paper in audit.papers)
    overrides = [ANY_FOLDER] if outside else []
    overrides += audit.overrides
    standings = {claim.standing for claim in audit.claims}
    sections = [_section(paper, figures) for paper in audit.papers]
    titles = {figure.id: figure.title for section in sections for figure in section.gallery}
    environment = _environment()
    environment.filters["figure_label"] = lambda name: figure_label(name, titles.get(name, ""))
    return environment.get_template("page.html.j2").render(
        audit=audit,
        sections=sections,
        filters=_filters(audit),
        archives=_archives(audit.papers),
        verdicts=[standing for standing in STANDINGS if standing != FITTED or standing in standings],
        set_here={claim.id: len(claim.settings_of_run) for claim in audit.claims if claim.settings_of_run},
        commands={
            "robustness": snakemake_command({"overrides": overrides}, "robustness"),
            "spot_check": resaudit_command("spot-check", "--minutes", "10", *overrides),
        },
        by_concern=BY_CONCERN,
        points_shown=POINTS_SHOWN,
        judgements=json.dumps(to_judge_again(audit.claims), separators=(",", ":")).replace("<", "\\u003c"),
        style=style,
        script=script,
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode("ascii"),
    )  # fmt: skip


def _section(paper: AuditedPaper, figures: Path) -> Section:
    drawn = {figure.id: figure for figure in paper.figures}
    every: list[DrawnFigure | NotDrawn] = [*paper.figures, *paper.not_drawn]
    titles = {figure.id: figure.title for figure in every}
    groups = {}
    # Claims by figure, in order of first mention; then the drawn figures without claims.
    for name in dict.fromkeys([*(claim.evidence for claim in paper.claims), *drawn]):
        label, embedded = figure_label(name, titles.get(name, "")), None
        if figure := drawn.get(name):
            spoken = f"{label}: {figure.title}; described by the caption"
            embedded = Embedded(
                figure,
                picture(figures / figure.files["svg"], name, spoken, figure.drawings.get("svg")),
                download(figures / figure.files["csv"], figure.sha256),
            )
        groups[name] = Group(name, label, embedded, [claim for claim in paper.claims if claim.evidence == name])
    configured = [v for figure in paper.figures for assumed in figure.assumptions for v in assumed.variants]
    runs = paper.robustness.variants if paper.robustness else []
    summaries = {variant.id: variant.summary for variant in [*configured, *runs]}
    # A stale matrix changes nothing.
    compared = runs if paper.robustness and paper.robustness.stale is None else []
    alone, changed = (
        [(each, changed_by(paper.claims, each.id)) for each in variants_of(compared, controls=controls)]
        for controls in (True, False)
    )
    gallery = sorted(every, key=lambda figure: figure.id)
    return Section(paper, groups, gallery, summaries, [(v, claims) for v, claims in changed if claims], alone)


def to_judge_again(claims: Sequence[JudgedClaim]) -> dict[str, Any]:
    """By claim with enough evidence, what page.js needs to judge it at a reader's thresholds, as audit.json has it."""
    ends: IncEx = {"__all__": {"choices": {"__all__": {"own", "shared"}}}}
    kept = dict.fromkeys(("scale", "spread", "missing", "unmeasured"), True)
    parts: IncEx = {**kept, "check": {"parameters"}, "points": ends}
    return {
        claim.id: {
            "fitted": claim.fitted is not None,
            "checks": {check.name: json.loads(check.model_dump_json(include=parts)) for check in claim.checks},
        }
        for claim in claims
        if not claim.obstacle and any(check.turns for check in claim.checks)
    }


def _filters(audit: Audit) -> list[tuple[str, str, dict[str, str]]]:
    """Name, title and choices (value and label) of the filters beside the verdict that have a choice."""
    data = sorted({claim.data for claim in audit.claims if claim.data})
    kinds = {claim.kind for claim in audit.claims}
    filters: list[tuple[str, str, dict[str, str]]] = [
        ("paper", "Paper", {paper.id: paper.title for paper in audit.papers}),
        ("kind", "Kind", {kind: label for kind, label in KINDS.items() if kind in kinds}),
        ("data", "Data set", {title: title for title in (*data, NO_DATA)}),
    ]
    return [each for each in filters if len(each[2]) > 1]


def _archives(papers: Sequence[AuditedPaper]) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    """By the SHA-256 of each imported archive and who ran it: the figures with results of them."""
    archives: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for paper in papers:
        for figure in paper.figures:
            for imported in figure.imported:
                about = {"id": figure.id, "paper": paper.title, "jobs": len(imported.jobs), "of": len(figure.jobs)}
                archives.setdefault((imported.archive, imported.by), []).append(about)
    return archives


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("resaudit.audit"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        text.value_in_words, text.moment, text.duration, text.megabytes, text.decimals, text.difference,
        sentence, change_counts, changes_of, opposed, variants_of, examined_in_words, standing_of,
    ):  # fmt: skip
        environment.filters[function.__name__] = function
    environment.globals.update(
        axis_of=forest.axis_of, mark=forest.mark, region=forest.region, labelled_ticks=forest.labelled_ticks,
        NO_DATA=NO_DATA, CONTROLS=CONTROLS, KINDS=KINDS, interval=text.span,
        effect_and_interval=text.effect_and_interval,
    )  # fmt: skip
    return environment
