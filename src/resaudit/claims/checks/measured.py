"""What a check measures."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

Effect = tuple[np.ndarray, int]
"""An effect with its replicates, shape (1 + runs,), or exact, shape (1,); and how many runs it is from."""


@dataclass(frozen=True)
class Point:
    """One effect, at one place.

    Attributes:
        where: as ``depth 96`` or ``loss 0.5, xavier``.
        effect: in the unit of the check.
        replicates: the effect with each run that counts left out in turn; None where it is exact.
        runs: how many runs, or random draws of a construction, it is from; of the mean in it that is over the fewest.
        others: the same effect at the other learning rates that are tied for the best.
    """

    where: str
    effect: float
    replicates: np.ndarray | None
    runs: int
    others: tuple["Point", ...] = ()


@dataclass(frozen=True)
class Measured:
    """The effects of one check.

    Attributes:
        meaning: what the effect is, in words.
        unit: of the effect.
        points: at every place where there is enough evidence.
        left_out: places without, and why.
        logarithmic: whether effects are positive: ratios, or what differs by orders of magnitude. Their intervals are
            made, and they are drawn, on a logarithmic scale.
        arithmetic: whether effects are of arithmetic means, whose intervals cover less than they state if runs are
            skewed. (Those of geometric means and of exponents do not: they are means of logarithms.)
        spread: what exact effects are spread over, in words.
    """

    meaning: str
    unit: str
    points: list[Point] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    logarithmic: bool = False
    arithmetic: bool = False
    spread: str = ""

    def add(self, where: str, effect: float, replicates: np.ndarray | None, runs: int) -> None:
        """Take a point in, or, where it is not a number, leave it out."""
        if np.isnan(effect):
            self.left_out.append(f"{where}: no finite value to compare")
        else:
            self.points.append(Point(where, float(effect), replicates, runs))

    def add_tied(self, where: str, effects: Sequence[Effect]) -> None:
        """Take a point in with the effects at every choice of tied rates, those at the rates shown first."""
        points = [Point(where, float(e[0]), e[1:] if len(e) > 1 else None, runs) for e, runs in effects]
        if np.isnan(points[0].effect):
            self.left_out.append(f"{where}: no finite value to compare")
        else:
            self.points.append(replace(points[0], others=tuple(points[1:])))
