"""The bar chart of the authors' code: test error with batch norm, with batch norm and tau, and with tau alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from resaudit.paper import over_runs, panels
from residual.stable_scaling.looks import network_look
from residual.stable_scaling.table3 import table

__all__ = ["beside_the_paper", "plot", "table"]

Published = Mapping[str, Mapping[str, float]]
"""The authors' validation errors in %, digitised from their bar chart (+-0.02), by network and depth."""
MARKS: dict[str, Any] = {
    "marker": "o", "markersize": 4.5, "color": "black", "markerfacecolor": "none", "linestyle": "none", "zorder": 5,
}  # fmt: skip
TAU = r"$\tau$"
CUT = 3.0
"""Bars longer than this many times the shortest one are cut."""


def plot(table: pd.DataFrame, published: Published) -> Figure:
    """Bars by depth, one for each network, with the authors' values."""
    figure, (axes,) = panels("a", 2.6)
    networks, depths = list(table["network"].unique()), sorted(table["depth"].unique())
    authors = {name: [published.get(name, {}).get(str(depth), np.nan) for depth in depths] for name in networks}
    means = table.groupby(["network", "depth"])["error"].mean()
    drawn = [*means[means <= CUT * means.min()], *(error for errors in authors.values() for error in errors)]
    top, width = 1.12 * float(np.nanmax(drawn)), 0.8 / len(networks)
    for position, network in enumerate(networks):
        places = np.arange(len(depths)) + (position - (len(networks) - 1) / 2) * width
        colour, errors = network_look(network)["color"], table[table["network"] == network].groupby("depth")["error"]
        heights, deviations = errors.mean(), errors.std(ddof=1).fillna(0.0)
        axes.bar(places, heights, 0.9 * width, color=colour, yerr=deviations, error_kw={"linewidth": 0.8})
        for x, height in zip(places, heights, strict=True):
            if height > top:
                axes.note(f"{height:.0f}", (x, top), (0, -2), ha="center", va="top", rotation=90, color="white")
        axes.plot(places, authors[network], **MARKS)
    axes.set_xticks(range(len(depths)), [str(depth) for depth in depths])
    axes.set(xlabel="depth", ylabel="test error, %", ylim=(0, top))
    axes.grid(visible=False, axis="x")
    looks = [network_look(network) for network in networks]
    handles: list[Any] = [Patch(color=look["color"], label=look["label"]) for look in looks]
    handles += [Line2D([], [], **MARKS, label="authors")]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, handlelength=1.2)
    return figure


def beside_the_paper(figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
    """The authors' errors with ours, at every depth of their chart (``printed_values``)."""
    ours = {} if table is None else dict(list(table.groupby(["network", "depth"])["error"]))
    return {
        "quantity": "CIFAR-10, test error, %",
        "digits": 2,
        "spread": "mean ± one standard deviation over runs",
        "remark": "The authors' errors are digitised from the bar chart of their code (±0.02), not printed.",
        "values": [
            {
                "what": f"{network_look(network)['label'].replace(TAU, 'τ')}, depth {depth}",
                "printed": error,
                **over_runs(ours.get((network, int(depth)))),
            }
            for network, errors in figure.published.items()
            for depth, error in errors.items()
        ],
    }
