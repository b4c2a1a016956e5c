"""What a check measures."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Point:
    """One effect, at one place.

    Attributes:
        where: as ``depth 96`` or ``loss 0.5, xavier``.
        effect: in the unit of the check.
        replicates: the effect with each run that counts left out in turn; None where it is exact.
        runs: how many runs, or random draws of a construction, it is from; of the mean in it that is over the fewest.
    """

    where: str
    effect: float
    replicates: np.ndarray | None
    runs: int


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
    """

    meaning: str
    unit: str
    points: list[Point] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    logarithmic: bool = False
    arithmetic: bool = False

    def add(self, where: str, effect: float, replicates: np.ndarray | None, runs: int) -> None:
        """Take a point in, or, where it is not a number, leave it out."""
        if np.isnan(effect):
            self.left_out.append(f"{where}: no finite value to compare")
        else:
            self.points.append(Point(where, float(effect), replicates, runs))
