"""Oracle: what journals print. Sees text too small or cut off, panels without letters, networks alike in grey.

It also sees a printed table that LaTeX does not take.
Every figure is drawn from its committed table and from that of scale smoke.
"""

import re
import shutil
import subprocess
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from resaudit.claims.robustness import heat_map as plot_matrix
from resaudit.figures.drawing import plot_of, read_csv, save_drawing
from resaudit.figures.style import escaped, panels, tables_in
from resaudit.plan.composition import load
from residual.demystifying_resnet.figures import look
from tests.conftest import CHECKOUT

COMMITTED = sorted(file for file in (CHECKOUT / "figures" / "reference").glob("*/*.csv") if file.stem != "robustness")
SMOKE = sorted((CHECKOUT / "tests" / "workflow" / "expected").glob("*/*.csv"))
NETWORKS = ("2-shortcut", "orthogonal", "xavier", "1-shortcut", "3-shortcut")
LEAST_POINTS = 6.0


@pytest.fixture(
    scope="module",
    params=[*COMMITTED, *(pytest.param(file, marks=pytest.mark.workflow) for file in SMOKE)],
    ids=lambda file: f"{file.parent.name}/{file.stem}",
)
def drawn(request: pytest.FixtureRequest) -> Figure:
    """A figure, laid out and drawn once for all tests."""
    table: Path = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a glyph that the typeface lacks, or a layout that does not fit
        name = f"{table.parent.name}/{table.stem.split('-')[0]}"  # what follows is the data set
        figure = plot_of(load(only=[name]).figure[name], read_csv(table))
        FigureCanvasAgg(figure).draw()
    return figure


def test_a_figure_is_as_wide_as_a_column_or_a_page_and_its_text_can_be_read(drawn: Figure) -> None:
    panels = [axes for axes in drawn.axes if axes.get_label() != "<colorbar>"]
    assert drawn.get_figwidth() == (3.35 if len(panels) == 1 else 6.9)
    letters = [axes.get_title(loc="left") for axes in panels]
    assert letters == ([""] if len(panels) == 1 else list("abcdefgh"[: len(panels)]))
    small = [text.get_text() for text in texts(drawn) if text.get_fontsize() < LEAST_POINTS]
    assert not small
    pixels = np.asarray(drawn.canvas.buffer_rgba())  # type: ignore[attr-defined]
    edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    assert all((edge == 255).all() for edge in edges)  # else something is cut off


ODD = [
    ("a", "b c"), ("50 % of x_1^2 & {y}", "[0, 1] #~<>| \\ $3"), ("*", "$\\tau=L^{-1}$ ≤ 4π ± √ℓ − 1–2"), ("  in", ""),
]  # fmt: skip
DOCUMENT = r"\documentclass{article}\usepackage{booktabs}\begin{document}%s\end{document}"


def rows_of(tex: str) -> list[list[str]]:
    """The cells of the rows of LaTeX's tables, each table's specification of columns before them."""
    rows = []
    for line in tex.splitlines():
        if begun := re.fullmatch(r"\\begin\{tabular\}\{(lr*)\}", line):
            rows.append(list(begun[1]))
        elif line.endswith(r" \\"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r"\\"))])
        else:
            assert line in ("", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}")
    return rows


def assert_latex_takes(figure: Figure, folder: Path) -> None:
    """Check the structure of a drawing's tables, and compile them if there is a TeX."""
    tex = tables_in(figure)
    assert tex.isascii()
    columns = 0
    for row in rows_of(tex):
        columns = len(row) if row[0] == "l" else columns
        assert len(row) == columns
        for cell in row:
            words = re.sub(r"(?<!\\)\$[^$]+\$", "", cell)
            words = re.sub(r"\\[a-z]+|\\[&%$#_{}]|\{[\[*]?\}", "", words)
            assert not set(words) & set("\\&%$#_{}^~<>|[*"), cell
    if tex and (program := shutil.which("pdflatex")):
        (folder / "tables.tex").write_text(DOCUMENT % tex, encoding="utf-8")
        subprocess.run([program, "-halt-on-error", "-interaction=batchmode", "tables.tex"], cwd=folder, check=True)


def test_printed_tables_are_latex(drawn: Figure, tmp_path: Path) -> None:
    assert_latex_takes(drawn, tmp_path)
    cells = [cell for row in rows_of(tables_in(drawn)) if row[0] != "l" for cell in row]
    printed = [text.get_text() for axes in drawn.axes if axes.get_label() == "printed rows" for text in axes.texts]
    assert cells == [escaped(text).strip() for text in printed]


def test_any_text_is_escaped(tmp_path: Path) -> None:
    figure, (panel,) = panels()
    panel.print_rows(ODD, (0.0, 1.0))
    assert_latex_takes(figure, tmp_path)
    assert len(rows_of(tables_in(figure))) == 1 + len(ODD)


def texts(figure: Figure) -> list[Text]:
    """All texts that are seen."""
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def test_networks_differ_in_more_than_colour(drawn: Figure) -> None:
    insets = [inset for axes in drawn.axes for inset in axes.child_axes]
    for axes in (*drawn.axes, *insets):
        for one, other in combinations(curves(axes).values(), 2):
            assert not one & other


def curves(axes: Axes) -> dict[str, set[tuple[str, str]]]:
    """Line style and marker of every network's curves, by colour."""
    found: dict[str, set[tuple[str, str]]] = {}
    for line in axes.get_lines():
        if line.get_color() in {look(network)["color"] for network in NETWORKS} and is_curve(line):
            dashes = str(line._unscaled_dash_pattern)  # type: ignore[attr-defined]
            found.setdefault(str(line.get_color()), set()).add((dashes, str(line.get_marker())))
    return found


def is_curve(line: Line2D) -> bool:
    """Not the dots of single runs, nor a bar."""
    return line.get_marker() not in (".", "_") and len(np.unique(line.get_xdata())) > 1


def test_no_legend_hides_data(drawn: Figure) -> None:
    for axes in drawn.axes:
        legend = axes.get_legend()
        for line in axes.get_lines() if legend else ():
            points = line.get_transform().transform(line.get_xydata())
            assert not legend.get_window_extent().count_contains(points[np.isfinite(points).all(axis=1)])


def test_the_looks_of_networks_differ_in_marker_and_line() -> None:
    for key in ("marker", "linestyle", "color"):
        assert len({str(look(network)[key]) for network in NETWORKS}) == len(NETWORKS)


def test_the_matrix_is_as_wide_as_a_page() -> None:
    cell = {"claim": "a", "variant": "control", "verdict": "supported", "depends": True}
    figure = plot_matrix(pd.DataFrame([cell]), {"control": "control"})
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 6.9
    assert min(text.get_fontsize() for text in texts(figure)) >= LEAST_POINTS
    assert [(text.get_text(), text.get_rotation()) for text in figure.axes[0].get_yticklabels()] == [("a", 0)]


def test_words_go_to_the_metadata_and_only_the_note_to_the_drawing(tmp_path: Path) -> None:
    figure = Figure(figsize=(3.35, 1))
    save_drawing(figure, tmp_path, "f", "A title", "All assumptions.", "The note.")
    assert [text.get_text() for text in texts(figure)] == ["The note."]
    for suffix in ("pdf", "svg", "png"):
        content = (tmp_path / f"f.{suffix}").read_bytes()
        assert b"A title" in content
        assert b"All assumptions." in content


def test_a_number_of_panels_is_that_many_side_by_side_and_lettered() -> None:
    _, axes = panels(9)
    assert [each.get_title(loc="left") for each in axes] == list("abcdefghi")
    assert len({each.get_position().y0 for each in axes}) == 1
    (alone,) = panels()[1]
    assert not alone.get_title(loc="left")
