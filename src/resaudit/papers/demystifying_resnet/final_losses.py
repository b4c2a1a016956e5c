"""Shared by Figures 7 and 8: final losses of a sweep, at the best learning rate against depth."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.experiments.networks import Key
from resaudit.experiments.results import TrainingResults
from resaudit.networks.network import base_name
from resaudit.papers.demystifying_resnet.tables import long_table
from resaudit.papers.style import depth_axis, look, panels
from resaudit.papers.sweeps import at_shown_rate, best_rates, plot_rates


def final_losses(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, final_loss; every rate, inf where it diverged.

    For linear networks also optimal_loss and excess_loss, the latter as training computed it: the difference of the two
    losses would have fewer digits.
    """

    def rows(key: Key) -> pd.DataFrame:
        trajectory = results.sweeps[key]
        rates = pd.DataFrame({"learning_rate": trajectory.learning_rate})
        finals = rates.assign(run=rates.groupby("learning_rate").cumcount(), final_loss=trajectory.loss[-1])
        if base_name(key[0]) != key[0]:
            return finals
        return finals.assign(optimal_loss=float(trajectory.baseline_loss), excess_loss=trajectory.excess_loss[-1])

    return long_table(results.sweeps, rows)


def plot_by_depth(table: pd.DataFrame, column: str, meaning: str) -> Figure:
    """Left: log10 of a column's mean at the rates shown, and its runs' 10th to 90th percentile. Right: these rates."""
    figure, (left, right) = panels(2)
    best = best_rates(table, column)
    shown = at_shown_rate(table, best)
    for network in table["network"].unique():
        by_depth = shown[shown["network"] == network].groupby("depth")
        mean, style = by_depth[column].mean(), look(network)
        left.plot(mean.index, np.log10(mean), **style)
        low, high = (np.log10(by_depth[column].quantile(share)) for share in (0.1, 0.9))
        left.fill_between(mean.index, low, high, color=style["color"], alpha=0.2, linewidth=0)
        plot_rates(right, network, best, style)
    for axes in (left, right):
        depth_axis(axes, sorted(table["depth"].unique()))
    left.set_ylabel(rf"$\log_{{10}}$({meaning})")
    right.set_ylabel("best learning rate")
    right.legend(loc="best")
    return figure
