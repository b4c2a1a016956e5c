"""``figures/audit.html``: an audit as one self-contained page."""

import base64
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from resaudit.audit import forest, words
from resaudit.audit.changes import CONTROLS, Change, change_counts, changed_by, changes_of, variants_of
from resaudit.audit.embedding import Download, Picture, download, picture
from resaudit.audit.models import Audit
from resaudit.audit.schema import read_audit
from resaudit.base.commands import ANY_FOLDER, resaudit_command, snakemake_command
from resaudit.base.files import written_whole
from resaudit.base.text import effect_and_interval, span

BY_CONCERN = ("contradicted", "inconclusive", words.FITTED, "supported", "not run")
POINTS_SHOWN = 8
NO_DATA = "no data set"


Changed = list[tuple[dict[str, Any], list[tuple[dict[str, Any], Change]]]]
"""Variants that change verdicts, with the claims."""


@dataclass(frozen=True)
class Drawn:
    """A figure of the audit with its files read."""

    figure: dict[str, Any]
    picture: Picture
    download: Download


@dataclass(frozen=True)
class Group:
    """A figure and its claims; ``drawn`` is None if the figure has not been drawn."""

    id: str
    label: str
    drawn: Drawn | None
    claims: list[dict[str, Any]]

    @property
    def absence(self) -> str:
        """What is so of a figure without a drawing: no command can draw it yet, or none has."""
        return "no figure yet" if self.claims and self.claims[0]["command"] is None else "not drawn"


@dataclass(frozen=True)
class Thumbnail:
    """A figure in the gallery; without ``picture`` if it was not drawn. ``has_group``: whether it is shown below."""

    id: str
    label: str
    about: dict[str, Any]
    picture: Picture | None
    has_group: bool


@dataclass(frozen=True)
class Section:
    """A paper, its claims by figure, its gallery, its variants' summaries, and the verdicts that each changes.

    ``alone`` has what the controls change; both are empty of a stale matrix.
    """

    paper: dict[str, Any]
    groups: list[Group]
    gallery: list[Thumbnail]
    variants: dict[str, str]
    changed: Changed
    alone: Changed


def write_page(audit_file: Path, page_file: Path) -> None:
    """Write the page of an audit; the figures must be beside ``audit_file``.

    Raises:
        ResauditError: the audit or a figure's file is missing or invalid, or the page cannot be written.
    """
    text = render(read_audit(audit_file), audit_file.parent)
    with written_whole(page_file) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def render(audit: dict[str, Any], figures: Path) -> str:
    """The page of an audit; the same audit and files give the same text.

    Args:
        audit: validated.
        figures: the folder that the audit's paths are relative to.

    Raises:
        ResauditError: a figure's file is missing or of another audit.
    """
    audit = Audit.model_validate(audit).model_dump(mode="json", by_alias=True)
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    return _environment().get_template("page.html.j2").render(
        audit=audit,
        sections=[_section(paper, figures) for paper in audit["papers"]],
        filters=_filters(audit["papers"]),
        archives=_archives(audit["papers"]),
        verdicts=_standings(audit["papers"]),
        set_here=_set_here(audit["papers"]),
        commands=_commands(audit),
        by_concern=BY_CONCERN,
        points_shown=POINTS_SHOWN,
        style=style,
        script=script,
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode("ascii"),
    )  # fmt: skip


def _section(paper: dict[str, Any], figures: Path) -> Section:
    groups = list(_groups(paper, figures))
    changed, alone = _changed(paper, controls=False), _changed(paper, controls=True)
    return Section(paper, groups, _gallery(paper, groups), _variant_summaries(paper), changed, alone)


def _gallery(paper: dict[str, Any], groups: list[Group]) -> list[Thumbnail]:
    """All figures of a paper by name, drawn or not."""
    pictures = {group.id: group.drawn.picture if group.drawn else None for group in groups}
    return [
        Thumbnail(figure["id"], words.figure_label(figure["id"]), figure, pictures.get(figure["id"]),
                  figure["id"] in pictures)
        for figure in sorted([*paper["figures"], *paper["not_drawn"]], key=lambda figure: str(figure["id"]))
    ]  # fmt: skip


def _filters(papers: list[dict[str, Any]]) -> list[tuple[str, str, dict[str, str]]]:
    """Name, title and choices (value and label) of the filters beside the verdict that have a choice."""
    claims = [claim for paper in papers for claim in paper["claims"]]
    data = sorted({claim["data"] for claim in claims if claim["data"]})
    kinds = [kind for kind in words.KINDS if any(claim["kind"] == kind for claim in claims)]
    filters = [
        ("paper", "Paper", {paper["id"]: paper["title"] for paper in papers}),
        ("kind", "Kind", {kind: words.kind_label(kind) for kind in kinds}),
        ("data", "Data set", {title: title for title in (*data, NO_DATA)}),
    ]
    return [each for each in filters if len(each[2]) > 1]


def _standings(papers: list[dict[str, Any]]) -> list[str]:
    """What claims can count as; fitted only where a claim does."""
    any_fitted = any(words.standing(claim) == words.FITTED for paper in papers for claim in paper["claims"])
    return [each for each in words.STANDINGS if each != words.FITTED or any_fitted]


def _set_here(papers: list[dict[str, Any]]) -> dict[str, int]:
    """By claim, how many of its settings are not the repository's; without those that have none."""
    counts = {claim["id"]: len(words.set_for_run(claim)) for paper in papers for claim in paper["claims"]}
    return {name: count for name, count in counts.items() if count}


def _commands(audit: dict[str, Any]) -> dict[str, str]:
    """The commands that go on with the whole run, with its overrides."""
    ledgers = [paper["ledger"]["command"] or "" for paper in audit["papers"]]
    given = [ANY_FOLDER] if any(ANY_FOLDER in shlex.split(command) for command in ledgers) else []
    given += audit["overrides"]
    return {
        "robustness": snakemake_command({"overrides": given}, "robustness"),
        "spot_check": resaudit_command("spot-check", "--minutes", "10", *given),
    }


def _archives(papers: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """By the SHA-256 of each imported archive: who ran it, and the figures with results of it."""
    found: dict[str, dict[str, Any]] = {}
    for paper in papers:
        for figure in paper["figures"]:
            for each in figure["imported"]:
                archive = found.setdefault(each["archive"], {"by": each["by"], "figures": []})
                about = {
                    "id": figure["id"],
                    "paper": paper["title"],
                    "jobs": len(each["jobs"]),
                    "of": len(figure["jobs"]),
                }
                archive["figures"].append(about)
    return found


def _groups(paper: dict[str, Any], figures: Path) -> Iterator[Group]:
    """Claims grouped by figure, in order of first mention; then the drawn figures without claims."""
    drawn = {figure["id"]: figure for figure in paper["figures"]}
    groups: dict[str, list[dict[str, Any]]] = {}
    for claim in paper["claims"]:
        groups.setdefault(claim["evidence"], []).append(claim)
    for name in drawn:
        groups.setdefault(name, [])
    for name, claims in groups.items():
        figure = drawn.get(name)
        yield Group(name, words.figure_label(name), None if figure is None else _drawn(figure, figures), claims)


def _drawn(figure: dict[str, Any], figures: Path) -> Drawn:
    label = f"{words.figure_label(figure['id'])}: {figure['title']}; described by the caption"
    return Drawn(
        figure,
        picture(figures / figure["files"]["svg"], figure["id"], label, figure.get("drawings", {}).get("svg")),
        download(figures / figure["files"]["csv"], figure["sha256"]),
    )


def _changed(paper: dict[str, Any], controls: bool) -> Changed:
    """The variants that change a verdict, or the controls, with the claims; none of a stale matrix."""
    matrix = paper["robustness"]
    if matrix is None or matrix["stale"] is not None:
        return []
    found = [(each, changed_by(paper["claims"], each["id"])) for each in variants_of(matrix["variants"], controls)]
    return [(variant, claims) for variant, claims in found if claims or controls]


def _variant_summaries(paper: dict[str, Any]) -> dict[str, str]:
    """Each variant's summary; as run takes precedence over as configured."""
    configured = [v for figure in paper["figures"] for a in figure["assumptions"] for v in a["variants"]]
    ran = paper["robustness"]["variants"] if paper["robustness"] else []
    return {variant["id"]: variant["summary"] for variant in [*configured, *ran]}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("resaudit.audit"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        words.in_words, words.moment, words.duration, words.megabytes, words.figure_label, words.meets,
        words.share_met, words.needs_in_words, words.kind_label, words.decimals, words.difference,
        words.standing, words.mixed_code,
        change_counts, changes_of, variants_of, words.set_for_run,
    ):  # fmt: skip
        environment.filters[function.__name__] = function
    environment.globals.update(
        axis_of=forest.axis_of, mark=forest.mark, region=forest.region, labelled_ticks=forest.labelled_ticks,
        NO_DATA=NO_DATA, CONTROLS=CONTROLS, interval=span, effect_and_interval=effect_and_interval,
    )  # fmt: skip
    return environment


def _resource(name: str) -> str:
    return files("resaudit.audit").joinpath("templates", name).read_text(encoding="utf-8")
