"""Drawing a figure: its table as CSV, and the plot of that table, whose metadata state its settings."""

import importlib
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType, NoneType
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from resaudit.base.errors import ResauditError
from resaudit.base.files import read_json, sha256_of, write_json, written_whole
from resaudit.base.papers import module_of
from resaudit.figures.formats import FORMATS
from resaudit.figures.rates import BestRate
from resaudit.figures.style import SMALLEST_POINTS, apply_style
from resaudit.jobs.origin import imported_among
from resaudit.jobs.provenance import provenance
from resaudit.jobs.results import codes, cpu_platforms
from resaudit.plan.models import Figure
from resaudit.plan.plan import FigurePlan, with_inputs
from resaudit.plan.words import settings_in_words, settings_of


@dataclass(frozen=True)
class DrawnAt:
    """The setting under which a figure is drawn.

    Attributes:
        scale: name of the scale.
        deviations: from the paper's protocol, in words.
        assumptions: of the paper's protocol, in words.
        note: the line under the drawing that says what differs from the protocol; possibly empty.
    """

    scale: str
    deviations: tuple[str, ...]
    assumptions: tuple[str, ...]
    note: str = ""


EXPECTED: dict[str, type | tuple[type, ...]] = {
    "figure": str, "scale": str, "settings": dict, "values": dict, "differs from the protocol in": list, "sha256": str,
    "evidence": dict, "commit": (dict, NoneType), "finished": str, "machine": str, "system": str, "python": str,
    "packages": dict, "constraints_sha256": (str, NoneType),
}  # fmt: skip
"""Required keys of a table's ``.json``, with their types."""
PNG_DPI = 300
ODD_CONTENT = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""Raised when a table does not have the expected columns or types."""


def draw(part: FigurePlan, setting: DrawnAt, results: Path, folder: Path, code: str) -> None:
    """Write ``figure.{csv,pdf,svg,png,json}`` into a folder, and ``.tex`` if the module has ``latex(table)``.

    Raises:
        ResauditError: a result is missing, or the figure has no module or one that gives something else.
    """
    module, csv = figure_module(part.figure.name), folder / "figure.csv"
    found, table = table_of(part, results)
    write_csv(csv, table)
    if hasattr(module, "latex"):
        with written_whole(csv.with_suffix(".tex")) as temporary:
            temporary.write_text(module.latex(read_csv(csv)), encoding="utf-8")
    best = part.figure.protocol.best_rates(found)
    words = " ".join(text for text in (description(part.figure, setting), at_edges(best)) if text)
    jobs = with_inputs(part.jobs.values())
    imported = imported_among(jobs, results)
    under = f"{setting.note} {imported_in_words(imported, sum(bool(job.files) for job in jobs.values()))}".strip()
    drawings = save_drawing(plot_of(part, read_csv(csv)), folder, "figure", part.figure.title, words, under)
    made = {
        "sha256": sha256_of(csv),
        "drawings": drawings,
        "best rates": {f"{network} {depth}": asdict(rate) for (network, depth), rate in best.items()},
        "machine classes": cpu_platforms(list(part.jobs.values()), results),
        "codes": codes(jobs.values(), results),
        "imported": imported,
        "code": code,
    }
    write_json(folder / "figure.json", about(part, setting) | made | provenance())


def imported_in_words(imported: Sequence[Mapping[str, Any]], jobs: int) -> str:
    """The line under a drawing that says which of its jobs' results are imported; empty if none are.

    >>> imported_in_words([{"archive": "3f9a1c2b77", "by": "Ada Lovelace", "jobs": ["train/a"]}], 4)
    'Imported: 1 of 4 results, run by Ada Lovelace (archive 3f9a1c2b).'
    """
    return " ".join(
        f"Imported: {len(part['jobs'])} of {jobs} results, run by {part['by'] or 'somebody not named'} "
        f"(archive {part['archive'][:8]})."
        for part in imported
    )


def table_of(part: FigurePlan, results: Path) -> tuple[Any, pd.DataFrame]:
    """What a figure's experiment reads, and the table of it, with the columns that the figure names.

    Raises:
        ResauditError: a result is missing, or the figure has no module or one that gives something else.
    """
    module, figure = figure_module(part.figure.name), part.figure
    found = figure.protocol.read(part.jobs, results)
    table: pd.DataFrame = _made_by(module, "table", found, pd.DataFrame)
    lacking = [column for column in (*figure.keys, *figure.tolerances) if column not in table]
    if lacking:
        raise ResauditError(
            f"{module.__file__}: table(results) gives no column {', '.join(lacking)}, only "
            f"{', '.join(map(str, table))}; add it there, or take it out of keys and tolerances of {figure.name}"
        )
    return found, table


def plot_of(part: FigurePlan, table: pd.DataFrame) -> Drawing:
    """The plot of a figure's table as it is read; raises as :func:`table_of`."""
    apply_style()
    drawing: Drawing = _made_by(figure_module(part.figure.name), "plot", table, Drawing)
    return drawing


def _made_by(module: ModuleType, function: str, given: Any, kind: type) -> Any:
    """What a function of a figure's module makes, which must be of this kind."""
    wanted, make = f"a {kind.__name__} of {kind.__module__.split('.')[0]}", getattr(module, function, None)
    if make is None:
        raise ResauditError(f"{module.__file__} has no function {function}; write one that returns {wanted}")
    made = make(given)
    if not isinstance(made, kind):
        raise ResauditError(
            f"{module.__file__}: {function} returns {type(made).__name__}, not {wanted}; let it return one"
        )
    return made


def about(part: FigurePlan, setting: DrawnAt) -> dict[str, Any]:
    """The part of a figure's ``.json`` that is known before it is drawn."""
    return {
        "figure": part.figure.name,
        "scale": setting.scale,
        "settings": settings_in_words(part.figure),
        "values": settings_of(part.figure),
        "differs from the protocol in": list(setting.deviations),
        "assumptions": list(setting.assumptions),
        "note": setting.note,
        "evidence": part.evidence,
    }


def save_drawing(drawing: Drawing, figures: Path, name: str, title: str, words: str, note: str) -> dict[str, str]:
    """Write ``<name>.{pdf,svg,png}`` into a folder; the same drawing gives the same bytes.

    Args:
        drawing: at its size in print.
        figures: the folder.
        name: ``paper/figure``.
        title: for the files' metadata.
        words: the description in the metadata.
        note: a line under the drawing; possibly empty.

    Returns:
        The SHA-256 of each, by suffix.
    """
    if note:
        lines = textwrap.wrap(note, int(drawing.get_figwidth() * 72 / (0.45 * SMALLEST_POINTS)))
        written = drawing.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=SMALLEST_POINTS, color="0.35")
        # An archive's agent stands in it, who may be called A$AP: that is no formula.
        written.set_parse_math(False)
    metadata: dict[str, dict[str, str | None]] = {
        "pdf": {"Title": title, "Subject": words, "CreationDate": None, "ModDate": None},
        "svg": {"Title": title, "Description": words, "Date": None},
        "png": {"Title": title, "Description": words, "Software": None},
    }
    # One layout serves all formats; each would make its own, which takes longer than to draw it. At 300 dots per inch
    # text is as wide as in the PDF and the SVG, at fewer it is hinted.
    drawing.set_dpi(PNG_DPI)
    drawing.draw_without_rendering()
    drawing.set_layout_engine(None)
    for suffix in FORMATS:
        with written_whole(figures / f"{name}.{suffix}") as temporary:
            drawing.savefig(temporary, format=suffix, dpi=PNG_DPI, metadata=metadata[suffix])
    return {suffix: sha256_of(figures / f"{name}.{suffix}") for suffix in FORMATS}


def figure_module(name: str) -> ModuleType:
    """The module of ``paper/figure``, which has ``table`` and ``plot``.

    Raises:
        ResauditError: there is none.
    """
    module = module_of(name)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ResauditError(f"{name} is configured but has no module {module}; write one") from error


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table with all digits of its numbers."""
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table back to the same bits.

    Raises:
        ResauditError: the file is missing or not a table.
    """
    try:
        return pd.read_csv(path)
    except (OSError, ValueError, OverflowError) as error:
        raise ResauditError(
            f"{path} cannot be read ({error}); draw the figure again (snakemake --cores all -R draw)"
        ) from error


def read_about(csv: Path) -> dict[str, Any]:
    """Read the ``.json`` beside a table.

    Raises:
        ResauditError: it is missing or damaged.
    """
    path = csv.with_suffix(".json")
    try:
        about: dict[str, Any] = read_json(path)
        wrong = [key for key, kind in EXPECTED.items() if key in about and not isinstance(about[key], kind)]
        if isinstance(about, dict) and not _counts_codes(about.get("codes", {})):
            wrong.append("codes")
        if wrong or "values" not in about:
            raise ValueError(f"{', '.join(wrong) or 'values'} missing or of another kind")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ResauditError(
            f"{path}, which says what the table is of, cannot be read ({error}); remove {path} and run again"
        ) from error
    return about


def _counts_codes(given: Any) -> bool:
    """Whether this is what :func:`resaudit.jobs.results.codes` gives."""
    counts = list(given.values()) if isinstance(given, dict) else [None]
    return all(isinstance(of, dict) and all(type(number) is int for number in of.values()) for of in counts)


def description(figure: Figure, setting: DrawnAt) -> str:
    """The files' description: caption, scale with what differs from the protocol, assumptions at scale ``paper``."""
    scale = f"Scale {setting.scale}, differs from the protocol in: {'; '.join(setting.deviations) or 'nothing'}."
    assumed = f" Assumed: {'; '.join(setting.assumptions)}." if setting.assumptions else ""
    return f"{figure.full_caption} {scale}{assumed}"


def at_edges(best: Mapping[tuple[str, int], BestRate]) -> str:
    """A sentence that names the networks whose best rate may lie outside the grid; empty without any."""
    edges = [f"{network} at depth {depth}" for (network, depth), rate in best.items() if rate.at_edge]
    return f"A best rate may lie beyond the grid's edge for {', '.join(edges)}." if edges else ""
