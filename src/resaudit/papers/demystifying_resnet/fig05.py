"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.experiments.results import TrainingResults
from resaudit.papers.by_loss import above_optimum, interpolate, loss_axis, plot_against_loss
from resaudit.papers.demystifying_resnet.tables import spectra_along_training
from resaudit.papers.style import line_look, network_legend, panels


def table(results: TrainingResults) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.tables.spectra_along_training`."""
    return spectra_along_training(results)


def plot(table: pd.DataFrame) -> Figure:
    """a: eigenvalues, b: condition number; mean and standard deviation of the logarithm over runs, against the loss.

    Unresolved percentiles are replaced by their noise floor.
    """
    figure, (left, right) = panels("ab", 2.8)
    table = table[table["shown"]]
    for network, rows in table.groupby("network", sort=False):
        style, resolved = line_look(str(network)), rows[rows["resolved"]]
        plot_against_loss(left, rows, "lambda_max", style, logs=True)
        plot_against_loss(left, resolved, "lambda_p10", style, logs=True)
        plot_against_loss(right, resolved, "condition_number", style, logs=True)
        unknown = above_optimum(rows[~rows["resolved"] & np.isfinite(rows["noise_floor"])])
        left.scatter(unknown["loss"], unknown["noise_floor"], marker="_", color=style["color"], alpha=0.4)
    for axes in (left, right):
        axes.set_yscale("log")
        loss_axis(axes)
    left.set_ylabel(r"absolute eigenvalue $|\lambda|$")
    right.set_ylabel(r"condition number $|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$")
    _name_ends(left)
    _shade_larger(right)
    network_legend(figure, table["network"].unique(), markers=False)
    return figure


def _name_ends(axes: Axes) -> None:
    """Name the eigenvalues at the last points of the first network's curves."""
    for line, name in zip(axes.get_lines(), (r"$|\lambda|_{\max}$", r"$|\lambda|_{(0.1)}$"), strict=False):
        if len(line.get_xdata()):
            x, y = line.get_xydata()[-1]
            axes.annotate(name, (x, y), xytext=(0, 9), textcoords="offset points", color=line.get_color())


def _shade_larger(axes: Axes) -> None:
    """Shade the losses at which the first network's mean is above another's."""
    own, *others = (line.get_xydata() for line in axes.get_lines())
    larger = np.zeros(len(own), dtype=bool)
    for other in others:
        larger |= own[:, 1] > interpolate(own[:, 0], *other.T)
    if larger.any():
        axes.fill_between(own[:, 0], 0, 1, where=larger, transform=axes.get_xaxis_transform(), color="0.88",
                          linewidth=0, zorder=0)  # fmt: skip
        name, place = axes.get_lines()[0].get_label(), (own[larger, 0].min(), 0.03)
        axes.annotate(f"{name} larger", place, xycoords=axes.get_xaxis_transform(), xytext=(-3, 0),
                      textcoords="offset points", ha="right", fontsize=7)  # fmt: skip
