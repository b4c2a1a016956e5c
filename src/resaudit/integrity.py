"""Whether files are still what was written: seals, checksums of what was drawn, and dates that can be trusted.

Snakemake looks at the dates of inputs: a file edited with its date kept, or a drawing that no rule reads, is nothing to
it.
"""

import hashlib
import json
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from resaudit.errors import ResauditError
from resaudit.files import read_json, sha256_of, write_json
from resaudit.layout import Layout

SEAL = "seal"
SECONDS_CLOCKS_MAY_DIFFER = 300
_PAGE_SEAL = "<!-- SHA-256 of all before: "


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with a seal: the SHA-256 of the rest, so that a change of it is seen."""
    write_json(path, {**content, SEAL: _seal_of(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """What :func:`write_sealed` wrote into a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON object, or has been changed since it was sealed.
    """
    return unsealed(read_json(path))


def unsealed(content: Any) -> dict[str, Any]:
    """What :func:`write_sealed` was given; JSON without a seal as it is.

    Raises:
        ValueError: it is no JSON object, or has been changed since it was sealed.
    """
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    rest = {key: value for key, value in content.items() if key != SEAL}
    if SEAL in content and content[SEAL] != _seal_of(rest):
        raise ValueError("it has been changed since it was written: its seal is of other content")
    return rest


def _seal_of(content: Mapping[str, Any]) -> str:
    as_read = json.loads(json.dumps(content))
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


def sealed_page(text: str) -> str:
    """A page with its seal as a last line, a comment."""
    return f"{text}{_PAGE_SEAL}{hashlib.sha256(text.encode()).hexdigest()} -->\n"


def check_untouched(layout: Layout, figures: Iterable[str]) -> None:
    """See that figures, and the audit, are what was drawn and written, where they exist.

    Args:
        layout: where they lie.
        figures: names as ``paper/figure``.

    Raises:
        ResauditError: a file has been changed since; one that is missing is no error, it is made again.
    """
    changed = [file for name in figures for file in changed_files(layout.figure(name, "json"))]
    changed += _changed_audit(layout.figures)
    if changed:
        names = " ".join(map(str, changed))
        raise ResauditError(f"not what was written, but changed since or damaged; remove {names} and run again")


def changed_files(about: Path) -> Iterator[Path]:
    """Those of a figure's files that are not what its ``.json`` says was drawn; none where that file is missing."""
    try:
        recorded = recorded_sha256(read_sealed(about))
    except FileNotFoundError:
        return
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        yield about
        return
    for suffix, digest in recorded.items():
        file = about.with_suffix(f".{suffix}")
        if file.is_file() and sha256_of(file) != digest:
            yield file


def recorded_sha256(about: Mapping[str, Any]) -> dict[str, str]:
    """By suffix, the SHA-256 of a figure's table and drawings as what stands beside them has it, if it does."""
    table = {"csv": about["sha256"]} if about.get("sha256") else {}
    return {**table, **about.get("drawings", {})}


def _changed_audit(figures: Path) -> Iterator[Path]:
    audit, page = figures / "audit.json", figures / "audit.html"
    try:
        read_sealed(audit)
    except FileNotFoundError:
        pass
    except (OSError, ValueError):
        yield audit
    if page.is_file() and not _is_whole(page.read_bytes()):
        yield page


def _is_whole(page: bytes) -> bool:
    text, mark, seal = page.rpartition(_PAGE_SEAL.encode())
    if not mark:  # of before pages were sealed
        return page.rstrip().endswith(b"</html>")
    return seal == f"{hashlib.sha256(text).hexdigest()} -->\n".encode()


def check_dates(layout: Layout) -> None:
    """See that no result is dated in the future: what changes until then would look older than it, and be missed.

    Raises:
        ResauditError: one is; the line says how to have all inputs looked at by content.
    """
    now = time.time()
    folders = [folder for folder in (layout.results, layout.figures) if folder.is_dir()]
    for folder in folders:
        for path in folder.rglob("*"):
            ahead = path.lstat().st_mtime - now
            if ahead > SECONDS_CLOCKS_MAY_DIFFER:
                raise ResauditError(
                    f"{path} is dated {ahead / 3600:.1f} hours in the future, so changes until then would be missed: "
                    "set the clock right, or if it was wrong then, run: "
                    f"find {shlex.join(map(str, folders))} -newermt now -exec touch -d 1970-01-02 {{}} +"
                )
