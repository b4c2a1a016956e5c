"""The setting of a simulation, and of many at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import pi
from typing import Any

import numpy as np

WARM_UP, RESNET, CNN = "resnet-warm-up", "resnet", "cnn"
NETWORKS = (WARM_UP, RESNET, CNN)
UNDECIDED, SUCCESS, TRAPPED = 0, 1, 2
"""Outcomes of a run."""


@dataclass(frozen=True)
class Setting:
    """Teacher, step sizes and length of one simulation; or arrays of them, one of each run."""

    patches: int  # k, outputs of the convolution
    filter_size: int  # p, weights of the filter
    angle: float  # between the teacher's filter v* and the shortcut 1/sqrt(p), in radians
    squared_norm: float  # N = ||a*||^2 of the teacher's output weights
    total: float  # S = 1.a*, their sum
    step: float  # of gradient descent, eta_a; the filter's too after stage I
    filter_ratio: float  # step of the filter during stage I, as a share of step
    stage_one: int  # steps of stage I; 0: none
    cap: int  # steps after which a run that is neither at one optimum nor sure to reach it is undecided

    @property
    def across(self) -> Any:
        """Length of the part of a* orthogonal to 1."""
        return np.sqrt(np.maximum(self.squared_norm - self.total**2 / self.patches, 0.0))

    @property
    def radius(self) -> Any:
        """|S|/sqrt(k), the radius of the ball that the student's output weights start in (section 2)."""
        return abs(self.total) / self.patches**0.5

    def step_of_filter(self, done: int) -> Any:
        """The filter's step size after so many steps."""
        return self.step * np.where(done < self.stage_one, self.filter_ratio, 1.0)


def by_run(settings: Sequence[Setting], runs: int) -> Setting:
    """The settings of so many runs of each, one after another, as arrays of shape (settings * runs,)."""
    columns: list[Any] = [np.repeat([getattr(each, f.name) for each in settings], runs) for f in fields(Setting)]
    return Setting(*columns)


def of_runs(setting: Setting, chosen: np.ndarray) -> Setting:
    """The settings of the chosen runs."""
    return Setting(*(getattr(setting, f.name)[chosen] for f in fields(Setting)))


def largest_step(patches: int, squared_norm: float) -> float:
    """The step size up to which 1.a approaches its limit from one side and the global optimum is stable.

    In a step, 1.a's distance to its limit shrinks by 1 - eta (k + pi - 1)/(2 pi), and at the global optimum the angle
    by 1 - eta ||a*||^2/2.
    """
    return min(2 * pi / (patches + pi - 1), 4 / squared_norm)
