"""Second moments of a data set, which determine a linear network's loss."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from resaudit.jobs.fields import Float, Shape
from resaudit.jobs.tolerance import CLOSE


@dataclass(frozen=True)
class Moments:
    """Moments of inputs x and targets y over m samples, each (1/m) times a sum."""

    xx: Annotated[Float, Shape("components", "components"), CLOSE]  # sum x x^T
    yx: Annotated[Float, Shape("components", "components"), CLOSE]  # sum y x^T
    trace_yy: Annotated[Float, Shape(), CLOSE]  # sum |y|^2

    @cached_property
    def optimal_map(self) -> np.ndarray:
        """The least-squares map P* = S_YX S_XX^-1, shape (d, d)."""
        return np.linalg.solve(self.xx, self.yx.T).T

    @cached_property
    def optimal_loss(self) -> float:
        """The least loss of any linear network: (tr S_YY - tr S_YX S_XX^-1 S_XY) / 2."""
        return 0.5 * float(self.trace_yy - np.sum(self.optimal_map * self.yx))


def moments_of(inputs: np.ndarray, targets: np.ndarray) -> Moments:
    """Moments of samples in columns: ``inputs`` (d, m) and ``targets`` (d, m)."""
    count = inputs.shape[1]
    return Moments(
        xx=inputs @ inputs.T / count,
        yx=targets @ inputs.T / count,
        trace_yy=np.sum(targets**2) / count,
    )
