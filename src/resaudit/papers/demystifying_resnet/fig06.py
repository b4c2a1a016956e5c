"""Figure 6: share of negative eigenvalues against loss; and with the gradient along one run."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.experiments.results import TrainingResults
from resaudit.papers.by_loss import interpolate_by_loss, loss_axis
from resaudit.papers.demystifying_resnet.tables import spectra_along_training
from resaudit.papers.style import label, look, panels


def table(results: TrainingResults) -> pd.DataFrame:
    """The columns of :func:`~resaudit.papers.demystifying_resnet.tables.spectra_along_training`."""
    return spectra_along_training(results)


def plot(table: pd.DataFrame) -> Figure:
    """Left: mean and standard deviation of the index over runs. Right: index and lg(gradient) in one run."""
    figure, (left, right) = panels(2)
    table = table[table["shown"]]
    for network, rows in table.groupby("network", sort=False):
        losses, values = interpolate_by_loss(rows, "index")
        if not len(losses):
            continue
        style = look(str(network))
        centre, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        left.plot(losses, centre, color=style["color"], label=style["label"])
        left.fill_between(losses, centre - spread, centre + spread, color=style["color"], alpha=0.2, linewidth=0)
    loss_axis(left)
    left.set_ylabel("index")
    left.set_title("share of negative eigenvalues")
    left.legend()
    shown = next((n for n in table["network"] if n.endswith("-shortcut")), table["network"].iloc[0])
    one = table[(table["network"] == shown) & (table["run"] == 0)]
    right.plot(one["epoch"], one["index"], color="#000000", marker=".", label="index")
    right.set_xscale("symlog", linthresh=1)
    right.set_xlabel("epoch")
    right.set_ylabel("index")
    gradient = right.twinx()
    gradient.plot(one["epoch"], np.log10(one["gradient_norm"]), "--", color="#D55E00", label="lg(gradient)")
    gradient.set_ylabel(r"lg $\Vert$gradient$\Vert$", color="#D55E00")
    gradient.grid(False)
    lines = [*right.get_lines(), *gradient.get_lines()]
    right.legend(lines, [str(line.get_label()) for line in lines], loc="upper right")
    right.set_title(f"{label(shown)}, one run")
    return figure
