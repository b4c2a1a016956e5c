"""Figure 8: final loss at the best learning rate, and that rate, against depth; networks with ReLUs at mid."""

import pandas as pd
from matplotlib.figure import Figure

from resaudit.experiments.results import TrainingResults
from resaudit.papers.demystifying_resnet.final_losses import final_losses, plot_by_depth


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, learning_rate, run, final_loss; every rate, inf where a run diverged."""
    return final_losses(results)


def plot(table: pd.DataFrame) -> Figure:
    """Left: log10 of the mean final loss, and its runs' 10th to 90th percentile. Right: the best rates."""
    return plot_by_depth(table, "final_loss", "final loss")
