"""How the networks of Demystifying ResNet look in its figures."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.paper import (
    BLACK,
    BLUE,
    DASH_DOTTED,
    DASHED,
    DOTTED,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    legend_above,
    mark,
)
from residual.demystifying_resnet.networks.network import base_name

_LOOKS: dict[str, tuple[str, str, Any]] = {
    "2-shortcut": (BLUE, "o", "-"),
    "orthogonal": (GREEN, "s", DASHED),
    "xavier": (RED, "^", DASH_DOTTED),
    "1-shortcut": (PINK, "D", DOTTED),
    "3-shortcut": (ORANGE, "v", (0, (6, 1, 1, 1, 1, 1))),
}
_SPARE = [(SKY, "P", (0, (2, 1))), (BLACK, "X", (0, (8, 2))), (GREY, "*", (0, (1, 2)))]
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


def mark_judged(axes: Axes, shares: Iterable[float], last: int) -> None:
    """Dotted lines at the epochs after which claims compare, given as shares of the last one."""
    for share in shares:
        mark(axes, x=max(1, round(share * last)), zorder=0)
