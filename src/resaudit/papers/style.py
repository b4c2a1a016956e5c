"""One look for every figure: colour-blind-safe, readable in print, the same bytes on every run."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.networks.network import base_name

INCHES_PER_PANEL = (3.6, 2.9)
# Okabe and Ito's palette; lightness and markers differ too.
_LOOKS = {
    "2-shortcut": ("#0072B2", "o"),
    "orthogonal": ("#009E73", "s"),
    "xavier": ("#D55E00", "^"),
    "1-shortcut": ("#CC79A7", "D"),
    "3-shortcut": ("#E69F00", "v"),
}
_SPARE = [("#56B4E9", "P"), ("#000000", "X"), ("#7F7F7F", "*")]
_LABELS = {"orthogonal": "Orthogonal", "xavier": "Xavier"}


def apply_style() -> None:
    """Set matplotlib's defaults."""
    mpl.use("agg")
    sns.set_theme(
        context="paper",
        style="ticks",
        rc={
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlesize": 8,
            "figure.dpi": 150,
            "axes.labelsize": 8,
            "font.family": "DejaVu Sans",
            "font.size": 8,
            "grid.color": "#e4e4e4",
            "grid.linewidth": 0.6,
            "legend.edgecolor": "none",
            "legend.fontsize": 7,
            "legend.framealpha": 0.85,
            "legend.title_fontsize": 7,
            "lines.linewidth": 1.4,
            "lines.markersize": 4.5,
            "pdf.fonttype": 42,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "svg.hashsalt": "resaudit",
        },
    )


def look(network: str) -> dict[str, Any]:
    """Colour, marker and legend label of a network, the same in every figure."""
    spare = _SPARE[sum(network.encode()) % len(_SPARE)]
    colour, marker = _LOOKS.get(base_name(network), spare)
    return {"color": colour, "marker": marker, "label": label(network)}


def label(network: str) -> str:
    """A network's name as in the paper's legends."""
    base = base_name(network)
    activations = network.removeprefix(base).replace("relu", "ReLU")
    return _LABELS.get(base, base.replace("-shortcut", "-Shortcut")) + activations


def panels(count: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side."""
    width, height = INCHES_PER_PANEL
    figure = Figure(figsize=(width * count + 0.4, height), layout="constrained")
    return figure, [figure.add_subplot(1, count, i + 1) for i in range(count)]


def depth_axis(axes: Axes, depths: Sequence[int]) -> None:
    """Depth on a logarithmic axis, with the depths that were run as its ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(depths), [str(d) for d in depths], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_xlabel("depth")


def colours_of(values: Sequence[int]) -> list[Any]:
    """A palette for ordered values, such as depths; the largest is darkest."""
    return [mpl.colormaps["viridis_r"](x) for x in np.linspace(0.12, 0.95, len(values))]
