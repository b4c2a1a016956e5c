"""``figures/audit.html``: an audit as one self-contained page."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from resaudit.numbers import number, span
from resaudit.report import forest, words
from resaudit.report.embedding import Download, Picture, download, picture
from resaudit.report.schema import read_audit
from resaudit.store.files import written_whole

VERDICTS = ("supported", "contradicted", "inconclusive", "not run")
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
    """A paper, its claims by figure, and the picture of its matrix."""

    paper: dict[str, Any]
    groups: list[Group]
    robustness: Picture | None
    variants: dict[str, str]


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
        points_shown=POINTS_SHOWN,
        style=style,
        script=script,
        script_hash=base64.b64encode(sha256(script.encode()).digest()).decode("ascii"),
    )  # fmt: skip


def _section(paper: dict[str, Any], figures: Path) -> Section:
    robustness = paper["robustness"]
    matrix = None
    if robustness is not None:
        label = f"Claims of {paper['title']} under other readings; the table before it says the same in words"
        matrix = _picture(robustness, figures, f"{paper['id']}/robustness", label)
    return Section(paper, list(_groups(paper, figures)), matrix, _variant_summaries(paper))


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
        _picture(figure, figures, figure["id"], label),
        download(figures / figure["files"]["csv"], figure["sha256"]),
    )


def _picture(part: dict[str, Any], figures: Path, name: str, label: str) -> Picture:
    return picture(figures / part["files"]["svg"], name, label, part.get("drawings", {}).get("svg"))


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
    for function in (number, words.in_words, words.moment, words.duration, words.megabytes):
        environment.filters[function.__name__] = function
    environment.globals.update(
        axis_of=forest.axis_of, mark=forest.mark, region=forest.region, labelled_ticks=forest.labelled_ticks,
        interval=span,
    )  # fmt: skip
    return environment


def _resource(name: str) -> str:
    return files("resaudit.report").joinpath("templates", name).read_text(encoding="utf-8")
