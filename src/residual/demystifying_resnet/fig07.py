"""Figure 7: final loss at the best learning rate, and that rate, against depth; linear networks."""

import pandas as pd
from matplotlib.figure import Figure

from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.final_losses import final_losses, plot_by_depth
from residual.demystifying_resnet.tables import above_optimum

DERIVED = above_optimum("final_loss") | {
    # A run starts from the same weights at every rate.
    "initial_loss": lambda table: table.groupby(["network", "depth", "run"])["initial_loss"].transform("median")
}


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, stage, learning_rate, run, final_loss, optimal_loss, initial_loss, excess_loss.

    Infinite where a run diverged.
    """
    return final_losses(results)


def plot(table: pd.DataFrame) -> Figure:
    """a: mean distance to the optimum, with the runs. b: the best rates."""
    return plot_by_depth(table, "excess_loss", "final loss − optimal loss")
