"""Looks of the networks, the same in every figure."""

from typing import Any

from resaudit.paper import Look, Panel

COLOURS = [Look.RED, Look.ORANGE, Look.PINK, Look.BLUE, Look.SKY, Look.GREEN]
_LINES: list[Any] = [Look.DASH_DOTTED, (0, (6, 1, 1, 1, 1, 1)), Look.DOTTED, "-", (0, (2, 1)), Look.DASHED]
_MARKERS = "^vDoPs"
# Powers above and below one half differ in colour family; one half itself is the solid blue line.
_PLACES = {0.25: 0, 0.3: 1, 0.4: 2, 0.5: 3, 0.6: 4, 0.75: 5, 1.0: 5}
_NAMED: dict[str, tuple[str, str, Any, str]] = {
    "plain": (Look.BLACK, "X", (0, (8, 2)), "plain"),
    "batch-norm": (Look.GREY, "X", (0, (8, 2)), "batch norm"),
    "batch-norm-tau": (Look.GREEN, "s", Look.DASHED, r"batch norm and $\tau$"),
}
LAWS = {"mnist": ("o", "MNIST"), "sphere": ("s", "random")}
"""Marker and name of each kind of inputs."""


def depths_axis(axes: Panel, depths: list[int]) -> None:
    """Depth on a logarithmic axis."""
    axes.depth_axis(depths, base=10, label="depth $L$")


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
    if network in _NAMED:
        return dict(zip(("color", "marker", "linestyle", "label"), _NAMED[network], strict=True))
    return power_look(float(network.removeprefix("L^-")))
