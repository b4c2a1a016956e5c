"""Looks of the networks, the same in every figure."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

COLOURS = ["#D55E00", "#E69F00", "#CC79A7", "#0072B2", "#56B4E9", "#009E73"]
_LINES: list[Any] = [(0, (4, 1.2, 1, 1.2)), (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)), "-", (0, (2, 1)), (0, (4, 1.5))]
_MARKERS = "^vDoPs"
# Powers above and below one half differ in colour family; one half itself is the solid blue line.
_PLACES = {0.25: 0, 0.3: 1, 0.4: 2, 0.5: 3, 0.6: 4, 0.75: 5, 1.0: 5}
PLAIN = {"color": "#000000", "marker": "X", "linestyle": (0, (8, 2)), "label": "plain"}
_NAMED: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "batch-norm": {"color": "#7F7F7F", "marker": "X", "linestyle": (0, (8, 2)), "label": "batch norm"},
    "batch-norm-tau": {
        "color": "#009E73",
        "marker": "s",
        "linestyle": (0, (4, 1.5)),
        "label": r"batch norm and $\tau$",
    },
}
LAWS = {"mnist": ("o", "MNIST"), "sphere": ("s", "random")}
"""Marker and name of each kind of inputs."""


def power_name(power: float) -> str:
    """The name of a network in tables.

    >>> power_name(0.5), power_name(1.0)
    ('L^-0.5', 'L^-1')
    """
    return f"L^-{power:g}"


def power_look(power: float) -> dict[str, Any]:
    """Colour, marker, line style and label of networks with tau = L^-power."""
    place = _PLACES.get(power, 2 if power < 0.5 else 4)
    words = {0.25: r"$\tau=L^{-1/4}$", 0.5: r"$\tau=L^{-1/2}$", 1.0: r"$\tau=L^{-1}$"}
    label = words.get(power, rf"$\tau=L^{{-{power:g}}}$")
    return {"color": COLOURS[place], "marker": _MARKERS[place], "linestyle": _LINES[place], "label": label}


def network_look(network: str) -> dict[str, Any]:
    """The look of a network by its name in tables."""
    return _NAMED.get(network) or power_look(float(network.removeprefix("L^-")))


def depths_axis(axes: Axes, depths: Sequence[int]) -> None:
    """Depth on a logarithmic axis, the depths that were run as its ticks."""
    axes.set_xscale("log")
    axes.set_xticks(list(depths), [str(depth) for depth in depths])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("depth $L$")
