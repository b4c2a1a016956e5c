"""The result of a check's measurement."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

Counted = tuple[int, int]
"""How many of how many runs."""
Effect = tuple[np.ndarray, int]
"""An effect with its replicates, shape (1 + runs,), or exact, shape (1,); and its number of runs."""


@dataclass(frozen=True)
class Point:
    """One effect, at one place.

    Attributes:
        where: such as ``depth 96`` or ``loss 0.5, xavier``.
        effect: in the unit of the check.
        replicates: the effect with each run left out in turn; None if exact.
        runs: number of runs, or of random draws of a construction; of several means, the smallest number.
        others: the same effect at the other tied learning rates.
        counted: for a share of runs its count, for the first share minus the second both; then without replicates.
    """

    where: str
    effect: float
    replicates: np.ndarray | None
    runs: int
    others: tuple["Point", ...] = ()
    counted: tuple[Counted, ...] = ()


@dataclass(frozen=True)
class Measured:
    """The effects of one check.

    Attributes:
        meaning: what the effect is, in words.
        unit: of the effect.
        points: at every place with enough evidence.
        left_out: the other places, with reasons.
        logarithmic: whether effects are positive (ratios, losses); intervals and drawings then use a logarithmic scale.
        arithmetic: whether effects are of arithmetic means, whose intervals cover less than their level if runs are
            skewed. Geometric means and exponents are means of logarithms and do not.
        spread: what the ends of exact effects range over, in words.
    """

    meaning: str
    unit: str
    points: list[Point] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    logarithmic: bool = False
    arithmetic: bool = False
    spread: str = ""

    def add(self, where: str, effect: float, replicates: np.ndarray | None, runs: int) -> None:
        """Add a point; leave it out if it is not a number."""
        if np.isnan(effect):
            self.left_out.append(f"{where}: no finite value to compare")
        else:
            self.points.append(Point(where, float(effect), replicates, runs))

    def add_share(self, where: str, *counted: Counted) -> None:
        """Add a share of runs, or the first share minus the second."""
        shares = [found / runs for found, runs in counted]
        effect = shares[0] - shares[1] if len(shares) > 1 else shares[0]
        self.points.append(Point(where, effect, None, min(runs for _, runs in counted), counted=counted))

    def add_tied(self, where: str, effects: Sequence[Effect]) -> None:
        """Add a point with its effects at every choice of tied rates, those at the rates shown first."""
        points = [Point(where, float(e[0]), e[1:] if len(e) > 1 else None, runs) for e, runs in effects]
        if np.isnan(points[0].effect):
            self.left_out.append(f"{where}: no finite value to compare")
        else:
            self.points.append(replace(points[0], others=tuple(points[1:])))
