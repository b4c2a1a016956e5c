"""The bar chart of the authors' code: test error with batch norm, with batch norm and tau, and with tau alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from resaudit.figures.printed import over_runs
from resaudit.figures.style import annotate, panels
from residual.stable_scaling.looks import network_look
from residual.stable_scaling.table3 import table

__all__ = ["beside_the_paper", "plot", "table"]

PUBLISHED: Mapping[str, Mapping[int, float]] = {
    "batch-norm": {20: 8.08, 32: 7.39, 56: 6.73, 110: 6.61, 1202: 6.93},
    "batch-norm-tau": {20: 7.89, 32: 7.16, 56: 6.18, 110: 5.83, 1202: 5.01},
}
"""The authors' validation errors in %, digitised from their bar chart (+-0.02), by network and depth."""
MARKS: dict[str, Any] = {
    "marker": "o", "markersize": 4.5, "color": "black", "markerfacecolor": "none", "linestyle": "none", "zorder": 5,
}  # fmt: skip
TAU = r"$\tau$"
CUT = 3.0
"""Bars longer than this many times the shortest one are cut."""


def published(network: str, depths: Sequence[int]) -> np.ndarray:
    """The authors' errors of a network in %, nan where there is none, shape (depths,)."""
    return np.array([PUBLISHED.get(network, {}).get(depth, np.nan) for depth in depths])


def plot(table: pd.DataFrame) -> Figure:
    """Bars by depth, one for each network, with the authors' values."""
    figure, (axes,) = panels("a", 2.6)
    networks, depths = list(table["network"].unique()), sorted(table["depth"].unique())
    means = table.groupby(["network", "depth"])["error"].mean()
    drawn = [*means[means <= CUT * means.min()], *(error for name in networks for error in published(name, depths))]
    top, width = 1.12 * float(np.nanmax(drawn)), 0.8 / len(networks)
    for position, network in enumerate(networks):
        places = np.arange(len(depths)) + (position - (len(networks) - 1) / 2) * width
        colour, errors = network_look(network)["color"], table[table["network"] == network].groupby("depth")["error"]
        heights, deviations = errors.mean(), errors.std(ddof=1).fillna(0.0)
        axes.bar(places, heights, 0.9 * width, color=colour, yerr=deviations, error_kw={"linewidth": 0.8})
        for x, height in zip(places, heights, strict=True):
            if height > top:
                annotate(axes, f"{height:.0f}", (x, top), (0, -2), ha="center", va="top", rotation=90, color="white")
        axes.plot(places, published(network, depths), **MARKS)
    axes.set_xticks(range(len(depths)), [str(depth) for depth in depths])
    axes.set(xlabel="depth", ylabel="test error, %", ylim=(0, top))
    axes.grid(visible=False, axis="x")
    looks = [network_look(network) for network in networks]
    handles: list[Any] = [Patch(color=look["color"], label=look["label"]) for look in looks]
    handles += [Line2D([], [], **MARKS, label="authors")]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, handlelength=1.2)
    return figure


def beside_the_paper(_figure: Any, table: pd.DataFrame | None) -> dict[str, Any]:
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
                **over_runs(ours.get((network, depth))),
            }
            for network, errors in PUBLISHED.items()
            for depth, error in errors.items()
        ],
    }
