"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.experiments.results import TrainingResults
from resaudit.papers.by_loss import interpolate_by_loss, loss_axis
from resaudit.papers.demystifying_resnet.tables import spectra_along_training
from resaudit.papers.style import look, panels


def table(results: TrainingResults) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.tables.spectra_along_training`."""
    return spectra_along_training(results)


def plot(table: pd.DataFrame) -> Figure:
    """Mean and standard deviation of log10 over runs, each interpolated linearly in the loss.

    Unresolved percentiles are replaced by their noise floor.
    """
    figure, (axes,) = panels(1)
    table = table[table["shown"]]
    for network, rows in table.groupby("network", sort=False):
        style = look(str(network))
        for column, line in (("lambda_max", "-"), ("lambda_p10", "--")):
            usable = rows if column == "lambda_max" else rows[rows["resolved"]]
            losses, values = interpolate_by_loss(usable, column)
            if not len(losses):
                continue
            centre, spread = np.nanmean(np.log10(values), axis=0), np.nanstd(np.log10(values), axis=0)
            axes.plot(losses, 10**centre, line, color=style["color"], label=style["label"] if line == "-" else None)
            axes.fill_between(
                losses, 10 ** (centre - spread), 10 ** (centre + spread), color=style["color"], alpha=0.2, linewidth=0
            )
        unknown = rows[~rows["resolved"] & np.isfinite(rows["noise_floor"])]
        axes.scatter(unknown["loss"], unknown["noise_floor"], marker="_", color=style["color"], alpha=0.4)
    axes.set_yscale("log")
    loss_axis(axes)
    axes.set_ylabel(r"absolute eigenvalue $|\lambda|$")
    handles, labels = axes.get_legend_handles_labels()
    handles += [Line2D([], [], color="0.3", linestyle=line) for line in ("-", "--")]
    labels += ["maximum", "10th percentile"]
    if not table["resolved"].all():
        handles.append(Line2D([], [], color="0.3", linestyle="none", marker="_", alpha=0.5))
        labels.append("noise floor, where\nit hides that")
    axes.legend(handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
