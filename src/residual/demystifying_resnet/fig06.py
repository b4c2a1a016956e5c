"""Figure 6: share of negative eigenvalues against loss; and with the gradient along one run."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import curves, panels
from residual.demystifying_resnet.fig05 import DERIVED, loss_axis, plot_against_loss, table
from residual.demystifying_resnet.figures import label, line_look, look, network_legend

__all__ = ["DERIVED", "plot", "table"]


def plot(table: pd.DataFrame) -> Figure:
    """a: mean and standard deviation of the index over runs, against the loss. b, c: index and gradient of one run.

    Of the runs with the whole training.
    """
    figure, (left, index, gradient) = panels("ab;ac", 3.0)
    table = curves.whole_runs(table[table["shown"]])
    inset = left.inset((0.1, 0.1, 0.87, 0.62))
    for network, rows in table.groupby("network", sort=False):
        style = line_look(str(network)) | ({"alpha": 0.45} if network == "xavier" else {})
        for axes in (left, inset):
            plot_against_loss(axes, rows, "index", style, logs=False)
    loss_axis(left)
    left.set_ylim(0, max(0.55, left.get_ylim()[1]))
    left.set_ylabel("share of negative eigenvalues (index)")
    inset.set_xscale("log")
    inset.tick_params(labelsize=6.5, labelbottom=False)
    left.indicate_inset_zoom(inset, edgecolor="0.5")
    shown = next((n for n in table["network"] if n.endswith("-shortcut")), table["network"].iloc[0])
    run = table[(table["network"] == shown) & (table["run"] == table["run"].min()) & (table["epoch"] > 0)]
    peak = run["epoch"].to_numpy()[run["gradient_norm"].argmax()]
    for axes, column, name in ((index, "index", "index"), (gradient, "gradient_norm", r"$\Vert$gradient$\Vert$")):
        axes.plot(run["epoch"], run[column], color=look(shown)["color"], marker=".")
        axes.mark(x=peak, zorder=0)
        axes.set(xscale="log", ylabel=name)
    index.set_title(f"{label(shown)}, one run")
    index.tick_params(labelbottom=False)
    index.sharex(gradient)
    gradient.set(yscale="log", xlabel="epoch")
    index.set_ylim(inset.get_ylim())
    network_legend(figure, table["network"].unique(), markers=False)
    return figure
