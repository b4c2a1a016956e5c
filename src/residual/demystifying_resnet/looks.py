"""How the networks of Demystifying ResNet look in its figures."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from residual.demystifying_resnet.networks.network import base_name

# Okabe and Ito's palette. Its lightness is much the same throughout: line styles and markers tell networks apart in
# grey.
_LOOKS: dict[str, tuple[str, str, Any]] = {
    "2-shortcut": ("#0072B2", "o", "-"),
    "orthogonal": ("#009E73", "s", (0, (4, 1.5))),
    "xavier": ("#D55E00", "^", (0, (4, 1.2, 1, 1.2))),
    "1-shortcut": ("#CC79A7", "D", (0, (1, 1))),
    "3-shortcut": ("#E69F00", "v", (0, (6, 1, 1, 1, 1, 1))),
}
_SPARE = [("#56B4E9", "P", (0, (2, 1))), ("#000000", "X", (0, (8, 2))), ("#7F7F7F", "*", (0, (1, 2)))]
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
    looks = look if markers else line_look
    handles = [Line2D([], [], **looks(network)) for network in networks]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.4)
