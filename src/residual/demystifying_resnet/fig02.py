"""Figure 2: average Frobenius norm of the weights of pre-activation ResNets per epoch, and their test error."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from resaudit.paper import Look, panels
from residual.demystifying_resnet.figures import mark_judged
from residual.images.curves import error_axis

JUDGED = (0.1, 0.5, 1.0)
"""Shares of the training after which depths are compared."""


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, epoch, mean_frobenius_norm, test_error (%)."""
    return evaluations[["network", "depth", "learning_rate", "run", "epoch", "mean_frobenius_norm", "test_error"]]


def plot(table: pd.DataFrame) -> Figure:
    """a: norms, b: test errors; one curve a depth."""
    figure, (norms, errors) = panels("ab", 2.6)
    depths, last = sorted(table["depth"].unique()), int(table["epoch"].max())
    ends = []
    for depth, colour in zip(depths, Look.colours_of(depths), strict=True):
        rows = table[table["depth"] == depth]
        ends.append((norms.plot_mean(rows, "epoch", "mean_frobenius_norm", color=colour), f"depth {depth}", colour))
        errors.plot_mean(rows, "epoch", "test_error", color=colour)
    for axes in (norms, errors):
        axes.set(xlim=(0, last), xlabel="epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    mark_judged(norms, JUDGED, last)
    norms.set_ylim(bottom=0)
    norms.set_ylabel("average Frobenius norm")
    error_axis(errors)
    norms.label_ends(ends)
    return figure
