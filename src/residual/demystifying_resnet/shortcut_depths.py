"""A figure of our own on the abstract's claims about deeper shortcuts: shortcut depths 2, 3 and 4."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import panels, sweeps
from residual.demystifying_resnet.fig07 import plot_losses_and_rates
from residual.demystifying_resnet.figures import line_look, mark_judged, network_legend
from residual.demystifying_resnet.shortcut1 import DERIVED, table

__all__ = ["DERIVED", "plot", "table"]

JUDGED = 0.01
"""Share of the training after which networks are compared."""


def plot(table: pd.DataFrame) -> Figure:
    """Distances to the optimum and rates.

    a: mean distance along training at the greatest depth, 10th to 90th percentile of runs shaded, of a network with
    bounds of the runs that do not diverge; b: at its end; c: the best rates.
    """
    figure, (along, losses, rates) = panels("abc", 2.7)
    final = table[table["epoch"] == table["epoch"].max()]
    plot_losses_and_rates(losses, rates, final, "excess_loss")
    losses.set_ylabel("final loss − optimal loss")
    measured = sweeps.fresh(table)
    best = sweeps.best_rates(final, "excess_loss")
    shown = pd.concat([sweeps.at_shown_rate(measured, best), _bounding(measured, final)])
    last, deepest = table["epoch"].max(), shown["depth"].max()
    for network, rows in shown[(shown["depth"] == deepest) & (shown["epoch"] > 0)].groupby("network", sort=False):
        by_epoch = rows.groupby("epoch")["excess_loss"]
        low, high = by_epoch.quantile(0.1), by_epoch.quantile(0.9)
        along.plot_band(by_epoch.mean(), low, high, **line_look(str(network)))
    mark_judged(along, [JUDGED], last)
    along.set(xscale="log", yscale="log", xlabel="epoch", ylabel="loss − optimal loss", title=f"depth {deepest}")
    network_legend(figure, table["network"].unique())
    return figure


def _bounding(measured: pd.DataFrame, final: pd.DataFrame) -> pd.DataFrame:
    """Of each network and depth with bounds the runs that do not diverge."""
    parts = [
        rows[rows["excess_loss"].groupby(rows["run"]).transform(lambda losses: np.isfinite(losses).all())]
        for (network, depth), rate in sweeps.bounding_rates(final, "excess_loss").items()
        for rows in [measured.query("network == @network and depth == @depth and learning_rate == @rate")]
    ]
    return pd.concat(parts) if parts else measured[:0]
