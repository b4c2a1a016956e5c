"""Sharpness and loss along full-batch gradient descent."""

import numpy as np
import pandas as pd

from resaudit.paper import Look, panels


def table(results):
    """Columns: property, learning_rate, run, step, value. Sharpness is that over 2/eta."""
    parts = {}
    for job, found in results:
        rate, first, sharpness = job.learning_rate, job.first, found.sharpness * job.learning_rate / 2
        final = sharpness[-len(sharpness) // 4 :].mean(axis=0, keepdims=True)
        for name, values in {"loss": found.losses, "sharpness": sharpness, "final sharpness": final}.items():
            steps = np.arange(len(values)) * (job.every if name == "sharpness" else 1)
            columns = pd.DataFrame(values, steps, first + np.arange(values.shape[1]))
            parts[name, rate, first] = columns.rename_axis("step").rename_axis("run", axis="columns").stack()
    rows = pd.concat(parts, names=["property", "learning_rate", "first"]).rename("value").reset_index()
    return rows[["property", "learning_rate", "run", "step", "value"]]


def plot(table):
    figure, axes = panels("ab")
    for panel, name, label in zip(axes, ("sharpness", "loss"), ("sharpness / (2 / eta)", "training loss")):
        shown = table[table["property"] == name].groupby("learning_rate")
        for (rate, rows), color, line in zip(shown, (Look.BLUE, Look.RED), ("-", "--")):
            panel.plot_mean(rows, "step", "value", color=color, linestyle=line, label=f"eta = {rate:g}")
        panel.set(xlabel="step", ylabel=label)
    axes[0].mark(y=1.0)
    axes[1].set_yscale("log")
    axes[1].legend()
    return figure
