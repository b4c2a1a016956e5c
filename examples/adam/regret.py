"""Average regret of Adam and AdaGrad."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.papers.style import panels


def table(results) -> pd.DataFrame:
    """Columns: property, beta2, step, run, value."""
    streams = {dict(where)["beta2"]: stream for where, stream in results.items()}
    values = {("average regret", beta2): stream.regrets for beta2, stream in streams.items()}
    limit = max(beta2 for beta2 in streams if beta2 < 1)
    values["distance to AdaGrad", limit] = np.abs(streams[limit].points - streams[1.0].points)
    parts = {key: pd.DataFrame(value, index=streams[1.0].steps).stack() for key, value in values.items()}
    return pd.concat(parts, names=["property", "beta2", "step", "run"]).rename("value").reset_index()


def plot(table: pd.DataFrame) -> Figure:
    figure, (axes,) = panels()
    for (beta2, rows), style in zip(table[table["property"] == "average regret"].groupby("beta2"), "o- s-- ^:".split()):
        axes.semilogx(rows["step"], rows["value"], style, label="AdaGrad" if beta2 == 1 else f"Adam, beta2 = {beta2:.9g}")
    axes.legend()
    axes.set(xlabel="T", ylabel="regret / T")
    return figure
