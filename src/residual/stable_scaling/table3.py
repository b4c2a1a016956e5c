"""Table 3: networks without batch norm with tau = 1/L and 1/sqrt(L), at several learning rates."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.style import panels, print_rows
from resaudit.figures.sweeps import at_the_end
from residual.images.curves import error_axis, mean_and_deviation
from residual.stable_scaling.looks import network_look


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run, at its end: network, depth, learning_rate, run, step, epoch, error (as reported, %)."""
    return at_the_end(evaluations)[["network", "depth", "learning_rate", "run", "step", "epoch", "error"]]


def plot(table: pd.DataFrame) -> Figure:
    """a: the table in print; b: errors against the learning rate."""
    rows = printed(table)
    figure, (panel, axes) = panels("ab", max(1.9, 0.17 * (len(rows) + 3)), width_ratios=[1.25, 1])
    networks = table["network"].nunique()
    print_rows(panel, rows, [0.0, *(0.4 + 0.6 * (k + 1) / networks for k in range(networks))])
    _plot_rates(axes, table)
    return figure


def printed(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The lines of the printed table: a heading, then one for each depth and learning rate."""
    networks = list(table["network"].unique())
    heading = ("network, learning rate", *(network_look(network)["label"] for network in networks))
    lines = [
        (
            f"ResNet{depth}, {rate:g}",
            *(mean_and_deviation(rows[rows["network"] == network]["error"]) for network in networks),
        )
        for (depth, rate), rows in table.groupby(["depth", "learning_rate"])
    ]
    return [heading, *lines]


def _plot_rates(axes: Axes, table: pd.DataFrame) -> None:
    for network, rows in table.groupby("network", sort=False):
        look = network_look(str(network))
        mean = rows.groupby("learning_rate")["error"].mean()
        axes.plot(mean.index, mean, **look)
        dots = {"color": look["color"], "markersize": 3.5, "markeredgewidth": 0, "alpha": 0.5}
        axes.plot(rows["learning_rate"], rows["error"], ".", **dots)
    rates = sorted(table["learning_rate"].unique())
    axes.set_xscale("log")
    axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("learning rate")
    error_axis(axes)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
