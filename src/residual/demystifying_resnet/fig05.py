"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.paper import above_optimum, annotate, interpolate, loss_axis, panels, plot_against_loss, whole_runs
from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.looks import line_look, network_legend
from residual.demystifying_resnet.tables import ALONG_TRAINING, spectra_along_training

DERIVED = ALONG_TRAINING


def table(results: TrainingResults) -> pd.DataFrame:
    """The columns of :func:`~residual.demystifying_resnet.tables.spectra_along_training`."""
    return spectra_along_training(results)


def plot(table: pd.DataFrame) -> Figure:
    """a: eigenvalues, b: condition number; mean and standard deviation of the logarithm over runs, against the loss.

    Of the runs with the whole training. Unresolved percentiles are replaced by their noise floor, but those of a run on
    its way to infinity.
    """
    figure, (left, right) = panels("ab", 2.8)
    table = whole_runs(table[table["shown"]])
    for network, rows in table.groupby("network", sort=False):
        style, resolved = line_look(str(network)), rows[rows["resolved"]]
        plot_against_loss(left, rows, "lambda_max", style, logs=True)
        plot_against_loss(left, resolved, "lambda_p10", style, logs=True)
        plot_against_loss(right, resolved, "condition_number", style, logs=True)
        stays = ~rows["run"].isin(rows.loc[np.isinf(rows["loss"]), "run"])
        unknown = above_optimum(rows[~rows["resolved"] & stays & np.isfinite(rows["noise_floor"])])
        left.scatter(unknown["loss"], unknown["noise_floor"], marker="_", color=style["color"], alpha=0.4)
    for axes in (left, right):
        axes.set_yscale("log")
        loss_axis(axes)
    left.set_ylabel(r"absolute eigenvalue $|\lambda|$")
    right.set_ylabel(r"condition number $|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$")
    # The eigenvalues' names are at the last points of the first network's curves: above one, below the rising other.
    names = ((r"$|\lambda|_{\max}$", (0, 9)), (r"$|\lambda|_{(0.1)}$", (18, -6)))
    for line, (name, shift) in zip(left.get_lines(), names, strict=False):
        x, y = _points(line)
        if len(x):
            annotate(left, name, (x[-1], y[-1]), shift, fontsize=8)
    _shade_larger(right)
    network_legend(figure, table["network"].unique(), markers=False)
    return figure


def _shade_larger(axes: Axes) -> None:
    """Shade the losses at which the first network's mean is above another's."""
    (losses, first), *others = map(_points, axes.get_lines())
    larger = np.any([first > interpolate(losses, *other) for other in others], axis=0) if others else first < 0
    if larger.any():
        across = axes.get_xaxis_transform()
        axes.fill_between(losses, 0, 1, where=larger, transform=across, color="0.88", linewidth=0, zorder=0)
        name = f"{axes.get_lines()[0].get_label()} larger"
        annotate(axes, name, (losses[larger].min(), 0.03), (-3, 0), xycoords=across, ha="right")


def _points(line: Line2D) -> np.ndarray:
    """Shape (2, points)."""
    return np.asarray(line.get_xydata()).T
