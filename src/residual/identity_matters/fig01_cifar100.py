"""Figure 1, right: error and loss of Table 1's network on CIFAR-100 against the step."""

import pandas as pd
from matplotlib.figure import Figure

from residual.identity_matters.fig01 import plot_training, table
from residual.identity_matters.table2 import OURS, Published

__all__ = ["plot", "table"]


def plot(table: pd.DataFrame, published: Published) -> Figure:
    """With CIFAR-100's published error."""
    return plot_training(table, published["CIFAR-100"][OURS])
