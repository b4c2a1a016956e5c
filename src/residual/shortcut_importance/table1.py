"""Table 1: success rates by number of patches, beside the printed ones."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Examined, panels
from residual.shortcut_importance.figures import COUNTED, DERIVED, LOOKS, exact_interval
from residual.shortcut_importance.figures import rates_table as table

__all__ = ["COUNTED", "DERIVED", "beside_the_paper", "plot", "table"]

PLACES = (0.0, 0.37, 0.69, 1.0)
"""Shares of the width: the left end of k, then the right ends of the other columns."""


def plot(table: pd.DataFrame) -> Figure:
    """A printed table: for each k the measured rates and, under them, the paper's, all with exact 95 % intervals."""
    lines = printed(table)
    figure, (axes,) = panels(height=0.145 * (len(lines) + 2))
    paper = [number for number, line in enumerate(lines) if line[0] == "paper"]
    axes.print_rows(lines, PLACES[: len(lines[0])], size=6.5, pale=paper, ruled=2)
    return figure


def printed(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The lines of the table: a heading, then for each k the measured and the published rates."""
    networks = [name for name in LOOKS if name in set(table["network"])]
    lines = [("k", *(LOOKS[name]["label"] for name in networks))]
    rows = table.set_index(["patches", "network"])
    for patches in sorted(table["patches"].unique()):
        columns = [rows.loc[(patches, name)] for name in networks]
        lines.append((str(patches), *(_cell(row, "rate", "low", "high") for row in columns)))
        lines.append(("paper", *(_cell(row, "published", "published_low", "published_high") for row in columns)))
    return lines


def _cell(row: pd.Series, rate: str, low: str, high: str) -> str:
    return "–" if pd.isna(row[rate]) else f"{row[rate]:.4f} ({row[low]:.3f}–{row[high]:.3f})"


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The paper's rates with ours (:func:`resaudit.figures.tables.printed_values`)."""
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
    measured = pd.DataFrame(columns=[*keys, *ours]) if table is None else table[[*keys, *ours]]
    rows = rows.astype({"patches": object}).merge(measured.astype(object), on=keys, how="left")
    rows.insert(0, "what", [f"{LOOKS[str(row.network)]['label']}, k = {row.patches}" for row in rows.itertuples()])
    simulations = protocol.published_runs, figure.assumptions["published_runs"].reason
    rows["examined"] = pd.Series([[Examined.as_share(f"{rate:.4f}", 1, *simulations)] for rate in rows["printed"]])
    rows = rows.drop(columns=keys).rename(columns={"rate": "here", "runs": "n"}).astype(object)
    return {
        "quantity": "share of runs that reach the global optimum",
        "digits": 4,
        "spread": f"exact 95 % interval, the paper's of {protocol.published_runs} runs computed here",
        "remark": figure.remark,
        "values": rows.where(rows.notna(), None).to_dict("records"),
    }
