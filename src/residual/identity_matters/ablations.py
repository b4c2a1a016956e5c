"""Small initial weights and a fixed last layer, and without either: a figure of our own for section 4.1."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, legend_above, panels
from residual.images.curves import error_axis, loss_axis

LOOKS: dict[str, dict[str, Any]] = {
    "published": {"color": Look.BLUE, "label": "as published"},
    "usual-init": {"color": Look.RED, "linestyle": Look.DASH_DOTTED, "label": "usual initial weights"},
    "trained-projection": {"color": Look.GREEN, "linestyle": Look.DASHED, "label": "trained last layer"},
}


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run and recorded step, from the first step on.

    Columns: network, depth, learning_rate, run, step, train_loss, test_error, error (as reported so far); errors in %.
    """
    trained = evaluations[evaluations["step"] > 0].reset_index(drop=True)
    return trained[["network", "depth", "learning_rate", "run", "step", "train_loss", "test_error", "error"]]


def plot(table: pd.DataFrame) -> Figure:
    """a: training losses; b: test errors."""
    figure, (losses, errors) = panels("ab", 2.6)
    networks = list(table["network"].unique())
    for network in networks:
        rows = table[(table["network"] == network) & np.isfinite(table["train_loss"])]
        for axes, column in ((losses, "train_loss"), (errors, "error")) if len(rows) else ():
            axes.plot_mean(rows, "step", column, **LOOKS[network])
    for axes in (losses, errors):
        axes.set(xlabel="step", xlim=(0, int(table["step"].max())))
    loss_axis(losses, "training loss")
    error_axis(errors)
    legend_above(figure, [LOOKS[network] for network in networks])
    return figure
