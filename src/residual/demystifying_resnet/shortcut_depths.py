"""A figure of our own on the abstract's claims about deeper shortcuts: shortcut depths 2, 3 and 4."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.style import panels
from resaudit.figures.sweeps import at_shown_rate, best_rates
from residual.demystifying_resnet.final_losses import plot_losses_and_rates
from residual.demystifying_resnet.looks import line_look, network_legend
from residual.demystifying_resnet.shortcut1 import table

__all__ = ["plot", "table"]

JUDGED = 0.01
"""Share of the training after which networks are compared."""


def plot(table: pd.DataFrame) -> Figure:
    """a: mean distance to the optimum along training at the greatest depth; b: at its end; c: the best rates."""
    figure, (along, losses, rates) = panels("abc", 2.7)
    final = table[table["epoch"] == table["epoch"].max()]
    plot_losses_and_rates(losses, rates, final, "excess_loss")
    losses.set_ylabel("final loss − optimal loss")
    shown = at_shown_rate(table, best_rates(final, "excess_loss"))
    _plot_curves(along, shown[(shown["depth"] == shown["depth"].max()) & (shown["epoch"] > 0)])
    network_legend(figure, table["network"].unique())
    return figure


def _plot_curves(axes: Axes, rows: pd.DataFrame) -> None:
    """Mean over runs; 10th to 90th percentile shaded."""
    for network, of_network in rows.groupby("network", sort=False):
        by_epoch, style = of_network.groupby("epoch")["excess_loss"], line_look(str(network))
        axes.plot(by_epoch.mean(), **style)
        low, high = by_epoch.quantile(0.1), by_epoch.quantile(0.9)
        axes.fill_between(low.index, low, high, color=style["color"], alpha=0.2, linewidth=0)
    axes.axvline(max(1, round(JUDGED * rows["epoch"].max())), color="0.45", linestyle=":", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss − optimal loss")
    axes.set_title(f"depth {rows['depth'].max()}")
