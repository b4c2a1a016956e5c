"""Figure 7: final loss at the best learning rate, and that rate, against depth; linear networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import BestRate, Panel, panels, sweeps
from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.figures import above_optimum, long_table, look, network_legend, rows_of_stage
from residual.demystifying_resnet.networks.network import base_name
from residual.demystifying_resnet.networks.trajectory import Trajectory

DERIVED = above_optimum("final_loss") | {
    # A run starts from the same weights at every rate.
    "initial_loss": lambda table: table.groupby(["network", "depth", "run"])["initial_loss"].transform("median")
}
LEAST_DRAWN = 1e-8


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, stage, learning_rate, run, final_loss; inf where a run diverged.

    The screening has every rate, the confirmation those that it leaves. For linear networks also optimal_loss,
    initial_loss and excess_loss, the last as training computed it: the difference of the two losses would have fewer
    digits.
    """

    def rows(key: tuple[str, int]) -> pd.DataFrame:
        return pd.concat([_of_stage(key[0], *stage) for stage in results.stages(key)])

    return long_table(results.sweeps, rows)


def _of_stage(network: str, stage: str, first: int, trajectory: Trajectory) -> pd.DataFrame:
    loss, excess = trajectory.loss, trajectory.excess_loss
    last = {rate: [len(loss) - 1] for rate in trajectory.learning_rate.tolist()}
    columns: dict[str, np.ndarray] = {"final_loss": loss}
    if base_name(network) == network:
        initial, optimal = (np.broadcast_to(each, loss.shape) for each in (loss[0], trajectory.baseline_loss))
        columns |= {"optimal_loss": optimal, "initial_loss": initial, "excess_loss": excess}
    return rows_of_stage(stage, first, trajectory, last, **columns).drop(columns="epoch")


def plot(table: pd.DataFrame) -> Figure:
    """a: mean distance to the optimum, with the runs. b: the best rates."""
    return plot_by_depth(table, "excess_loss", "final loss − optimal loss")[0]


def plot_by_depth(table: pd.DataFrame, column: str, meaning: str) -> tuple[Figure, Panel]:
    """a: a column's mean at the rates shown, with every run as a point, small if screened. b: these rates."""
    figure, (losses, rates) = panels("ab", 2.7)
    plot_losses_and_rates(losses, rates, table, column)
    losses.set_ylabel(meaning)
    network_legend(figure, table["network"].unique())
    return figure, losses


def plot_losses_and_rates(losses: Panel, rates: Panel, table: pd.DataFrame, column: str) -> None:
    """Plot a column of final losses, and the best rates, by depth.

    Networks stand side by side at a depth. Runs below :data:`LEAST_DRAWN` are drawn at it. Where fresh runs diverge at
    every rate that the screening left, triangles stand for bounds: the loss is at least the mean of those that do not,
    the rate at most the largest of these rates.
    """
    networks, depths = list(table["network"].unique()), sorted(table["depth"].unique())
    best, bounding = sweeps.best_rates(table, column), sweeps.bounding_rates(table, column)
    shown = sweeps.at_shown_rate(table, best)
    for position, network in enumerate(networks):
        aside = 2.0 ** (0.12 * (position - (len(networks) - 1) / 2))
        rows, style = shown[shown["network"] == network], look(network) | {"linewidth": 0.9}
        measured, chose = sweeps.fresh(rows), sweeps.screened(rows) if sweeps.is_confirmed(rows) else rows[:0]
        losses.plot_runs(measured["depth"] * aside, measured[column], style, LEAST_DRAWN)
        losses.plot_screened(chose["depth"] * aside, chose[column], style["color"], LEAST_DRAWN)
        tried = table.loc[table["network"] == network, "learning_rate"].nunique()
        bounds = {depth: rate for (name, depth), rate in bounding.items() if name == network}
        _plot_bounds(losses, rates, table[table["network"] == network], column, bounds, aside, style)
        choices = {depth * aside: choice for (name, depth), choice in best.items() if name == network}
        _plot_rates(rates, choices, tried, style)
    for axes in (losses, rates):
        axes.set_yscale("log")
        axes.depth_axis(depths)
    rates.margins(y=0.15)  # "any" stands above a bar
    rates.set_ylabel("best learning rate")


def _plot_bounds(
    losses: Panel, rates: Panel, rows: pd.DataFrame, column: str, bounds: Mapping[int, float], aside: float, style: Any
) -> None:
    """Plot open triangles that point to where the mean loss and the best rate of each depth lie."""
    triangles = style | {"linestyle": "none", "markerfacecolor": "white"}
    for depth, rate in bounds.items():
        left = sweeps.fresh(rows[rows["depth"] == depth])
        at_rate = left.loc[left["learning_rate"] == rate, column]
        mean = at_rate[np.isfinite(at_rate)].mean()
        losses.plot(depth * aside, max(mean, LEAST_DRAWN), **triangles | {"marker": "^"})
        rates.plot(depth * aside, left["learning_rate"].max(), **triangles | {"marker": "v"})


def _plot_rates(axes: Panel, choices: Mapping[float, BestRate], tried: int, style: Any) -> None:
    """Plot the rates shown, with bars over the tied ones.

    Where these span a decade or reach the grid's edge, the sweep does not determine the rate: its marker is open, and
    no curve leads to it; where they are all that were tried, it is "any".
    """
    open_marker = style | {"linestyle": "none", "markerfacecolor": "white"}
    shown = {x: choice.shown for x, choice in choices.items() if choice.shown is not None}
    determined = {x: r for x, r in shown.items() if not (c := choices[x]).at_edge and c.tied[-1] < 10 * c.tied[0]}
    for x, rate in shown.items():
        choice = choices[x]
        axes.plot([x, x], [choice.tied[0], choice.tied[-1]], color=style["color"], linewidth=0.8, alpha=0.6)
        if len(choice.tied) == tried:
            axes.note("any", (x, choice.tied[-1]), (0, 2), ha="center", rotation=90, color=style["color"])
        elif x not in determined:
            axes.plot(x, rate, **open_marker)
    axes.plot(list(determined), list(determined.values()), **style)
