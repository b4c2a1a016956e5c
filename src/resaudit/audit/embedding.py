"""Embedding a figure's files in the page: SVG with unique ids, CSV as a ``data:`` URI.

Servers, as those of continuous integration, may forbid a page its style sheets and ``data:`` images: so an SVG is
neither an image nor styled, its colours are attributes.
"""

import base64
import gzip
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

from resaudit.base.errors import ResultsError, TableError

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
        raise ResultsError(
            f"cannot read {file} ({error.strerror}); draw the figures (snakemake --cores all)"
        ) from error
