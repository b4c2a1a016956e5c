"""Figure 3: average Frobenius norm of the weights of 2-shortcut networks per epoch, by depth."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.papers.demystifying_resnet.tables import long_table, runs_of_rate
from resaudit.papers.evidence import Evidence, Key
from resaudit.papers.style import colours_of, label, panels


def table(evidence: Evidence) -> pd.DataFrame:
    """Columns: network, depth, run, epoch, mean_frobenius_norm; at the learning rate chosen of each depth."""

    def rows(key: Key) -> pd.DataFrame:
        trajectory = evidence.sweeps[key]
        chosen = runs_of_rate(trajectory, evidence.rates[key])
        norms = trajectory.mean_frobenius_norm[:, chosen].T
        run, epoch = np.indices(norms.shape)
        return pd.DataFrame({"run": run.ravel(), "epoch": epoch.ravel(), "mean_frobenius_norm": norms.ravel()})

    return long_table(evidence.sweeps, rows)


def plot(table: pd.DataFrame) -> Figure:
    """One panel a network, one curve a depth: mean over runs, one standard deviation shaded."""
    networks = table["network"].unique()
    figure, every_axes = panels(len(networks))
    for network, axes in zip(networks, every_axes, strict=True):
        _plot_network(table[table["network"] == network], axes)
        axes.set_title(f"{label(network)}, linear")
    every_axes[-1].legend(title="depth", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _plot_network(rows: pd.DataFrame, axes: Axes) -> None:
    depths = sorted(rows["depth"].unique())
    for depth, colour in zip(depths, colours_of(depths), strict=True):
        by_epoch = rows[rows["depth"] == depth].groupby("epoch")["mean_frobenius_norm"]
        mean, deviation = by_epoch.mean(), by_epoch.std(ddof=1).fillna(0.0)
        axes.plot(mean.index, mean, color=colour, label=f"{depth}")
        axes.fill_between(mean.index, mean - deviation, mean + deviation, color=colour, alpha=0.25, linewidth=0)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("epoch")
    axes.set_ylabel("average Frobenius norm")
    axes.set_ylim(bottom=0)
