"""Figure 6: test error per epoch of networks without batch norm, at tau = L^(-1/4) and 1/sqrt(L)."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from resaudit.paper import legend_above, panels
from residual.images.curves import error_axis
from residual.stable_scaling.looks import network_look


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, step, epoch, test_error, error (as reported so far); in %."""
    return evaluations[["network", "depth", "learning_rate", "run", "step", "epoch", "test_error", "error"]]


def plot(table: pd.DataFrame) -> Figure:
    """One panel a depth, one line a network."""
    depths, networks = sorted(table["depth"].unique()), list(table["network"].unique())
    figure, every_axes = panels(len(depths), 2.6, sharey=True)
    looks = {network: network_look(network) | {"marker": ""} for network in networks}
    for depth, axes in zip(depths, every_axes, strict=True):
        for network in networks:
            rows = table[(table["depth"] == depth) & (table["network"] == network)]
            axes.plot_mean(rows, "epoch", "error", **looks[network])
        axes.set(title=f"ResNet{depth}", xlabel="epoch", xlim=(0, int(table["epoch"].max())))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in reversed(every_axes):
        error_axis(axes, "test error, %" if axes is every_axes[0] else "")
    legend_above(figure, list(looks.values()))
    return figure
