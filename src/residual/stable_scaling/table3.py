"""Table 3: networks without batch norm with tau = 1/L and 1/sqrt(L), at several learning rates."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import panels, sweeps
from residual.images.curves import error_axis, mean_and_deviation
from residual.stable_scaling.looks import network_look


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run, at its end: network, depth, learning_rate, run, step, epoch, error (as reported, %)."""
    return sweeps.at_the_end(evaluations)[["network", "depth", "learning_rate", "run", "step", "epoch", "error"]]


def plot(table: pd.DataFrame) -> Figure:
    """a: the table in print; b: errors against the learning rate."""
    rows = printed(table)
    figure, (panel, axes) = panels("ab", max(1.9, 0.17 * (len(rows) + 3)), width_ratios=[1.25, 1])
    networks = table["network"].nunique()
    panel.print_rows(rows, [0.0, *(0.4 + 0.6 * (k + 1) / networks for k in range(networks))])
    for network, of_network in table.groupby("network", sort=False):
        axes.plot_runs(of_network["learning_rate"], of_network["error"], network_look(str(network)))
    axes.set(xscale="log", xlabel="learning rate")
    axes.plain_ticks("x", sorted(table["learning_rate"].unique()))
    error_axis(axes)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


def printed(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The lines of the printed table: a heading, then one for each depth and learning rate."""
    networks = list(table["network"].unique())
    heading = ("network, learning rate", *(network_look(network)["label"] for network in networks))
    lines = []
    for (depth, rate), rows in table.groupby(["depth", "learning_rate"]):
        errors = (mean_and_deviation(rows.loc[rows["network"] == network, "error"]) for network in networks)
        lines.append((f"ResNet{depth}, {rate:g}", *errors))
    return [heading, *lines]
