"""Predicting the next Hessian's percentile from the previous ones: a better guess needs fewer counts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from residual.demystifying_resnet.curvature.bracketing import Bounds, Percentile

REMEMBERED = 4
"""The values that the rules need, and one to choose among the rules."""


@dataclass
class Foresight:
    """The recent percentiles of one run.

    Attributes:
        logarithms: of the last percentiles.
        around: bounds of the last percentile, as multiples of it.
    """

    logarithms: list[float] = field(default_factory=list)
    around: Bounds = (1.0, 1.0)

    def remember(self, found: Percentile) -> None:
        """Store a percentile."""
        self.logarithms = [*self.logarithms[1 - REMEMBERED :], math.log(found.value)]
        self.around = found.bounds[0] / found.value, found.bounds[1] / found.value

    def hint(self) -> Bounds | None:
        """Bounds to try first; None without previous values."""
        if not self.logarithms:
            return None
        value = math.exp(foreseen(self.logarithms))
        return value * self.around[0], value * self.around[1]


def foreseen(known: list[float]) -> float:
    """Predict the next value by the rule that would have predicted the last one best.

    At a large learning rate a network oscillates from epoch to epoch, hence the rules with a period of two.

    >>> foreseen([1.0, 2.0, 3.0, 4.0]), foreseen([1.0, 5.0, 1.0, 5.0])
    (5.0, 1.0)
    """
    if len(known) < REMEMBERED:
        return known[-1]
    errors = [abs(value - known[-1]) for value in _by_rule(known[:-1])]
    return list(_by_rule(known))[errors.index(min(errors))]


def _by_rule(known: list[float]) -> Iterator[float]:
    yield known[-1]
    yield known[-2]
    yield 2 * known[-1] - known[-2]
    yield known[-2] + known[-1] - known[-3]
