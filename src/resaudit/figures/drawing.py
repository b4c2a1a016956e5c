"""Drawing a figure: its table as CSV, and the plot of that table, whose metadata state its settings."""

import importlib
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.figure import Figure as Drawing
from pandas.api.types import is_numeric_dtype

from resaudit.base.errors import PaperError, TableError, listed
from resaudit.base.files import read_json, sha256_of, write_json, written_whole
from resaudit.base.papers import module_of
from resaudit.figures.rates import BestRate
from resaudit.figures.style import SMALLEST_POINTS, apply_style, tables_in
from resaudit.jobs.origin import imported_among
from resaudit.jobs.provenance import provenance
from resaudit.jobs.results import codes, cpu_platforms, moved
from resaudit.plan.figure import Figure
from resaudit.plan.models import FORMATS
from resaudit.plan.plan import FigurePlan, with_inputs
from resaudit.plan.words import settings_in_words, settings_of

if TYPE_CHECKING:
    from resaudit.figures.draw import Draw

EXPECTED: dict[str, type | tuple[type, ...]] = {
    "figure": str, "scale": str, "settings": dict, "values": dict, "differs from the protocol in": list, "sha256": str,
    "evidence": dict, "commit": (dict, NoneType), "finished": str, "machine": str, "system": str, "python": str,
    "packages": dict, "constraints_sha256": (str, NoneType),
}  # fmt: skip
"""Required keys of the ``.json`` beside a table, with their types."""
PNG_DPI = 300
ODD_CONTENT = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError)
"""Raised when a table does not have the expected columns or types."""


def draw(job: "Draw", results: Path, folder: Path, code: str) -> None:
    """Write ``figure.{csv,pdf,svg,png,json}`` into a folder, and ``figure.tex`` if the drawing prints a table."""
    part, csv, tex = job.part, folder / "figure.csv", folder / "figure.tex"
    measured, table = table_of(part, results)
    write_csv(csv, table)
    drawing = plot_of(part.figure, read_csv(csv))
    tex.unlink(missing_ok=True)
    if tables := tables_in(drawing):
        with written_whole(tex) as temporary:
            about_it = f"% {part.figure.name}, scale {part.figure.scale}. {job.note}".rstrip()
            temporary.write_text(f"{about_it}\n% \\usepackage{{booktabs}}\n{tables}", encoding="utf-8")
    best = part.figure.protocol.best_rates(measured)
    words = " ".join(text for text in (description(job), at_edges(best)) if text)
    jobs = with_inputs(part.jobs.values())
    imported = imported_among(jobs, results)
    count = sum(bool(job.files) for job in jobs.values())
    notes = job.note, imported_in_words(imported, count), moved_in_words(moved(jobs.values(), results), count)
    note = " ".join(text for text in notes if text)
    record = {
        "sha256": sha256_of(csv),
        "drawings": save_drawing(drawing, folder, "figure", part.figure.title, words, note),
        "best rates": {f"{network} {depth}": asdict(rate) for (network, depth), rate in best.items()},
        "machine classes": cpu_platforms(list(part.jobs.values()), results),
        "codes": codes(jobs.values(), results),
        "imported": imported,
        "code": code,
    }
    write_json(folder / "figure.json", about(job) | record | provenance())


def imported_in_words(imported: Sequence[Mapping[str, Any]], jobs: int) -> str:
    """The line under a drawing that says which of its jobs' results are imported; empty if none are.

    >>> imported_in_words([{"archive": "3f9a1c2b77", "by": "Ada Lovelace", "jobs": ["train/a"]}], 4)
    'Imported: 1 of 4 results, run by Ada Lovelace (archive 3f9a1c2b).'
    """
    return " ".join(
        f"Imported: {len(origin['jobs'])} of {jobs} results, run by {origin['by'] or 'somebody not named'} "
        f"(archive {origin['archive'][:8]})."
        for origin in imported
    )


def moved_in_words(devices: Sequence[Sequence[str]], jobs: int) -> str:
    """The line under a drawing that says how many of its jobs' results more than one machine computed; or empty.

    >>> moved_in_words([["NVIDIA H100", "cpu"], ["NVIDIA H100", "cpu"]], 6)
    '2 of 6 results computed by more than one machine: NVIDIA H100, then cpu.'
    """
    if not devices:
        return ""
    ways = "; ".join(sorted({", then ".join(each) for each in devices}))
    return f"{len(devices)} of {jobs} results computed by more than one machine: {ways}."


def table_of(part: FigurePlan, results: Path) -> tuple[Any, pd.DataFrame]:
    """What a figure's experiment reads, and the table of it, with the columns that the figure names."""
    figure = part.figure
    measured = figure.protocol.read(part.jobs, results)
    table: pd.DataFrame = _made_by(figure.name, "table", (measured,), pd.DataFrame)
    missing = [column for column in (*figure.keys, *figure.tolerances) if column not in table]
    if missing:
        raise PaperError(
            f"{figure_module(figure.name).__file__}: table(results) gives no column {listed(missing)}, only "
            f"{listed(list(table))}; add it there, or take it out of keys and tolerances of {figure.name}"
        )
    return measured, table


def plot_of(figure: Figure, table: pd.DataFrame) -> Drawing:
    """The plot of a figure's table as it is read, with the published numbers of the figure if it has any."""
    apply_style()
    published = [figure.published] if figure.published else []
    drawing: Drawing = _made_by(figure.name, "plot", (table, *published), Drawing)
    return drawing


def _made_by(figure: str, function: str, arguments: tuple[Any, ...], kind: type) -> Any:
    """What a function of a figure's module returns, which must be of this kind."""
    module, expected = figure_module(figure), f"a {kind.__name__} of {kind.__module__.split('.')[0]}"
    make = getattr(module, function, None)
    if make is None:
        raise PaperError(f"{module.__file__} has no function {function}; write one that returns {expected}")
    result = make(*arguments)
    if not isinstance(result, kind):
        raise PaperError(
            f"{module.__file__}: {function} returns {type(result).__name__}, not {expected}; let it return one"
        )
    return result


def about(job: "Draw") -> dict[str, Any]:
    """The part of a figure's ``.json`` that is known before it is drawn."""
    return {
        "figure": job.figure.name,
        "scale": job.figure.scale,
        "settings": settings_in_words(job.figure),
        "values": settings_of(job.figure),
        "differs from the protocol in": list(job.deviations),
        "assumptions": list(job.assumptions),
        "note": job.note,
        "evidence": job.part.evidence,
    }


def save_drawing(drawing: Drawing, figures: Path, name: str, title: str, words: str, note: str) -> dict[str, str]:
    """Write ``<name>.{pdf,svg,png}`` into a folder; the same drawing gives the same bytes.

    Args:
        drawing: at its size in print.
        figures: the folder.
        name: the files' name without suffix.
        title: the title in the files' metadata.
        words: the description in the files' metadata.
        note: a line under the drawing; possibly empty.

    Returns:
        The SHA-256 of each, by suffix.
    """
    if note:
        lines = textwrap.wrap(note, int(drawing.get_figwidth() * 72 / (0.45 * SMALLEST_POINTS)))
        text = drawing.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=SMALLEST_POINTS, color="0.35")
        # It names an archive's agent, who may be called A$AP: that is no formula.
        text.set_parse_math(False)
    metadata: dict[str, dict[str, str | None]] = {
        "pdf": {"Title": title, "Subject": words, "CreationDate": None, "ModDate": None},
        "svg": {"Title": title, "Description": words, "Date": None},
        "png": {"Title": title, "Description": words, "Software": None},
    }
    # One layout serves all formats; each would make its own, which takes longer than to draw it. At 300 dots per inch
    # text is as wide as in the PDF and the SVG, at fewer it is hinted.
    drawing.set_dpi(PNG_DPI)
    lay_out(drawing)
    drawing.set_layout_engine(None)
    for suffix in FORMATS:
        with written_whole(figures / f"{name}.{suffix}") as temporary:
            drawing.savefig(temporary, format=suffix, dpi=PNG_DPI, metadata=metadata[suffix])
    return {suffix: sha256_of(figures / f"{name}.{suffix}") for suffix in FORMATS}


def lay_out(drawing: Drawing) -> None:
    """Lay a drawing out; a logarithmic axis on which nothing is finite, as of diverged runs, is a decade.

    Matplotlib leaves such an axis limits around zero if the panel's other axis became logarithmic first, and then
    refuses to draw it.
    """
    for axes in drawing.axes:
        for panel in (axes, *axes.child_axes):
            if panel.get_xscale() == "log" and min(panel.get_xlim()) <= 0:
                panel.set_xlim(1, 10)
            if panel.get_yscale() == "log" and min(panel.get_ylim()) <= 0:
                panel.set_ylim(1, 10)
    drawing.draw_without_rendering()


def figure_module(name: str) -> ModuleType:
    """The module of ``paper/figure``, which has ``table`` and ``plot``."""
    module = module_of(name)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise PaperError(f"{name} is configured but has no module {module}; write one") from error


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table with all digits of its numbers; text that looks like numbers has its column's name in quotes."""
    with written_whole(path) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")
        if quoted := [name for name in table if _looks_like_numbers(table[name])]:
            names = ",".join(f'"{name}"' if name in quoted else _first_line(table[[name]]) for name in table)
            rows = temporary.read_text(encoding="utf-8").removeprefix(_first_line(table))
            temporary.write_text(names + rows, encoding="utf-8")


def _first_line(table: pd.DataFrame) -> str:
    return table.head(0).to_csv(index=False).rstrip("\n")


def _looks_like_numbers(column: pd.Series) -> bool:
    """Whether a column is text, such as ``007`` or ``True``, that is read as something else."""
    values = column.dropna().drop_duplicates()
    if values.empty or not values.map(lambda value: isinstance(value, str)).all():
        return False
    return is_numeric_dtype(_parsed(StringIO(values.to_csv(index=False))).iloc[:, 0])


def _parsed(source: Path | StringIO, **types: type) -> pd.DataFrame:
    """A CSV in which only nothing is missing: ``NA`` and ``None`` are names."""
    return pd.read_csv(source, keep_default_na=False, na_values=[""], low_memory=False, dtype=types)


def read_csv(path: Path) -> pd.DataFrame:
    """Read a table back to the same bits, and text as text."""
    try:
        with path.open(encoding="utf-8") as file:
            quoted = re.findall(r'(?:^|,)"([^",]+)"(?=,|$)', file.readline().rstrip("\n"))
        return _parsed(path, **dict.fromkeys(quoted, str))
    except (OSError, ValueError, OverflowError) as error:
        raise TableError(
            f"{path} cannot be read ({error}); make it readable, or draw the figure again (snakemake --cores all -R "
            "draw)"
        ) from error


def read_about(csv: Path) -> dict[str, Any]:
    """Read the ``.json`` beside a table."""
    path = csv.with_suffix(".json")
    try:
        record: dict[str, Any] = read_json(path)
        wrong = [key for key, kind in EXPECTED.items() if key not in record or not isinstance(record[key], kind)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} missing or of another kind")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise TableError(
            f"{path}, which says what the table is of, cannot be read ({error}); remove {path} and run again"
        ) from error
    return record


def description(job: "Draw") -> str:
    """The files' description: caption, scale with what differs from the protocol, assumptions at scale ``paper``."""
    scale = f"Scale {job.figure.scale}, differs from the protocol in: {'; '.join(job.deviations) or 'nothing'}."
    assumed = f" Assumed: {'; '.join(job.assumptions)}." if job.assumptions else ""
    return f"{job.figure.full_caption} {scale}{assumed}"


def at_edges(best: Mapping[tuple[str, int], BestRate]) -> str:
    """A sentence that names the networks whose best rate may lie outside the grid; empty without any."""
    edges = [f"{network} at depth {depth}" for (network, depth), rate in best.items() if rate.at_edge]
    return f"A best rate may lie beyond the grid's edge for {', '.join(edges)}." if edges else ""
