"""Estimated second moments, and how rescaling changes the steps."""

import numpy as np
import pandas as pd

from resaudit.paper import panels


def table(results):
    """Columns: property, scale, step, run, value."""
    streams = {dict(where)["scale"]: stream for where, stream in results.items()}
    values = {("second moment", 1.0): streams[1.0].moments}
    for scale, stream in streams.items():
        values["change by rescaling", scale] = np.abs(stream.moves / streams[1.0].moves - 1).max(axis=1, keepdims=True)
    parts = {key: pd.DataFrame(value, index=streams[1.0].steps).stack() for key, value in values.items()}
    return pd.concat(parts, names=["property", "scale", "step", "run"]).rename("value").reset_index()


def plot(table):
    figure, (axes,) = panels()
    means = table[table["property"] == "second moment"].groupby("step")["value"].mean()
    axes.semilogx(means.index, means, "o-", label="corrected")
    axes.semilogx(means.index, means * (1 - 0.999**means.index), "s--", label="not corrected")
    axes.legend()
    axes.set(xlabel="step", ylabel="second moment")
    return figure
