"""One setting of a simulation. Imports nothing heavy, so that the plan can."""

from dataclasses import dataclass
from math import pi, sqrt

WARM_UP, RESNET, CNN = "resnet-warm-up", "resnet", "cnn"
NETWORKS = (WARM_UP, RESNET, CNN)
UNDECIDED, SUCCESS, TRAPPED = 0, 1, 2
"""Outcomes of a run."""


@dataclass(frozen=True)
class Setting:
    """Teacher, step sizes and length of one simulation.

    Attributes:
        patches: k, outputs of the convolution.
        filter_size: p, weights of the filter.
        angle: between the teacher's filter v* and the shortcut 1/sqrt(p), in radians.
        squared_norm: N = ||a*||^2 of the teacher's output weights.
        total: S = 1.a*, their sum.
        step: of gradient descent, eta_a; the filter's too after stage I.
        filter_ratio: step of the filter during stage I, as a share of ``step``.
        stage_one: steps of stage I; 0: none.
        cap: steps after which a run that is neither at one optimum nor sure to reach it is undecided.
    """

    patches: int
    filter_size: int
    angle: float
    squared_norm: float
    total: float
    step: float
    filter_ratio: float
    stage_one: int
    cap: int

    @property
    def across(self) -> float:
        """Length of the part of a* orthogonal to 1."""
        return sqrt(max(self.squared_norm - self.total**2 / self.patches, 0.0))

    @property
    def radius(self) -> float:
        """|S|/sqrt(k), the radius of the ball that the student's output weights start in (section 2)."""
        return abs(self.total) / sqrt(self.patches)


def largest_step(patches: int, squared_norm: float) -> float:
    """The step size up to which 1.a approaches its limit from one side and the global optimum is stable.

    In a step, 1.a's distance to its limit shrinks by 1 - eta (k + pi - 1)/(2 pi), and at the global optimum the angle
    by 1 - eta ||a*||^2/2.
    """
    return min(2 * pi / (patches + pi - 1), 4 / squared_norm)
