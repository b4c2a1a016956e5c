"""Figure 11: the Hessian at the zero point of a 2-shortcut network, computed; beside it a 1-shortcut network's."""

import numpy as np
import pandas as pd
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure

from resaudit.paper import Panel, panels
from residual.demystifying_resnet.figures import label
from residual.demystifying_resnet.networks.network import shortcut_depth_of
from residual.demystifying_resnet.theory.records import ZeroHessians

CORNER = 3
"""Columns of a weight matrix whose entries of a block are drawn."""


def table(hessians: ZeroHessians) -> pd.DataFrame:
    """Columns: network, units, width, row, column, value; entries within rounding of zero are left out.

    Rows and columns count from 0 in the order of Definition 5: by unit, layer, column and row of the weights.
    """
    return pd.DataFrame(
        {
            "network": [f"{n}-shortcut" for n in hessians.shortcut_depth],
            "units": hessians.units,
            "width": hessians.width,
            "row": hessians.row,
            "column": hessians.column,
            "value": hessians.value,
        }
    )


def plot(table: pd.DataFrame) -> Figure:
    """For each network: the pattern of its Hessian's blocks, one for a pair of layers, and the corner of one block.

    Colours follow the cube root, so that small entries keep their sign.
    """
    every = list(dict.fromkeys(zip(table["network"], table["units"], strict=True)))
    figure, all_axes = panels(2 * len(every), 2.1)
    largest = float(table["value"].abs().max())
    norm = FuncNorm((np.cbrt, lambda scaled: scaled**3), -largest, largest)
    for (network, units), pattern, zoom in zip(every, all_axes[::2], all_axes[1::2], strict=True):
        rows, depth = table[(table["network"] == network) & (table["units"] == units)], shortcut_depth_of(network)
        width, layers = int(rows["width"].iloc[0]), units * depth
        hessian = np.zeros((layers * width**2,) * 2)
        hessian[rows["row"], rows["column"]] = rows["value"]
        # By pairs of layers.
        blocks = hessian.reshape(layers, width**2, layers, width**2).swapaxes(1, 2)
        names = _names(blocks)
        _plot_pattern(pattern, names, depth)
        pattern.set_title(label(network))
        shown = "A" if (names == "A").any() else "B"
        row, column = np.argwhere(names == shown)[0]
        corner = blocks[row, column][: CORNER * width, : CORNER * width]
        image = zoom.imshow(corner, cmap="RdBu_r", norm=norm, interpolation="nearest")
        # A map of two colours has no signs in grey.
        zoom.plot(*np.argwhere(corner < 0).T[::-1], "_", color="black", markersize=2, markeredgewidth=0.4)
        zoom.set_xticks([])
        zoom.set_yticks([])
        zoom.set_title(f"corner of ${shown}$, {len(corner)} × {len(corner)}")
    for axes in all_axes:
        axes.grid(visible=False)
        axes.spines[:].set_visible(True)
    bar = figure.colorbar(image, ax=all_axes, shrink=0.75, pad=0.01, aspect=15)
    bar.set_label("second derivative")
    bar.set_ticks([tick for tick in (-2, -1, -0.1, 0, 0.1, 1, 2) if abs(tick) <= largest])
    bar.ax.minorticks_off()
    return figure


def _names(blocks: np.ndarray) -> np.ndarray:
    """A block's name, shape (layers, layers); empty where all its entries are zero.

    B: equal, to rounding, to the first block on the diagonal; A: to the first one below it; A^T: to its transpose.
    """
    names = np.full(blocks.shape[:2], "", dtype=object)
    below = [blocks[at] for at in zip(*np.tril_indices(len(blocks), -1), strict=True) if blocks[at].any()]
    for row, column in np.argwhere(blocks.any(axis=(2, 3))):
        name, first = ("B", blocks[0, 0]) if row == column else ("A", below[0] if below else blocks[0, 0])
        name, first = ("A^T", first.T) if row < column else (name, first)
        names[row, column] = name if np.allclose(blocks[row, column], first, rtol=0, atol=1e-9) else "?"
    return names


def _plot_pattern(axes: Panel, names: np.ndarray, unit_depth: int) -> None:
    """Named blocks, with lines between layers and darker ones between units."""
    layers = len(names)
    axes.imshow(np.where(names == "", 0.0, np.where(names == "B", 0.3, 0.15)), cmap="Greys", vmin=0, vmax=1)
    for row, column in np.argwhere(names != ""):
        axes.note(f"${names[row, column]}$", (column, row), ha="center", va="center", fontsize=8)
    for layer in range(1, layers):
        is_unit = layer % unit_depth == 0
        for line in (axes.axhline, axes.axvline):
            line(layer - 0.5, color="0.2" if is_unit else "0.75", linewidth=0.8 if is_unit else 0.5)
    middles = np.arange(layers)
    numbers = [f"$W^{{{layer // unit_depth + 1},{layer % unit_depth + 1}}}$" for layer in range(layers)]
    axes.set_xticks(middles, numbers, rotation=90 if layers > 3 else 0)
    axes.set_yticks(middles, numbers)
    axes.tick_params(length=0)
