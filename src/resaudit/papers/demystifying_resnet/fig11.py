"""Figure 11: the Hessian at the zero point of a 2-shortcut network, computed; beside it a 1-shortcut network's."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from resaudit.networks.network import shortcut_depth_of
from resaudit.papers.style import label, panels
from resaudit.theory.records import ZeroHessians

LEAST_COLOURED = 1e-3


def table(found: ZeroHessians) -> pd.DataFrame:
    """Columns: network, units, width, row, column, value; entries within rounding of zero are left out.

    Rows and columns count from 0 in the order of Definition 5: by unit, layer, column and row of the weights.
    """
    return pd.DataFrame(
        {
            "network": [f"{n}-shortcut" for n in found.shortcut_depth],
            "units": found.units,
            "width": found.width,
            "row": found.row,
            "column": found.column,
            "value": found.value,
        }
    )


def plot(table: pd.DataFrame) -> Figure:
    """One matrix per network and number of units, with lines between layers and darker lines between units."""
    every = list(dict.fromkeys(zip(table["network"], table["units"], strict=True)))
    figure, all_axes = panels(len(every))
    largest = float(table["value"].abs().max())
    norm = SymLogNorm(LEAST_COLOURED * largest, vmin=-largest, vmax=largest)
    for (network, units), axes in zip(every, all_axes, strict=True):
        rows = table[(table["network"] == network) & (table["units"] == units)]
        image = _plot_matrix(axes, rows, units, shortcut_depth_of(network), norm)
        axes.set_title(f"{label(network)}, {units} units")
    bar = figure.colorbar(image, ax=all_axes, shrink=0.85, pad=0.02)
    bar.set_label("second derivative")
    bar.ax.minorticks_off()
    return figure


def _plot_matrix(axes: Axes, rows: pd.DataFrame, units: int, unit_depth: int, norm: SymLogNorm) -> AxesImage:
    block = int(rows["width"].iloc[0]) ** 2
    layers = units * unit_depth
    matrix = np.zeros((layers * block,) * 2)
    matrix[rows["row"], rows["column"]] = rows["value"]
    image = axes.matshow(np.ma.masked_equal(matrix, 0.0), cmap="RdBu_r", norm=norm, interpolation="nearest")
    for layer in range(1, layers):
        is_unit = layer % unit_depth == 0
        for line in (axes.axhline, axes.axvline):
            line(layer * block - 0.5, color="0.2" if is_unit else "0.75", linewidth=0.9 if is_unit else 0.6)
    middles = (np.arange(layers) + 0.5) * block
    names = [f"$W^{{{layer // unit_depth + 1},{layer % unit_depth + 1}}}$" for layer in range(layers)]
    axes.set_xticks(middles, names)
    axes.set_yticks(middles, names)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(True)
    return image
