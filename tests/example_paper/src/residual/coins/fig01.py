"""Figure 1: share of heads."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from residual.coins.jobs import Tosses

from resaudit.paper import Coordinates, panels


def table(results: Mapping[Coordinates, Tosses]) -> pd.DataFrame:
    """Columns: bias, toss, heads."""
    parts = [pd.DataFrame({**dict(where), "heads": tosses.heads}) for where, tosses in results.items()]
    return pd.concat(part.rename_axis("toss").reset_index() for part in parts)[["bias", "toss", "heads"]]


def plot(table: pd.DataFrame) -> Figure:
    """The share against the bias; the paper says that they are equal."""
    figure, (axes,) = panels()
    shares = table.groupby("bias")["heads"].mean()
    axes.plot(shares.index, shares, "o")
    axes.plot_published(shares.index, shares.index, "black")
    axes.set_xlabel("probability of heads")
    axes.set_ylabel("share of heads")
    return figure
