"""Networks: shortcut depth, depth, width and activations by position. Imports nothing heavy."""

import math
import re
from dataclasses import dataclass

PLAIN_PERIOD = 2
"""Period of the activations in a plain network, in layers: as in a 2-shortcut one (Appendix B)."""
NAMES_ALLOWED = (
    "'N-shortcut' with N >= 1 of at most five digits, 'orthogonal' or 'xavier', with ReLUs followed by -relu (at mid), "
    "-relu-pre or -relu-post, likewise by -tanh"
)
_NAME = re.compile(
    r"(?:(?P<n>[1-9][0-9]{0,4})-shortcut|(?P<plain>orthogonal|xavier))"
    r"(?P<activations>(?:-(?:relu|tanh)(?:-(?:pre|post))?)*)"
)
_ACTIVATION = re.compile(r"-(relu|tanh)(?:-(pre|post))?")
_ACTIVATIONS_LAST = re.compile(rf"(?:{_ACTIVATION.pattern})+$")


@dataclass(frozen=True)
class AtZero:
    """An activation's value and slope at zero, which Theorem 2 of Demystifying ResNet needs."""

    value: float
    slope: float


ACTIVATIONS = {
    "identity": AtZero(0.0, 1.0),
    "tanh": AtZero(0.0, 1.0),
    "symmetric_sigmoid": AtZero(0.0, 0.5),
    "softplus": AtZero(math.log(2.0), 0.5),
    "shifted_softplus": AtZero(0.0, 0.5),
}
"""Smooth activations by name. Softplus minus log 2 is a smooth analogue of ReLU that is zero at zero."""


@dataclass(frozen=True)
class Step:
    """A layer's product W x and what surrounds it."""

    before: str  # activation of the layer's input
    after: str  # activation of the product
    enters: bool  # whether a shortcut begins at the layer's input
    leaves: bool  # whether the shortcut is added after the activation


@dataclass(frozen=True)
class Network:
    """A chain of square layers without biases (Demystifying ResNet, Definitions 1 and 2).

    An n-shortcut network is a chain of units x -> s_post(W^n s_mid(... s_mid(W^1 s_pre(x)))) + x; a plain one
    (``shortcut_depth`` 0) is the chain W^L ... W^1 x, with activations where a 2-shortcut network of that depth has
    them (Appendix B). ``depth`` counts weight matrices, so it must be a multiple of n.
    """

    shortcut_depth: int
    depth: int
    width: int
    pre: str = "identity"
    mid: str = "identity"
    post: str = "identity"

    def __post_init__(self) -> None:
        if self.shortcut_depth < 0 or self.depth < 1 or self.width < 1:
            raise ValueError("a network needs shortcut_depth >= 0, depth >= 1 and width >= 1")
        if self.depth % self.unit_depth:
            raise ValueError(f"depth {self.depth} is not a multiple of the shortcut depth {self.shortcut_depth}")
        if not (self.is_linear or self.has_shortcuts) and self.depth % PLAIN_PERIOD:
            raise ValueError(
                f"depth {self.depth} is odd; plain networks have activations where 2-shortcut ones have them"
            )

    @property
    def has_shortcuts(self) -> bool:
        """Whether its units add their input to their output."""
        return self.shortcut_depth > 0

    @property
    def unit_depth(self) -> int:
        """Layers in a unit; a plain network's units are its single layers."""
        return max(self.shortcut_depth, 1)

    @property
    def units(self) -> range:
        """The first layer of every unit."""
        return range(0, self.depth, self.unit_depth)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of all layers, from the input on."""
        length = self.shortcut_depth or PLAIN_PERIOD
        last = [layer % length == length - 1 for layer in range(self.depth)]
        first = [layer % length == 0 for layer in range(self.depth)]
        return tuple(
            Step(
                before=self.pre if first[layer] else "identity",
                after=self.post if last[layer] else self.mid,
                enters=self.has_shortcuts and first[layer],
                leaves=self.has_shortcuts and last[layer],
            )
            for layer in range(self.depth)
        )

    @property
    def is_linear(self) -> bool:
        """Whether every activation is the identity."""
        return (self.pre, self.mid, self.post) == ("identity",) * 3

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return self.depth * self.width**2


def network_named(name: str, depth: int, width: int) -> Network:
    """The network of a figure's legend: ``2-shortcut``, ``xavier-relu`` (at mid), ``3-shortcut-tanh-pre`` and so on.

    >>> network_named("2-shortcut-relu", depth=4, width=10)
    Network(shortcut_depth=2, depth=4, width=10, pre='identity', mid='relu', post='identity')

    Raises:
        ValueError: the name is not allowed, or does not fit the depth.
    """
    match = _parsed(name)
    named = [(position or "mid", activation) for activation, position in _ACTIVATION.findall(match["activations"])]
    activations = dict(named)
    if len(activations) < len(named):
        raise ValueError(f"network {name!r} has two activations at one position; allowed: one at each")
    if match["n"] == "1" and "mid" in activations:
        raise ValueError(f"network {name!r} has units of one layer, so no mid; allowed: -relu-pre, -relu-post")
    return Network(int(match["n"] or 0), depth, width, **activations)


def shortcut_depth_of(name: str) -> int:
    """Shortcut depth of a network by the name it has in figures; 0 for the plain ones.

    >>> shortcut_depth_of("2-shortcut"), shortcut_depth_of("xavier-relu")
    (2, 0)
    """
    return int(_parsed(name)["n"] or 0)


def base_name(name: str) -> str:
    """A network's name without its activations; other names are unchanged.

    >>> base_name("2-shortcut-relu"), base_name("xavier"), base_name("resnet-110")
    ('2-shortcut', 'xavier', 'resnet-110')
    """
    return _ACTIVATIONS_LAST.sub("", name)


def _parsed(name: str) -> re.Match[str]:
    match = _NAME.fullmatch(name)
    if not match:
        raise ValueError(f"unknown network {name!r}; allowed: {NAMES_ALLOWED}")
    return match
