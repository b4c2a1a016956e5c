"""Sweeps of learning rates as tables: the best rate, the tied ones, and the runs at the rate shown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from resaudit.training.rates import BestRate, choose_rate

if TYPE_CHECKING:  # checks import this module and need no plots
    from matplotlib.axes import Axes

Key = tuple[Any, ...]
"""Network name and depth."""


def sweep(rows: pd.DataFrame, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The rates that every run of one network and depth tried, ascending (k,), and a column by run and rate (runs, k).

    Infinite where a run diverged.
    """
    wide = rows.pivot_table(index="run", columns="learning_rate", values=column, dropna=False).dropna(axis="columns")
    return wide.columns.to_numpy(), wide.to_numpy()


def best_rates(table: pd.DataFrame, column: str) -> dict[Key, BestRate]:
    """The best rate of each network and depth, by a column of final losses."""
    return {key: choose_rate(*sweep(rows, column)) for key, rows in table.groupby(["network", "depth"], sort=False)}


def at_shown_rate(table: pd.DataFrame, best: Mapping[Key, BestRate]) -> pd.DataFrame:
    """The runs of each network and depth at the rate shown; none if every rate has a diverged run."""
    keys = pd.MultiIndex.from_tuples([(*key, choice.shown) for key, choice in best.items()])
    return table[pd.MultiIndex.from_frame(table[["network", "depth", "learning_rate"]]).isin(keys)]


def plot_rates(axes: "Axes", network: str, best: Mapping[Key, BestRate], style: Mapping[str, Any]) -> None:
    """Plot the rates shown against depth, with a bar over the tied ones; an open marker if the grid's edge is tied."""
    choices = {depth: choice for (name, depth), choice in best.items() if name == network}
    shown = {depth: choice.shown for depth, choice in choices.items() if choice.shown is not None}
    axes.plot(list(shown), list(shown.values()), **style)
    for depth, rate in shown.items():
        tied = choices[depth].tied
        axes.plot([depth, depth], [tied[0], tied[-1]], color=style["color"], linewidth=0.8, alpha=0.6)
        if choices[depth].at_edge:
            axes.plot(depth, rate, color=style["color"], marker=style["marker"], markerfacecolor="white")
    axes.set_yscale("log")
