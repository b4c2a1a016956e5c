"""Figure 5: largest and 10th percentile of the absolute eigenvalues against loss."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.papers.demystifying_resnet.by_loss import interpolate_by_loss, loss_axis
from resaudit.papers.demystifying_resnet.tables import spectra_along_training
from resaudit.papers.evidence import Evidence
from resaudit.papers.style import look, panels


def table(evidence: Evidence) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.tables.spectra_along_training`."""
    return spectra_along_training(evidence)


def plot(table: pd.DataFrame) -> Figure:
    """Per run linear interpolation in loss, then mean and standard deviation of log10 over runs."""
    figure, (axes,) = panels(1)
    for network, rows in table.groupby("network", sort=False):
        style = look(str(network))
        for column, line in (("lambda_max", "-"), ("lambda_p10", "--")):
            usable = rows if column == "lambda_max" else rows[rows["resolved"]]
            losses, values = interpolate_by_loss(usable, column)
            centre, spread = np.log10(values).mean(axis=0), np.log10(values).std(axis=0)
            axes.plot(losses, 10**centre, line, color=style["color"], label=style["label"] if line == "-" else None)
            axes.fill_between(
                losses, 10 ** (centre - spread), 10 ** (centre + spread), color=style["color"], alpha=0.2, linewidth=0
            )
    axes.set_yscale("log")
    loss_axis(axes, table)
    axes.set_ylabel(r"$|\lambda|$")
    handles, labels = axes.get_legend_handles_labels()
    handles += [Line2D([], [], color="0.3", linestyle=line) for line in ("-", "--")]
    axes.legend(handles, [*labels, "maximum", "10th percentile"], fontsize=7)
    return figure
