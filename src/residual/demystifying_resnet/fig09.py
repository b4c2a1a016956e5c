"""Figure 9: test error of pre-activation ResNets of shortcut depth 1 to 4 against depth."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import panels, sweeps
from residual.demystifying_resnet.figures import look
from residual.images.curves import error_axis


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run, at its end.

    Columns: network, depth, learning_rate, run, epoch, test_error (of the last epoch), error (as reported); in %.
    """
    columns = ["network", "depth", "learning_rate", "run", "epoch", "test_error", "error"]
    return sweeps.at_the_end(evaluations)[columns]


def plot(table: pd.DataFrame) -> Figure:
    """Means over runs against depth, every run as a point."""
    figure, (axes,) = panels("a", 2.8)
    networks, depths = list(table["network"].unique()), sorted(table["depth"].unique())
    for position, network in enumerate(networks):
        rows = table[table["network"] == network]
        aside = (depths[-1] / depths[0]) ** (0.0125 * (position - (len(networks) - 1) / 2))
        axes.plot_runs(rows["depth"] * aside, rows["error"], look(network))
    axes.depth_axis(depths)
    error_axis(axes)
    axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure
