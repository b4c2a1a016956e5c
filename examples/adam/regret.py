"""Average regret of Adam and AdaGrad."""

import numpy as np
import pandas as pd

from resaudit.paper import panels


def table(results):
    """Columns: property, beta2, step, run, value."""
    streams = {dict(where)["beta2"]: stream for where, stream in results.items()}
    values = {("regret", beta2): stream.regrets for beta2, stream in streams.items()}
    values |= {("last regret", beta2): stream.regrets[-1:] for beta2, stream in streams.items()}
    limit = max(beta2 for beta2 in streams if beta2 < 1)
    values["distance from AdaGrad", limit] = np.abs(streams[limit].regrets - streams[1.0].regrets)
    parts = {key: pd.DataFrame(value, index=streams[1.0].steps[-len(value) :]).stack() for key, value in values.items()}
    return pd.concat(parts, names=["property", "beta2", "step", "run"]).rename("value").reset_index()


def plot(table):
    figure, (axes,) = panels()
    for (beta2, rows), style in zip(table[table["property"] == "regret"].groupby("beta2"), ("o-", "s--", "^:")):
        axes.semilogx(rows["step"], rows["value"], style, label=f"beta2 = {beta2:.9g}" if beta2 < 1 else "AdaGrad")
    axes.legend()
    axes.set(xlabel="T", ylabel="regret / T")
    return figure
