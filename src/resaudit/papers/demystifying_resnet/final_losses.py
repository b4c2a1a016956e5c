"""What Figures 7 and 8 share: final losses of a sweep of learning rates, against depth at the best of them."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.networks.network import base_name
from resaudit.papers.demystifying_resnet.tables import long_table
from resaudit.papers.evidence import Evidence, Key
from resaudit.papers.style import depth_axis, look, panels


def final_losses(evidence: Evidence) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, final_loss, optimal_loss; every rate, inf where it diverged.

    ``optimal_loss`` is empty of networks with activations, of which nobody knows it.
    """

    def rows(key: Key) -> pd.DataFrame:
        trajectory = evidence.sweeps[key]
        rates = pd.DataFrame({"learning_rate": trajectory.learning_rate})
        return rates.assign(
            run=rates.groupby("learning_rate").cumcount(),
            final_loss=trajectory.loss[-1],
            optimal_loss=float(trajectory.baseline_loss) if base_name(key[0]) == key[0] else np.nan,
        )

    return long_table(evidence.sweeps, rows)


def at_best_rate(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of each network and depth at the rate whose mean final loss is least, the lower rate in a tie."""
    means = table.groupby(["network", "depth", "learning_rate"], sort=False)["final_loss"].mean().reset_index()
    least = means.sort_values(["final_loss", "learning_rate"]).groupby(["network", "depth"]).head(1)
    return table.merge(least[["network", "depth", "learning_rate"]])


def plot_by_depth(table: pd.DataFrame, column: str, meaning: str) -> Figure:
    """Left: log10 of a column's mean at the best rates, and its runs' 10th to 90th percentile. Right: these rates."""
    figure, (left, right) = panels(2)
    best = at_best_rate(table)
    for network in table["network"].unique():
        by_depth = best[best["network"] == network].groupby("depth")
        mean, style = by_depth[column].mean(), look(network)
        left.plot(mean.index, np.log10(mean), **style)
        low, high = (np.log10(by_depth[column].quantile(share)) for share in (0.1, 0.9))
        left.fill_between(mean.index, low, high, color=style["color"], alpha=0.2, linewidth=0)
        rate = by_depth["learning_rate"].first()
        right.plot(rate.index, np.log10(rate), **style)
    for axes in (left, right):
        depth_axis(axes, sorted(table["depth"].unique()))
    left.set_ylabel(rf"$\log_{{10}}$({meaning})")
    right.set_ylabel(r"$\log_{10}$(optimal learning rate)")
    right.legend(loc="best")
    return figure
