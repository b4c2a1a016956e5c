"""The matrix claim x variant as a heat map."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Patch, Rectangle

from resaudit.claims.verdicts import Verdict
from resaudit.papers.style import TWO_COLUMNS

_LOOKS = {
    Verdict.supported.value: ("#009E73", "holds"),
    Verdict.contradicted.value: ("#D55E00", "fails"),
    Verdict.inconclusive.value: ("#E9C46A", "open"),
    Verdict.not_run.value: ("#DDDDDD", "not run"),
}


def plot(table: pd.DataFrame, titles: Mapping[str, str]) -> Drawing:
    """A heat map of verdicts, in words and colour: claims in rows, readings in columns.

    A pale cell with a dot: the claim's evidence does not depend on the variant; the verdict is the control's.
    """
    claims, variants = list(table["claim"].unique()), list(table["variant"].unique())
    cells = table.drop_duplicates(["claim", "variant"]).set_index(["claim", "variant"])
    figure = Drawing(figsize=(TWO_COLUMNS, 1.5 + 0.18 * len(claims)), layout="constrained")
    axes = figure.add_subplot()
    for row, claim in enumerate(claims):
        for column, variant in enumerate(variants):
            _cell(axes, column, row, cells.loc[(claim, variant)])
    axes.set_xlim(0, len(variants))
    axes.set_ylim(len(claims), 0)
    axes.set_xticks(np.arange(len(variants)) + 0.5, [titles[v] for v in variants], rotation=45, ha="left", fontsize=7)
    axes.set_yticks(np.arange(len(claims)) + 0.5, [c.replace("-", " ") for c in claims], fontsize=7)
    axes.tick_params(length=0, top=False, bottom=False, labeltop=True, labelbottom=False)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.axvline(1, color="0.25", linewidth=1.2)
    seen = [verdict for verdict in _LOOKS if verdict in set(table["verdict"])]
    handles = [Patch(facecolor=_LOOKS[verdict][0], label=f"{_LOOKS[verdict][1]}: {verdict}") for verdict in seen]
    handles.append(Patch(facecolor="white", edgecolor="0.7", label="·: does not depend on it"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=6.5, handlelength=1.2)
    return figure


def _cell(axes: Axes, column: int, row: int, cell: pd.Series) -> None:
    colour, word = _LOOKS[cell["verdict"]]
    depends = bool(cell["depends"])
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, alpha=1.0 if depends else 0.25, edgecolor="white"))
    axes.text(column + 0.5, row + 0.5, word if depends else "·", ha="center", va="center", fontsize=6.5)
