"""Figure 3: average Frobenius norm of the weights of 2-shortcut networks per epoch, by depth; linear and with ReLUs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.style import colours_of, label_ends, panels
from resaudit.plan.fields import Key
from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.looks import label
from residual.demystifying_resnet.networks.network import base_name
from residual.demystifying_resnet.tables import long_table, runs_of_rate
from residual.demystifying_resnet.training.trajectory import Trajectory


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, shown, run, epoch, mean_frobenius_norm.

    Rows for every learning rate tied for the best of a depth; the drawn one has ``shown``.
    """

    def rows(key: Key) -> pd.DataFrame:
        trajectory, rates = results.sweeps[key], results.rates[key]
        return pd.concat([_norms(trajectory, rate).assign(shown=rate == rates[0]) for rate in rates])[COLUMNS]

    return long_table(results.sweeps, rows)


COLUMNS = ["learning_rate", "shown", "run", "epoch", "mean_frobenius_norm"]
JUDGED = (0.01, 0.1, 1.0)
"""Shares of the training after which depths are compared."""


def _norms(trajectory: Trajectory, rate: float) -> pd.DataFrame:
    norms = trajectory.mean_frobenius_norm[:, runs_of_rate(trajectory, rate)].T
    run, epoch = (grid.ravel() for grid in np.indices(norms.shape))
    return pd.DataFrame({"learning_rate": rate, "run": run, "epoch": epoch, "mean_frobenius_norm": norms.ravel()})


def plot(table: pd.DataFrame) -> Figure:
    """One panel per network, one curve per depth: mean over runs, one standard deviation shaded; from epoch 1 on."""
    table = table[table["shown"] & (table["epoch"] > 0)]
    networks = table["network"].unique()
    figure, every_axes = panels("abcdefgh"[: len(networks)], 2.6)
    depths = sorted(table["depth"].unique())
    colours = dict(zip(depths, colours_of(depths), strict=True))
    for network, axes in zip(networks, every_axes, strict=True):
        _plot_network(table[table["network"] == network], axes, colours)
        axes.set_title(label(network) + (", linear" if base_name(network) == network else ""))
    every_axes[0].set_ylabel("average Frobenius norm")
    return figure


def _plot_network(rows: pd.DataFrame, axes: Axes, colours: Mapping[int, Any]) -> None:
    ends, last = [], int(rows["epoch"].max())
    for depth in sorted(rows["depth"].unique()):
        colour = colours[depth]
        by_epoch = rows[rows["depth"] == depth].groupby("epoch")["mean_frobenius_norm"]
        mean, deviation = by_epoch.mean(), by_epoch.std(ddof=1).fillna(0.0)
        axes.plot(mean.index, mean, color=colour, label=f"{depth}")
        axes.fill_between(mean.index, mean - deviation, mean + deviation, color=colour, alpha=0.25, linewidth=0)
        ends.append((float(mean.iloc[-1]), f"depth {depth}", colour))
    for share in JUDGED:
        axes.axvline(max(1, round(share * last)), color="0.45", linestyle=":", linewidth=0.8, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(1, last)
    axes.set_xlabel("epoch")
    axes.set_ylim(bottom=0)
    label_ends(axes, ends)
