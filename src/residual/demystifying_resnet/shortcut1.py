"""A figure of our own on section 5's first paragraph: 1-shortcut networks beside orthogonal ones."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, panels, sweeps
from residual.demystifying_resnet.experiments.results import JUDGED, TrainingResults, curve_epochs, judged_epochs
from residual.demystifying_resnet.figures import (
    above_optimum,
    label,
    long_table,
    look,
    mark_judged,
    network_legend,
    rows_of_stage,
)
from residual.demystifying_resnet.networks.trajectory import Trajectory

DERIVED = above_optimum("loss")
OURS, BESIDE = "1-shortcut", "orthogonal"


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, stage, learning_rate, run, epoch, loss, optimal_loss, excess_loss, shown.

    The last epoch of every run at every rate, infinite where it diverged, as in Figure 7; at tied rates also the epochs
    judged, at the drawn one, which has ``shown``, those of the curve; with a confirmation, of its runs. ``excess_loss``
    has more digits than the difference of the two losses.
    """

    def rows(key: tuple[str, int]) -> pd.DataFrame:
        screening, *blocks = results.stages(key)
        parts = [_of_stage(*block, results.rates[key]) for block in blocks]
        return pd.concat([_of_stage(*screening, () if blocks else results.rates[key]), *parts])

    return long_table(results.sweeps, rows)


def _of_stage(stage: str, first: int, trajectory: Trajectory, tied: tuple[float, ...]) -> pd.DataFrame:
    """The runs of a stage: along the training at the first of the tied rates, at the others where they are judged."""
    last = len(trajectory.excess_loss) - 1
    epochs = {rate: [last] for rate in np.unique(trajectory.learning_rate).tolist()}
    epochs |= dict.fromkeys(tied, judged_epochs(last)) | dict.fromkeys(tied[:1], curve_epochs(last))
    optimal = np.broadcast_to(trajectory.baseline_loss, trajectory.loss.shape)
    losses = {"loss": trajectory.loss, "optimal_loss": optimal, "excess_loss": trajectory.excess_loss}
    part = rows_of_stage(stage, first, trajectory, epochs, **losses)
    return part.assign(shown=part["learning_rate"].isin(tied[:1]))


def plot(table: pd.DataFrame) -> Figure:
    """Ratios to the orthogonal network. a: mean distance to the optimum along training; b: at its end; c: best rates.

    The shaded zones are those of the claim: a factor of ten, half a decade.
    """
    figure, (along, ends, rates) = panels("abc", 2.7, width_ratios=[1.15, 1, 1])
    last, depths, networks = table["epoch"].max(), sorted(table["depth"].unique()), table["network"].unique()
    best = sweeps.best_rates(table[table["epoch"] == last], "excess_loss")
    shown = sweeps.at_shown_rate(sweeps.fresh(table), best)
    means = shown.pivot_table(index=["depth", "epoch"], columns="network", values="excess_loss")
    # Possibly no network has a shown rate at a depth.
    every = pd.MultiIndex.from_product([depths, sorted(table["epoch"].unique())], names=["depth", "epoch"])
    means = means.reindex(index=every, columns=networks)
    ratios = means.div(means[BESIDE], axis="index")
    others = [network for network in networks if network != BESIDE]
    for depth, colour in zip(depths, Look.colours_of(depths), strict=True):
        ratio = ratios.loc[depth, OURS].loc[1:].dropna()
        along.plot(ratio.index, ratio, color=colour, label=f"{depth}")
    for network in others:
        ends.plot(ratios.xs(last, level="epoch")[network], **look(network))
        shown_rates = {d: (best[network, d].shown, best[BESIDE, d].shown) for d in depths}
        rate_ratios = {d: rate / beside for d, (rate, beside) in shown_rates.items() if rate and beside}
        rates.plot(list(rate_ratios), list(rate_ratios.values()), **look(network))
    for axes, zone in ((along, 10), (ends, 10), (rates, 10**0.5)):
        axes.axhspan(1 / zone, zone, color="0.92", zorder=0)
        axes.axhline(1, color="0.3", linewidth=0.7, zorder=1)
        axes.set_yscale("log")
    mark_judged(along, JUDGED, last)
    along.set(xscale="log", xlabel="epoch", ylabel="ratio of losses above optimum")
    along.set_title(f"{label(OURS)} / {label(BESIDE)}")
    along.legend(title="depth", ncols=3, loc="upper center")
    for axes in (ends, rates):
        axes.depth_axis(depths)
    ends.set_ylabel("ratio of final losses above optimum")
    rates.set_ylabel("ratio of best learning rates")
    network_legend(figure, others)
    return figure
