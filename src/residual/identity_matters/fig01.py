"""Figure 1, left: error and loss of Table 1's network on CIFAR-10 against the step."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.figures.style import annotate, panels
from residual.identity_matters.table2 import OURS, PUBLISHED
from residual.images.curves import error_axis, loss_axis, plot_mean

TEST, TRAIN = (
    {"color": "#0072B2", "label": "test"},
    {"color": "#D55E00", "linestyle": (0, (4, 1.5)), "label": "training"},
)


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run and recorded step, from the first step on.

    Columns: network, depth, learning_rate, run, step, train_loss, test_loss, train_error, test_error, error (as
    reported so far); errors in %.
    """
    losses, errors = ["train_loss", "test_loss"], ["train_error", "test_error", "error"]
    trained = evaluations[evaluations["step"] > 0].reset_index(drop=True)
    return trained[["network", "depth", "learning_rate", "run", "step", *losses, *errors]]


def plot(table: pd.DataFrame) -> Figure:
    """With CIFAR-10's published error."""
    return plot_training(table, PUBLISHED["CIFAR-10"][OURS])


def plot_training(table: pd.DataFrame, published: float) -> Figure:
    """a: errors with the published test error; b: losses.

    Args:
        table: as above.
        published: test error of Table 2 in %.
    """
    figure, (errors, losses) = panels("ab", 2.6)
    for axes, what in ((errors, "error"), (losses, "loss")):
        for part, look in (("train", TRAIN), ("test", TEST)):
            plot_mean(axes, table, "step", f"{part}_{what}", **look)
        axes.set_xlabel("step")
        axes.set_xlim(0, int(table["step"].max()))
    errors.axhline(published, color="0.3", linestyle="--", linewidth=0.8)
    annotate(errors, f"paper {published:g} %", (0.0, published), (3, 2), xycoords=("axes fraction", "data"))
    error_axis(errors, "error, %")
    loss_axis(losses, "loss")
    handles = [Line2D([], [], **look) for look in (TEST, TRAIN)]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure
