"""Embedding a figure's files in the page: SVG with unique ids, CSV as a ``data:`` URI."""

import base64
import gzip
import io
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

from resaudit.base.errors import ResauditError

LARGEST_PLAIN_CSV = 50_000
LARGEST_PACKED_CSV = 500_000
"""Bytes; with the largest few tables of a run, the page would be too large to send."""
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_DROPPED = {"metadata", "script", "foreignObject"}
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

    Every id and reference gets a prefix made of the name; the style sheet is scoped to the SVG; metadata, scripts and
    external references are removed.

    Args:
        file: the SVG.
        name: of the figure, ``paper/figure``.
        label: text for screen readers.
        expected_sha256: of the file, if known.

    Raises:
        ResauditError: the file is missing, was changed since it was drawn, or is not an SVG.
    """
    content = _read(file)
    if expected_sha256 and sha256(content).hexdigest() != expected_sha256:
        raise ResauditError(f"{file} is not what was drawn (its SHA-256 differs); remove {file} and run again")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise ResauditError(f"{file} is no SVG ({error}); remove {file} and run again") from error
    prefix = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    _clean(root, prefix)
    width = _pixels(root.get("width", "")) or 400
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"id": prefix, "role": "img", "aria-label": label}
    return Picture(ElementTree.tostring(root, encoding="unicode"), width, prefix, root.get("viewBox", ""))


def _clean(element: ElementTree.Element, prefix: str) -> None:
    for child in list(element):
        if not child.tag.startswith(_SVG) or child.tag.removeprefix(_SVG) in _DROPPED:
            element.remove(child)
        else:
            _clean(child, prefix)
    element.tag = element.tag.removeprefix(_SVG)
    element.tail = None
    if element.tag == "style":
        element.text = f"#{prefix} {{{element.text or ''}}}"
    elif element.text is not None and not element.text.strip():
        element.text = None
    kept = {key: value for key, value in _attributes(element) if _is_harmless(key, value)}
    element.attrib.clear()
    element.attrib |= {key: _prefixed(key, value, prefix) for key, value in kept.items()}


def _attributes(element: ElementTree.Element) -> list[tuple[str, str]]:
    return [("href" if key == _XLINK_HREF else key, value) for key, value in element.attrib.items()]


def _is_harmless(key: str, value: str) -> bool:
    if key.startswith(("{", "on")):
        return False
    return key != "href" or value.startswith(("#", "data:image/"))


def _prefixed(key: str, value: str, prefix: str) -> str:
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    return re.sub(r"url\((['\"]?)#([^)'\"]+)\1\)", rf"url(#{prefix}-\2)", value)


def _pixels(length: str) -> int | None:
    match = re.fullmatch(r"([0-9.]+)(pt|px)?", length)
    return round(float(match[1]) * (_POINTS_TO_PIXELS if match[2] == "pt" else 1)) if match else None


def download(file: Path, expected_sha256: str) -> Download:
    """Read a table for download from the page; a large one is compressed, reproducibly.

    Raises:
        ResauditError: the file is missing, or is not the table that the audit was made from.
    """
    content = _read(file)
    if sha256(content).hexdigest() != expected_sha256:
        raise ResauditError(
            f"{file} is not the table of this audit (its SHA-256 differs); "
            "make the audit again (snakemake --cores all -R audit)"
        )
    name = f"{file.parent.name}-{file.name}"
    if len(content) <= LARGEST_PLAIN_CSV:
        return Download(_uri("text/csv", content), name, len(content))
    packed = _packed(content)
    if len(packed) > LARGEST_PACKED_CSV:
        return Download("", name, len(content))
    return Download(_uri("application/gzip", packed), f"{name}.gz", len(content))


def _uri(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"


def _packed(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ResauditError(
            f"cannot read {file} ({error.strerror}); draw the figures (snakemake --cores all)"
        ) from error
