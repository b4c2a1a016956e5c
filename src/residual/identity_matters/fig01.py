"""Figure 1, left: error and loss of Table 1's network on CIFAR-10 against the step."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, legend_above, panels
from residual.identity_matters.table2 import OURS, Published
from residual.images.curves import error_axis, loss_axis

TEST, TRAIN = (
    {"color": Look.BLUE, "label": "test"},
    {"color": Look.RED, "linestyle": Look.DASHED, "label": "training"},
)


def table(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row a run and recorded step, from the first step on.

    Columns: network, depth, learning_rate, run, step, train_loss, test_loss, train_error, test_error, error (as
    reported so far); errors in %.
    """
    losses, errors = ["train_loss", "test_loss"], ["train_error", "test_error", "error"]
    trained = evaluations[evaluations["step"] > 0].reset_index(drop=True)
    return trained[["network", "depth", "learning_rate", "run", "step", *losses, *errors]]


def plot(table: pd.DataFrame, published: Published) -> Figure:
    """With CIFAR-10's published error."""
    return plot_training(table, published["CIFAR-10"][OURS])


def plot_training(table: pd.DataFrame, published: float) -> Figure:
    """a: errors with the test error published in Table 2, in %; b: losses."""
    figure, (errors, losses) = panels("ab", 2.6)
    for axes, what in ((errors, "error"), (losses, "loss")):
        for part, look in (("train", TRAIN), ("test", TEST)):
            axes.plot_mean(table, "step", f"{part}_{what}", **look)
        axes.set(xlabel="step", xlim=(0, int(table["step"].max())))
    errors.axhline(published, color="0.3", linestyle="--", linewidth=0.8)
    errors.note(f"paper {published:g} %", (0.0, published), (3, 2), xycoords=("axes fraction", "data"))
    error_axis(errors, "error, %")
    loss_axis(losses, "loss")
    legend_above(figure, [TEST, TRAIN])
    return figure
