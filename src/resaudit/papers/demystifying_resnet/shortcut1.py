"""A figure of our own on section 5's first paragraph: 1-shortcut networks beside orthogonal ones."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.experiments.networks import Key
from resaudit.experiments.results import TrainingResults
from resaudit.papers.demystifying_resnet.tables import long_table
from resaudit.papers.style import depth_axis, look, panels
from resaudit.papers.sweeps import at_shown_rate, best_rates, plot_rates
from resaudit.training.rates import choice_of
from resaudit.training.snapshots import snapshot_epochs
from resaudit.training.trajectory import Trajectory

CURVE_EPOCHS = 40
"""Epochs of a training curve that are kept, evenly on a logarithmic scale."""


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, epoch, loss, optimal_loss, excess_loss, shown.

    The last epoch of every run at every rate, infinite where it diverged, as in Figure 7; at tied rates also the epochs
    of the curve. The drawn rate has ``shown``. ``excess_loss`` has more digits than the difference of the two losses.
    """

    def rows(key: Key) -> pd.DataFrame:
        trajectory = results.sweeps[key]
        last = len(trajectory.excess_loss) - 1
        final = np.array([last])
        curve = np.array(snapshot_epochs(last, CURVE_EPOCHS))
        best = choice_of(trajectory)
        return pd.concat(
            _rows_at(trajectory, rate, curve if rate in best.tied else final).assign(shown=rate == best.shown)
            for rate in np.unique(trajectory.learning_rate)
        )

    return long_table(results.sweeps, rows)


def _rows_at(trajectory: Trajectory, rate: float, epochs: np.ndarray) -> pd.DataFrame:
    runs = np.flatnonzero(trajectory.learning_rate == rate)
    run, epoch = (grid.ravel() for grid in np.meshgrid(np.arange(len(runs)), epochs, indexing="ij"))
    return pd.DataFrame(
        {
            "learning_rate": rate,
            "run": run,
            "epoch": epoch,
            "loss": trajectory.loss[epoch, runs[run]],
            "optimal_loss": float(trajectory.baseline_loss),
            "excess_loss": trajectory.excess_loss[epoch, runs[run]],
        }
    )


def plot(table: pd.DataFrame) -> Figure:
    """Left: training curves at a middle and at the largest depth. Then final losses and best rates, as Figure 7."""
    figure, (curves, losses, rates) = panels(3)
    best = best_rates(table[table["epoch"] == table["epoch"].max()], "excess_loss")
    at_best, depths = at_shown_rate(table, best), sorted(table["depth"].unique())
    shown = dict(zip(("-", ":"), dict.fromkeys([depths[(len(depths) - 1) // 2], depths[-1]]), strict=False))
    final = at_best[at_best["epoch"] == at_best["epoch"].max()]
    for network in table["network"].unique():
        for line, depth in shown.items():
            _plot_curve(curves, at_best[(at_best["network"] == network) & (at_best["depth"] == depth)], network, line)
        by_depth, style = final[final["network"] == network].groupby("depth"), look(network)
        losses.plot(by_depth["excess_loss"].mean(), **style)
        low, high = (by_depth["excess_loss"].quantile(share) for share in (0.1, 0.9))
        losses.fill_between(low.index, low, high, color=style["color"], alpha=0.2, linewidth=0)
        plot_rates(rates, network, best, style)
    for axes in (curves, losses, rates):
        axes.set_yscale("log")
    curves.set_xscale("symlog", linthresh=1)
    curves.set_xlim(0, table["epoch"].max())
    curves.set_xlabel("epoch")
    curves.set_ylabel(r"loss $-$ optimal loss")
    for line, depth in shown.items():
        curves.plot([], [], line, color="0.3", label=f"depth {depth}")
    curves.legend()
    for axes in (losses, rates):
        depth_axis(axes, depths)
    losses.set_ylabel(r"final loss $-$ optimal loss")
    rates.set_ylabel("best learning rate")
    rates.legend(loc="lower left")
    return figure


def _plot_curve(axes: Axes, rows: pd.DataFrame, network: str, line: str) -> None:
    """Mean over runs; 10th to 90th percentile shaded."""
    by_epoch, colour = rows.groupby("epoch")["excess_loss"], look(network)["color"]
    mean = by_epoch.mean()
    axes.plot(mean.index, mean, line, color=colour)
    axes.fill_between(mean.index, by_epoch.quantile(0.1), by_epoch.quantile(0.9), color=colour, alpha=0.2, linewidth=0)
