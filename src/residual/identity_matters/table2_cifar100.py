"""Table 2, CIFAR-100: test error of Table 1's network beside the published ones."""

import pandas as pd
from matplotlib.figure import Figure

from residual.identity_matters.table2 import Published, beside_the_paper, plot_printed, table

__all__ = ["beside_the_paper", "plot", "table"]


def plot(table: pd.DataFrame, published: Published) -> Figure:
    """CIFAR-100's column."""
    return plot_printed(table, published, "CIFAR-100")
