"""Map of trainability: the final loss at the best learning rate over the power a of tau = L^-a and the depth."""

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from resaudit.paper import Look, panels, sweeps
from residual.stable_scaling.experiments.training import power_of

DERIVED = {"power": lambda table: table["network"].map(power_of).astype(float)}
SHARP = 0.5
"""The power of the sharp scaling factor."""
LEAST, LARGEST = 0.1, 9.0
"""Losses of the ends of the colours."""
TICKS = (0.1, 0.2, 0.3, 0.5, 1, 2, 4, 9)
DARK = 1.0
"""Cells of larger losses are dark."""


def table(losses: pd.DataFrame) -> pd.DataFrame:
    """Columns: stage, network, power, depth, learning_rate, run, step, loss; at the last step."""
    ends = sweeps.at_the_end(losses).drop(columns="target_loss")
    ends.insert(2, "power", DERIVED["power"](ends))
    return ends


def plot(table: pd.DataFrame) -> Figure:
    """A cell for each power and depth."""
    figure, (axes,) = panels("a", 2.7)
    powers, depths = (sorted(table[key].unique()) for key in ("power", "depth"))
    best = sweeps.best_rates(table, "loss")
    means = sweeps.at_shown_rate(sweeps.fresh(table), best).pivot_table("loss", "depth", "power")
    # Without a rate at which every run stays finite there is no mean.
    losses = means.reindex(index=depths, columns=powers).fillna(np.inf).to_numpy()
    scale = LogNorm(LEAST, LARGEST)
    image = axes.pcolormesh(losses.clip(max=LARGEST), cmap="viridis_r", norm=scale, edgecolors="white")
    names = dict(zip(table["power"], table["network"], strict=True))
    for row, depth in enumerate(depths):
        for column, power in enumerate(powers):
            loss, star = losses[row, column], "*" if best[names[power], depth].still_falling else ""
            text = f"{loss:.2f}{star}" if loss <= LARGEST else f">{LARGEST:g}{star}"
            colour = "w" if loss > DARK else "k"
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=colour)
    stable = [column for column, power in enumerate(powers) if power >= SHARP]
    if stable:
        axes.axvline(stable[0], color=Look.RED, linestyle="--", linewidth=1.6)
    axes.set_xticks(np.arange(len(powers)) + 0.5, [f"{power:g}" for power in powers])
    axes.set_yticks(np.arange(len(depths)) + 0.5, [str(depth) for depth in depths])
    axes.set(xlabel=r"power $a$ of $\tau=L^{-a}$", ylabel="depth $L$")
    axes.grid(False)
    bar = figure.colorbar(image, ax=axes, label="final loss at the best rate")
    bar.set_ticks(TICKS, labels=[f"{tick:g}" for tick in TICKS], minor=False)
    bar.set_ticks([], minor=True)
    return figure
