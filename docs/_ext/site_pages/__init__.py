"""Sphinx extension: pages of the site whose text is elsewhere, in the models, the ledgers or another file.

``<!-- made: NAME -->`` in a page becomes what ``MADE[NAME]`` writes. A page that consists of
``<!-- text of: PATH -->`` shows that file of the checkout. ``NAME?`` in a list of pages is left out where there is no
such page.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from resaudit.audit.schema import audit_schema
from site_pages import ledgers, models, results
from site_pages.links import CHECKOUT, DOCS, for_the_site

MADE: dict[str, Callable[[], Iterator[str]]] = {
    "run": models.run_keys,
    "figure": models.figure_keys,
    "datasets": models.dataset_keys,
    "experiments": models.experiment_keys,
    "claim": models.claim_keys,
    "checks": models.check_keys,
    "claims": ledgers.claims,
    "figures": ledgers.figures,
    "results": results.results,
}
_MADE = re.compile(r"^<!-- made: (\w+) -->$", re.MULTILINE)
_IF_THERE = re.compile(r"^(\w+)\?$", re.MULTILINE)
_TEXT_OF = re.compile(r"^<!-- text of: (\S+) -->$", re.MULTILINE)


def setup(app: Any) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("source-read", _write)
    app.connect("env-get-outdated", _from_elsewhere)
    app.connect("build-finished", _write_schemas)
    app.connect("build-finished", _draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(_app: Any, name: str, source: list[str]) -> None:
    """Replace the marks of a page, and its links to what is no page."""
    page, file, text = DOCS / f"{name}.md", DOCS / f"{name}.md", source[0]
    if elsewhere := _TEXT_OF.search(text):
        file = CHECKOUT / elsewhere[1]
        text = file.read_text(encoding="utf-8")
    text = _IF_THERE.sub(lambda mark: mark[1] if (DOCS / f"{mark[1]}.md").is_file() else "", text)
    text = for_the_site(text, file, page)
    source[0] = _MADE.sub(lambda mark: "\n".join(MADE[mark[1]]()), text)


def _write_schemas(app: Any, _error: Exception | None) -> None:
    """The schemas of audit.json and of ``--config``, beside the pages."""
    for name, schema in (("audit", audit_schema()), ("config", models.config_schema())):
        text = json.dumps(schema, indent=1, ensure_ascii=False)
        (Path(app.outdir) / f"{name}.schema.json").write_text(text, encoding="utf-8")


def _draw(app: Any, error: Exception | None) -> None:
    """The drawings of the page of results."""
    if error is None and app.builder.format == "html":
        results.draw(Path(app.outdir))


def _from_elsewhere(_app: Any, env: Any, *_changed: set[str]) -> list[str]:
    """The pages whose changes Sphinx does not see."""
    texts = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in env.found_docs}
    return [name for name, text in texts.items() if _MADE.search(text) or _TEXT_OF.search(text)]
