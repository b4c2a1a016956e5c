"""The record of a training. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from resaudit.paper import arrays

ByEpoch = Annotated[arrays.Float, arrays.Shape("points", "runs")]


@dataclass(frozen=True)
class Trajectory:
    """The record of an ensemble's runs at every epoch 0 … E; epoch 0 is the initial point.

    A diverged run is infinite from that epoch on.
    """

    learning_rate: Annotated[arrays.Float, arrays.Shape("runs")]
    baseline_loss: Annotated[arrays.Float, arrays.Shape()]  # the optimal loss if it is known, else 0
    excess_loss: ByEpoch  # loss minus the baseline
    gradient_norm: ByEpoch  # Euclidean norm of the whole gradient
    mean_frobenius_norm: ByEpoch  # mean over layers of |W|_F
    snapshot_epochs: Annotated[arrays.Int, arrays.Shape("snapshots")]  # ascending
    # Weights at these epochs.
    snapshots: Annotated[arrays.Float, arrays.Shape("snapshots", "depth", "runs", "width", "width")]

    @property
    def loss(self) -> np.ndarray:
        """Shape (E + 1, r)."""
        return np.asarray(self.baseline_loss + self.excess_loss)
