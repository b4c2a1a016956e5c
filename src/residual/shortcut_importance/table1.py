"""Table 1: success rates by number of patches, beside the printed ones."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.style import panels
from residual.shortcut_importance.rates import LOOKS, exact_interval, rates_table

PLACES = (0.0, 0.37, 0.69, 1.0)
"""Right ends of the columns, as shares of the width; the first is the left end of k."""


def table(counts: pd.DataFrame) -> pd.DataFrame:
    """The columns of :func:`~residual.shortcut_importance.rates.rates_table`."""
    return rates_table(counts)


def plot(table: pd.DataFrame) -> Figure:
    """A printed table: for each k the measured rates and, under them, the paper's, all with exact 95 % intervals."""
    lines = printed(table)
    figure, (axes,) = panels(height=0.145 * (len(lines) + 2))
    axes.set_axis_off()
    axes.set_ylim(len(lines) - 0.5, -0.5)
    for place, line in enumerate(lines):
        _print_line(axes, place, line, "bold" if place == 0 else "normal", "0.4" if line[0] == "paper" else "black")
        if place % 2 == 0:
            axes.axhline(place + 0.5, color="0.25" if place == 0 else "0.9", linewidth=0.6, xmin=0, xmax=1)
    return figure


def printed(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The lines of the table: a heading, then for each k the measured and the published rates."""
    networks = [name for name in LOOKS if name in set(table["network"])]
    lines = [("k", *(LOOKS[name]["label"] for name in networks))]
    rows = table.set_index(["patches", "network"])
    for patches in sorted(table["patches"].unique()):
        here = [rows.loc[(patches, name)] for name in networks]
        lines.append((str(patches), *(_cell(row, "rate", "low", "high") for row in here)))
        lines.append(("paper", *(_cell(row, "published", "published_low", "published_high") for row in here)))
    return lines


def latex(table: pd.DataFrame) -> str:
    r"""The same table as LaTeX, for ``\usepackage{booktabs}``."""
    heading, *lines = [" & ".join(line).replace("–", "--") + r" \\" for line in printed(table)]
    columns = "l" + "r" * (len(printed(table)[0]) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", heading, r"\midrule", *lines, r"\bottomrule",
                      r"\end{tabular}", ""])  # fmt: skip


def _cell(row: pd.Series, rate: str, low: str, high: str) -> str:
    return "–" if pd.isna(row[rate]) else f"{row[rate]:.4f} ({row[low]:.3f}–{row[high]:.3f})"


def _print_line(axes: Axes, place: int, line: tuple[str, ...], weight: str, colour: str) -> None:
    for x, text, align in zip(PLACES, line, ("left", "right", "right", "right"), strict=False):
        axes.annotate(text, (x, place), xycoords=axes.get_yaxis_transform(), ha=align, va="center", fontsize=6.5,
                      fontweight=weight, color=colour).set_in_layout(False)  # fmt: skip


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The paper's rates with ours (:func:`resaudit.figures.printed.printed_values`)."""
    protocol = figure.protocol
    rows = pd.DataFrame(
        [
            {"network": network, "patches": patches, "printed": rate}
            for network, rates in protocol.published.items()
            for patches, rate in zip(protocol.published_patches, rates, strict=False)
        ]
    )
    runs = pd.Series([protocol.published_runs] * len(rows))
    rows[["printed_low", "printed_high"]] = exact_interval((rows["printed"] * runs).round(), runs)
    keys, ours = ["network", "patches"], ["rate", "low", "high", "runs"]
    here = pd.DataFrame(columns=[*keys, *ours]) if table is None else table[[*keys, *ours]]
    rows = rows.astype({"patches": object}).merge(here.astype(object), on=keys, how="left")
    rows.insert(0, "what", [f"{LOOKS[str(row.network)]['label']}, k = {row.patches}" for row in rows.itertuples()])
    rows = rows.drop(columns=keys).rename(columns={"rate": "here", "runs": "n"}).astype(object)
    return {
        "quantity": "share of runs that reach the global optimum",
        "digits": 4,
        "spread": f"exact 95 % interval, the paper's of {protocol.published_runs} runs computed here",
        "remark": figure.remark,
        "values": rows.where(rows.notna(), None).to_dict("records"),
    }
