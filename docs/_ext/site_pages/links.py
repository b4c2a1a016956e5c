"""Links between files of the checkout, as the site has them."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2]
CHECKOUT = DOCS.parent
PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "CODE_OF_CONDUCT.md": "conduct",
    "SECURITY.md": "security",
    "benchmarks/RESULTS.md": "measurements",
    "profiles/README.md": "cluster",
}
"""Files outside docs/ that are pages of the site."""
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]+)\]\((?P<path>[^()#:\s]+)(?P<anchor>#[^()\s]*)?\)")


def for_the_site(text: str, file: Path, page: Path) -> str:
    """A Markdown file's text, with its relative links as they are on a page of the site.

    A link to a folder becomes plain text: the site has none. Other files of the checkout can be downloaded from it.
    """

    def link(found: re.Match[str]) -> str:
        target = (file.parent / found["path"]).resolve()
        if target.is_dir():
            return found["text"]
        name = target.relative_to(CHECKOUT).as_posix()
        there = DOCS / f"{PAGES[name]}.md" if name in PAGES else target
        return f"[{found['text']}]({os.path.relpath(there, page.parent)}{found['anchor'] or ''})"

    return _LINK.sub(link, text)


def plain(text: str) -> str:
    r"""Text without any markup, for Markdown.

    >>> print(plain("a_1 * b | c"))
    a\_1 \* b \| c
    """
    return re.sub(r"([\\`*_\[\]<>|{}#])", r"\\\1", text)
