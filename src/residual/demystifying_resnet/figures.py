"""What the figures of Demystifying ResNet share: rows of their tables, and how networks look."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, Panel, Stage, legend_above
from residual.demystifying_resnet.networks.network import base_name
from residual.demystifying_resnet.networks.trajectory import Trajectory

Derived = dict[str, Callable[[pd.DataFrame], Any]]
"""By column a function of the others (:func:`resaudit.figures.expected.unexpected`)."""


def long_table(keys: Iterable[tuple[str, int]], rows_of: Callable[[tuple[str, int]], pd.DataFrame]) -> pd.DataFrame:
    """One table of all networks and depths, these two in front."""
    parts = []
    for network, depth in keys:
        part = rows_of((network, depth))
        part.insert(0, "network", network)
        part.insert(1, "depth", depth)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def rows_of_stage(
    stage: str, first: int, trajectory: Trajectory, epochs: Mapping[float, Iterable[int]], **values: np.ndarray
) -> pd.DataFrame:
    """The runs of each learning rate, from number ``first`` on, at the epochs given for it.

    Columns: stage, learning_rate, run, epoch and those of ``values``, each of shape (epochs, runs) as a trajectory's.
    """
    parts = []
    for rate, of_rate in epochs.items():
        runs = np.flatnonzero(trajectory.learning_rate == rate)  # in the order of their seeds
        run, epoch = (grid.ravel() for grid in np.meshgrid(np.arange(len(runs)), [*of_rate], indexing="ij"))
        columns = {Stage.COLUMN: stage, "learning_rate": rate, "run": first + run, "epoch": epoch}
        parts.append(pd.DataFrame(columns | {name: value[epoch, runs[run]] for name, value in values.items()}))
    return pd.concat(parts)


def above_optimum(column: str) -> Derived:
    """A loss, which is the optimal one and the excess, with the optimal loss, one for all."""
    return {
        column: lambda table: table["optimal_loss"] + table["excess_loss"],
        "optimal_loss": lambda table: table["optimal_loss"].mask(
            table["optimal_loss"].notna(), table["optimal_loss"].median()
        ),
    }


SPECTRAL: Derived = {
    "condition_number": lambda table: table["lambda_max"] / table["lambda_p10"],
    "resolved": lambda table: table["lambda_p10"] > table["noise_floor"],
}
"""Columns of spectra that follow from others."""


_LOOKS: dict[str, tuple[str, str, Any]] = {
    "2-shortcut": (Look.BLUE, "o", "-"),
    "orthogonal": (Look.GREEN, "s", Look.DASHED),
    "xavier": (Look.RED, "^", Look.DASH_DOTTED),
    "1-shortcut": (Look.PINK, "D", Look.DOTTED),
    "3-shortcut": (Look.ORANGE, "v", (0, (6, 1, 1, 1, 1, 1))),
}
_SPARE = [(Look.SKY, "P", (0, (2, 1))), (Look.BLACK, "X", (0, (8, 2))), (Look.GREY, "*", (0, (1, 2)))]
_LABELS = {"orthogonal": "Orthogonal", "xavier": "Xavier"}


def look(network: str) -> dict[str, Any]:
    """Colour, marker, line style and legend label of a network, the same in every figure."""
    spare = _SPARE[sum(network.encode()) % len(_SPARE)]
    colour, marker, line = _LOOKS.get(base_name(network), spare)
    return {"color": colour, "marker": marker, "linestyle": line, "label": label(network)}


def line_look(network: str) -> dict[str, Any]:
    """:func:`look` without the marker, for curves of many points."""
    return look(network) | {"marker": ""}


def label(network: str) -> str:
    """A network's name as in the paper's legends."""
    base = base_name(network)
    activations = network.removeprefix(base).replace("relu", "ReLU")
    return _LABELS.get(base, base.replace("-shortcut", "-Shortcut")) + activations


def network_legend(figure: Figure, networks: Iterable[str], markers: bool = True) -> None:
    """One legend of all panels, above them."""
    legend_above(figure, [(look if markers else line_look)(network) for network in networks], columnspacing=1.4)


def mark_judged(axes: Panel, shares: Iterable[float], last: int) -> None:
    """Dotted lines at the epochs after which claims compare, given as shares of the last one."""
    for share in shares:
        axes.mark(x=max(1, round(share * last)), zorder=0)
