"""Training against depth: loss curves, final losses, steps to a loss, best learning rates."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import BestRate, Look, Panel, curves, legend_above, panels, sweeps
from residual.stable_scaling.experiments.training import power_of
from residual.stable_scaling.looks import depths_axis, power_look

SHOWN = "resnet-0.5"
"""The network of the loss curves, with one rate for all depths."""
CONSTANT = 0.45
"""Loss of the best constant answer to ten classes of equal size: each output 1/10."""
LARGEST_DRAWN = 10.0
"""Final losses above it are drawn at it."""
PLAIN = {"color": Look.BLACK, "marker": "D", "linestyle": Look.DOTTED, "label": "no shortcuts"}


def table(losses: pd.DataFrame) -> pd.DataFrame:
    """The columns of :meth:`residual.stable_scaling.experiments.training.ScaledTraining.read`."""
    return losses


def plot(table: pd.DataFrame) -> Figure:
    """a: loss curves at one rate; b: final losses; c: steps to the target; d: best rates."""
    figure, (losses, finals, steps, rates) = panels("ab;cd", 4.6)
    networks, ends = list(table["network"].unique()), sweeps.at_the_end(table)
    best = sweeps.best_rates(ends, "loss")
    shown, chose = sweeps.at_shown_rate(sweeps.fresh(ends), best), sweeps.at_shown_rate(sweeps.screened(ends), best)
    one_rate = sweeps.common_rates(table[table["network"] == SHOWN])
    measured = sweeps.fresh(table)
    _plot_curves(losses, measured[(measured["network"] == SHOWN) & measured["learning_rate"].isin(one_rate[:1])])
    for position, network in enumerate(networks):
        look, aside = _look(network), 1.06 ** (position - (len(networks) - 1) / 2)
        final = shown[shown["network"] == network]
        finals.plot_runs(final["depth"] * aside, final["loss"].clip(upper=LARGEST_DRAWN), look)
        if sweeps.is_confirmed(ends):
            screen = chose[chose["network"] == network]
            finals.plot_screened(screen["depth"] * aside, screen["loss"].clip(upper=LARGEST_DRAWN), look["color"])
        rows = measured[measured["network"] == network]
        choices = {depth: best[network, depth] for depth in rows["depth"].unique()}
        one = one_rate[0] if network == SHOWN and one_rate else None
        _plot_steps(steps, rows, {depth: one or choice.shown for depth, choice in choices.items()}, look, aside)
        _plot_rates(rates, choices, look, aside)
    for axes in (finals, steps, rates):
        depths_axis(axes, sorted(table["depth"].unique()))
        axes.set_yscale("log")
    # Possibly no run reaches the loss.
    steps.set_ylim(table["step"].min(), 1.2 * table["step"].max())
    steps.plain_ticks("y", (10, 20, 50, 100, 200, 500, 1000))
    finals.mark(y=CONSTANT, zorder=1)
    finals.note("constant answer", (0.0, CONSTANT), (2, 2), xycoords=("axes fraction", "data"), ha="left")
    finals.plain_ticks("y", (0.3, 0.5, 1, 2, 5, 10))
    finals.set_ylabel("final loss at the best rate")
    steps.set_ylabel(f"steps to a loss of {table['target_loss'].iloc[0]:g}")
    rates.set_ylabel("best learning rate $/\\,(d/m)$")
    legend_above(figure, [_look(network) for network in networks])
    return figure


def _plot_curves(axes: Panel, rows: pd.DataFrame) -> None:
    depths = sorted(rows["depth"].unique())
    for depth, colour in zip(depths, Look.colours_of(depths), strict=True):
        mean = rows[rows["depth"] == depth].groupby("step")["loss"].mean()
        axes.plot(mean.index, mean, color=colour, label=f"$L={depth}$")
    axes.set_yscale("log")
    axes.mark(y=CONSTANT, zorder=1, label="constant answer")
    axes.plain_ticks("y", (0.3, 0.4, 0.5, 0.7, 1, 2, 5, 10))
    axes.set(xlabel="step", ylabel=r"loss, $\tau=L^{-1/2}$")
    if len(rows):
        axes.set_title(f"one rate, {rows['learning_rate'].iloc[0]:g} $d/m$")
    axes.legend(ncols=2)


def _plot_steps(
    axes: Panel, rows: pd.DataFrame, rates: Mapping[int, float | None], look: dict[str, Any], aside: float
) -> None:
    """Each run's steps to the target at a rate for each depth."""
    at_rate = rows[rows["learning_rate"] == rows["depth"].map(rates).astype(float)]
    groups = at_rate.groupby("depth", sort=False)
    reached = [(float(str(depth)), count) for depth, group in groups for count in curves.steps_to_target(group)]
    table = pd.DataFrame(reached, columns=["depth", "steps"], dtype=float)
    axes.plot_runs(table["depth"] * aside, table["steps"], look)


def _plot_rates(axes: Panel, choices: Mapping[int, BestRate], look: dict[str, Any], aside: float) -> None:
    """The best rate of each depth that has one, with those tied; hollow at the edge of the grid."""
    shown = {}
    for depth, choice in choices.items():
        if choice.shown is not None:
            shown[depth * aside] = choice.shown
            tied = [choice.tied[0], choice.tied[-1]]
            axes.plot([depth * aside] * 2, tied, color=look["color"], linewidth=0.8, alpha=0.6)
            face = "white" if choice.at_edge else look["color"]
            axes.plot(depth * aside, choice.shown, **look | {"linestyle": "none", "markerfacecolor": face})
    axes.plot([*shown], [*shown.values()], **look | {"marker": ""})


def _look(network: str) -> dict[str, Any]:
    power = power_of(network)
    return PLAIN if power is None else power_look(power)
