"""What ``resaudit compare`` last found: ``figures/checked/compare.json``, for the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from resaudit.audit.models import Compared
from resaudit.base.errors import ResauditError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.base.models import Closed, validated
from resaudit.figures.references import references
from resaudit.jobs.provenance import provenance
from resaudit.plan.layout import Layout
from resaudit.plan.plan import Plan


class Comparison(Closed):
    """The content of ``compare.json``: the :class:`Compared` figures, and the SHA-256 of their tables."""

    compared: Compared
    tables: dict[str, str]


def write_comparison(plan: Plan, failed: Sequence[str]) -> Path | None:
    """Record which of the chosen figures agree with their references.

    Args:
        plan: with the chosen figures.
        failed: those that do not.

    Returns:
        The file; None if none of the chosen figures is drawn.
    """
    layout = Layout(plan.config.paths)
    tables = {name: layout.figure(name, "csv") for name, kept in references(plan).items() if kept.is_file()}
    drawn = {name: sha256_of(table) for name, table in tables.items() if table.is_file()}
    if not drawn:
        return None
    ran = provenance()
    compared = {
        "agree": [name for name in drawn if name not in failed],
        "disagree": [name for name in drawn if name in failed],
        "commit": ran["commit"],
        "finished": ran["finished"],
    }
    file = _file(layout)
    write_json(file, {"compared": compared, "tables": drawn})
    return file


def checked(layout: Layout, tables: Mapping[str, str]) -> dict[str, Any]:
    """The section ``checked`` of the audit.

    Args:
        layout: the folders of the run.
        tables: SHA-256 of each drawn figure's table; a comparison of other tables does not count.

    Raises:
        ResauditError: the record is damaged.
    """
    comparison = _read(_file(layout))
    same = {name for name, digest in comparison.tables.items() if tables.get(name) == digest} if comparison else set()
    return {"compare": _about(comparison, same)}


def _about(comparison: Comparison | None, names: set[str]) -> dict[str, Any] | None:
    if comparison is None or not names:
        return None
    compared = comparison.compared.model_dump()
    return compared | {key: [name for name in compared[key] if name in names] for key in ("agree", "disagree")}


def _read(path: Path) -> Comparison | None:
    if not path.is_file():
        return None
    try:
        return validated(Comparison, read_json(path), "$")
    except (OSError, ValueError, ResauditError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); remove it and run again") from error


def _file(layout: Layout) -> Path:
    return layout.figures / "checked" / "compare.json"
