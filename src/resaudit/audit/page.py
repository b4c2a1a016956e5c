"""``figures/audit.html``: an audit as one self-contained page.

Figures are embedded: SVG with unique ids, CSV as a ``data:`` URI. Servers, as those of continuous integration, may
forbid a page its style sheets and ``data:`` images: so an SVG is neither an image nor styled, its colours are
attributes.
"""

import base64
import gzip
import json
import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic.main import IncEx

from resaudit.audit.changes import CONTROLS, Change, change_counts, changed_by, changes_of, moved, opposed, variants_of
from resaudit.audit.models import (
    FITTED,
    STANDINGS,
    Audit,
    AuditedPaper,
    DrawnFigure,
    JudgedClaim,
    NotDrawn,
    counts_in_words,
    standing_of,
    standings_of,
)
from resaudit.base import text
from resaudit.base.commands import ANY_FOLDER, resaudit_command, run_command, snakemake_command
from resaudit.base.errors import ResultsError, TableError
from resaudit.base.files import written_whole
from resaudit.base.text import number
from resaudit.claims.records import CheckResult, Comparison, VariantRun
from resaudit.claims.words import sentence
from resaudit.figures.printed import examined_in_words

MARGIN = 8.0
TICKS = 4


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic axis from ``start`` to ``end`` (in the axis' own measure), ``MARGIN`` per cent free."""

    logarithmic: bool
    start: float
    end: float

    def place(self, value: float) -> float:
        """A value's position in per cent of the width, within 0 and 100, which infinite ones have."""
        if math.isinf(value):
            return 100.0 if value > 0 else 0.0
        span = self.end - self.start
        share = (self._measure(value) - self.start) / span if span else 0.5
        return round(min(100.0, max(0.0, MARGIN + (100 - 2 * MARGIN) * share)), 2)

    def ticks(self) -> list[float]:
        """A few round values, ascending, within the axis."""
        low, high = self._value(self.start), self._value(self.end)
        if self.logarithmic and high / low >= 100:
            first, last = math.ceil(self.start - 1e-9), math.floor(self.end + 1e-9)
            step = max(1, math.ceil((last - first + 1) / TICKS))
            return [10.0**power for power in range(first, last + 1, step)]
        return _round_values(low, high)

    def _measure(self, value: float) -> float:
        if self.logarithmic:
            return math.log10(value) if value > 0 else -math.inf
        return value

    def _value(self, measure: float) -> float:
        return 10.0**measure if self.logarithmic else measure


def _round_values(low: float, high: float) -> list[float]:
    span = high - low
    if span <= 0:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(s for m in (1, 2, 2.5, 5, 10) if span / (s := m * magnitude) <= TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, last + 1)]


def axis_of(result: CheckResult) -> Axis | None:
    """The axis that contains a result's points and its region's ends; None without points.

    On a logarithmic axis values that are not positive are placed at the left edge.
    """
    logarithmic = result.scale == "log"
    values = [v for p in result.points for v in (p.effect, *p.ends)]
    placed = [v for v in (*values, *result.region) if math.isfinite(v) and (v > 0 or not logarithmic)]
    if not values or not placed:
        return None
    low, high = min(placed), max(placed)
    return Axis(True, math.log10(low), math.log10(high)) if logarithmic else Axis(False, low, high)


@dataclass(frozen=True)
class Mark:
    """A point as drawn, in per cent: ``effect`` None if unknown, ``line`` None without an interval.

    An interval that is unbounded or infinite on one side reaches the edge there (0 or 100) and has an arrow.
    """

    effect: float | None
    line: tuple[float, float] | None
    open_left: bool
    open_right: bool


def mark(point: Comparison, axis: Axis) -> Mark:
    """The positions of a point's effect and interval."""
    dot = None if math.isnan(point.effect) else axis.place(point.effect)
    if point.ends == (-math.inf, math.inf):
        return Mark(dot, None, False, False)
    return Mark(dot, (axis.place(point.low), axis.place(point.high)), point.low == -math.inf, point.high == math.inf)


def region(result: CheckResult, axis: Axis) -> tuple[float, float]:
    """The start and end of the claim's region."""
    low, high = result.region
    return axis.place(low), axis.place(high)


def labelled_ticks(axis: Axis) -> Iterable[tuple[float, str]]:
    """Positions and labels of the axis' ticks."""
    return [(axis.place(value), number(value)) for value in axis.ticks()]


LARGEST_PLAIN_CSV = 50_000
LARGEST_PACKED_CSV = 500_000
"""Bytes; with the largest few tables of a run, the page would be too large to send."""
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = {"metadata", "script", "style", "foreignObject"}
_STYLE_SHEET = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
"""All that matplotlib's style sheet says."""
_POINTS_TO_PIXELS = 4 / 3


@dataclass(frozen=True)
class Picture:
    """An SVG element as text, its id and view box, and its width in CSS pixels at original font size."""

    svg: str
    width: int
    id: str
    view_box: str

    @property
    def shape(self) -> str:
        """Width / height, as CSS has it."""
        return " / ".join(self.view_box.split()[2:])


@dataclass(frozen=True)
class Download:
    """A table for download: its URI (empty if it is too large), its file name, its uncompressed size in bytes."""

    uri: str
    name: str
    size: int


def picture(file: Path, name: str, label: str, expected_sha256: str | None = None) -> Picture:
    """Read an SVG for embedding in a page.

    Every id and reference gets a prefix made of the name; styles become attributes; metadata, scripts and external
    references are removed.

    Args:
        file: the SVG.
        name: the figure, as ``paper/figure``.
        label: text for screen readers.
        expected_sha256: the file's SHA-256, if known.
    """
    content = _read(file)
    if expected_sha256 and sha256(content).hexdigest() != expected_sha256:
        raise TableError(f"{file} is not what was drawn (its SHA-256 differs); remove {file} and run again")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise TableError(f"{file} is no SVG ({error}); remove {file} and run again") from error
    prefix = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    _clean(root, prefix)
    length = re.fullmatch(r"([0-9.]+)(pt|px)?", root.get("width", ""))
    width = round(float(length[1]) * (_POINTS_TO_PIXELS if length[2] == "pt" else 1)) if length else 0
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"id": prefix, "role": "img", "aria-label": label, **_STYLE_SHEET}
    return Picture(ElementTree.tostring(root, encoding="unicode"), width or 400, prefix, root.get("viewBox", ""))


def _clean(element: ElementTree.Element, prefix: str) -> None:
    """Keep an element's harmless children and attributes; its ids and references get the prefix."""
    for child in list(element):
        if not child.tag.startswith(_SVG) or child.tag.removeprefix(_SVG) in _DROPPED:
            element.remove(child)
        else:
            _clean(child, prefix)
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = None
    if element.text is not None and not element.text.strip():
        element.text = None
    attributes = [("href" if key == _XLINK_HREF else key, value) for key, value in element.attrib.items()]
    attributes += re.findall(r"([a-z-]+): *([^;]+)", element.get("style", ""))
    element.attrib.clear()
    for key, value in attributes:
        if key == "id":
            element.attrib[key] = f"{prefix}-{value}"
        elif key == "href":
            if value.startswith(("#", "data:image/")):
                element.attrib[key] = f"#{prefix}-{value[1:]}" if value.startswith("#") else value
        elif not key.startswith(("{", "on", "style")):
            element.attrib[key] = re.sub(r"url\((['\"]?)#([^)'\"]+)\1\)", rf"url(#{prefix}-\2)", value)


def download(file: Path, expected_sha256: str) -> Download:
    """Read a table for download from the page; a large one is compressed, reproducibly."""
    content = _read(file)
    if sha256(content).hexdigest() != expected_sha256:
        raise TableError(
            f"{file} is not the table of this audit (its SHA-256 differs); make the audit again (snakemake --cores "
            "all -R audit)"
        )
    name = f"{file.parent.name}-{file.name}"
    if len(content) <= LARGEST_PLAIN_CSV:
        return Download(_uri("text/csv", content), name, len(content))
    packed = gzip.compress(content, compresslevel=9, mtime=0)
    if len(packed) > LARGEST_PACKED_CSV:
        return Download("", name, len(content))
    return Download(_uri("application/gzip", packed), f"{name}.gz", len(content))


def _uri(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ResultsError(f"cannot read {file} ({error.strerror}); draw the figures ({run_command()})") from error


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


def write_page(audit: Audit, page_file: Path, figures: Path | None = None) -> None:
    """Write the page of an audit, by default into the folder of its figures."""
    page = render(audit, figures or page_file.parent)
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
    standings = standings_of(audit.claims)
    sections = [_section(paper, figures) for paper in audit.papers]
    titles = {figure.id: figure.title for section in sections for figure in section.gallery}
    pages = environment()
    pages.filters["figure_label"] = lambda name: figure_label(name, titles.get(name, ""))
    return pages.get_template("page.html.j2").render(
        audit=audit,
        sections=sections,
        filters=_filters(audit),
        archives=_archives(audit.papers),
        verdicts={each: standings[each] for each in STANDINGS if each != FITTED or standings[each]},
        scales=sorted({scale for claim in audit.claims for scale in claim.committed} - {audit.scale}),
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


def environment() -> Environment:
    """What templates of pages see."""
    environment = Environment(
        loader=PackageLoader("resaudit.audit"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (
        text.value_in_words, text.moment, text.duration, text.megabytes, text.decimals, text.difference,
        sentence, change_counts, changes_of, moved, opposed, variants_of, examined_in_words, standing_of,
        counts_in_words,
    ):  # fmt: skip
        environment.filters[function.__name__] = function
    environment.globals.update(
        axis_of=axis_of, mark=mark, region=region, labelled_ticks=labelled_ticks,
        NO_DATA=NO_DATA, CONTROLS=CONTROLS, KINDS=KINDS, interval=text.span,
        effect_and_interval=text.effect_and_interval,
    )  # fmt: skip
    return environment
