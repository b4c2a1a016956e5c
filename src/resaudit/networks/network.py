"""What a network is: its shortcut depth, depth, width and activation positions."""

import re
from dataclasses import dataclass

_SHORTCUT_NAME = re.compile(r"([1-9][0-9]*)-shortcut")
PLAIN_NAMES = ("orthogonal", "xavier")
NAMES_ALLOWED = "'N-shortcut' with N >= 1, 'orthogonal' or 'xavier'"


@dataclass(frozen=True)
class Network:
    """A chain of square layers without biases (Demystifying ResNet, Definitions 1 and 2).

    An n-shortcut network is a chain of units x -> W^n ... W^1 x + x; a plain one (``shortcut_depth`` 0) is
    the chain W^L ... W^1 x. ``depth`` counts weight matrices, so it must be a multiple of n.

    Raises:
        ValueError: the depth is not a positive multiple of the shortcut depth, or a number is out of range.
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
    def is_linear(self) -> bool:
        """Whether every activation is the identity."""
        return (self.pre, self.mid, self.post) == ("identity",) * 3

    @property
    def parameters(self) -> int:
        """How many numbers its weights are."""
        return self.depth * self.width**2


def shortcut_depth_of(name: str) -> int:
    """Shortcut depth of a network by the name it has in figures; 0 for the plain ones.

    >>> shortcut_depth_of("2-shortcut"), shortcut_depth_of("xavier")
    (2, 0)

    Raises:
        ValueError: the name is none of those allowed.
    """
    match = _SHORTCUT_NAME.fullmatch(name)
    if match:
        return int(match[1])
    if name in PLAIN_NAMES:
        return 0
    raise ValueError(f"unknown network {name!r}; allowed: {NAMES_ALLOWED}")
