"""``figures/audit.html``: an audit as one self-contained page."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from resaudit.numbers import effect_and_interval, span
from resaudit.report import forest, words
from resaudit.report.embedding import Download, Picture, download, picture
from resaudit.report.schema import read_audit
from resaudit.store.files import written_whole

VERDICTS = ("supported", "contradicted", "inconclusive", "not run")
BY_CONCERN = ("contradicted", "inconclusive", "supported", "not run")
POINTS_SHOWN = 8


@dataclass(frozen=True)
class Drawn:
    """A figure of the audit with its files read."""

    figure: dict[str, Any]
    picture: Picture
    download: Download


@dataclass(frozen=True)
class Group:
    """The claims of one figure; ``drawn`` is None if the figure has not been drawn."""

    id: str
    label: str
    drawn: Drawn | None
    claims: list[dict[str, Any]]


@dataclass(frozen=True)
class Section:
    """A paper, its claims by figure, the summaries of its variants, and the verdicts that each variant changes."""

    paper: dict[str, Any]
    groups: list[Group]
    variants: dict[str, str]
    changed: list[tuple[dict[str, Any], list[tuple[dict[str, Any], str]]]]


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
    style, script = (_resource(name) for name in ("page.css", "page.js"))
    return _environment().get_template("page.html.j2").render(
        audit=audit,
        sections=[_section(paper, figures) for paper in audit["papers"]],
        verdicts=VERDICTS,
        by_concern=BY_CONCERN,
        points_shown=POINTS_SHOWN,
        style=style,
        script=script,
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode("ascii"),
    )  # fmt: skip


def _section(paper: dict[str, Any], figures: Path) -> Section:
    return Section(paper, list(_groups(paper, figures)), _variant_summaries(paper), list(_changed(paper)))


def _groups(paper: dict[str, Any], figures: Path) -> Iterator[Group]:
    """Claims grouped by figure, in order of first mention."""
    drawn = {figure["id"]: figure for figure in paper["figures"]}
    groups: dict[str, list[dict[str, Any]]] = {}
    for claim in paper["claims"]:
        groups.setdefault(claim["evidence"], []).append(claim)
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


def _changed(paper: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[tuple[dict[str, Any], str]]]]:
    """The variants that change a verdict, with the claims and their other verdicts."""
    for variant in paper["robustness"]["variants"] if paper["robustness"] else ():
        changed = [
            (claim, under["verdict"])
            for claim in paper["claims"]
            for under in claim["variants"]
            if under["id"] == variant["id"] and under["verdict"] not in (None, claim["verdict"])
        ]
        if changed:
            yield variant, changed


def _variant_summaries(paper: dict[str, Any]) -> dict[str, str]:
    """Each variant's summary; as run takes precedence over as configured."""
    configured = [v for figure in paper["figures"] for a in figure["assumptions"] for v in a["variants"]]
    ran = paper["robustness"]["variants"] if paper["robustness"] else []
    return {variant["id"]: variant["summary"] for variant in [*configured, *ran]}


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("resaudit.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        words.in_words, words.moment, words.duration, words.megabytes, words.figure_label, words.meets,
        words.share_met, words.needs_in_words,
    ):  # fmt: skip
        environment.filters[function.__name__] = function
    environment.globals.update(
        axis_of=forest.axis_of, mark=forest.mark, region=forest.region, labelled_ticks=forest.labelled_ticks,
        interval=span, effect_and_interval=effect_and_interval,
    )  # fmt: skip
    return environment


def _resource(name: str) -> str:
    return files("resaudit.report").joinpath("templates", name).read_text(encoding="utf-8")
