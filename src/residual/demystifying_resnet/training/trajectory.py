"""The record of a training. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trajectory:
    """The record of an ensemble's r runs at every epoch 0 … E; epoch 0 is the initial point.

    A diverged run is infinite from that epoch on.

    Attributes:
        learning_rate: of each run, shape (r,).
        baseline_loss: the optimal loss if it is known, else 0, shape ().
        excess_loss: loss minus the baseline, shape (E + 1, r).
        gradient_norm: Euclidean norm of the whole gradient, shape (E + 1, r).
        mean_frobenius_norm: mean over layers of |W|_F, shape (E + 1, r).
        snapshot_epochs: ascending, shape (s,).
        snapshots: weights at these epochs, shape (s, depth, r, width, width).
    """

    learning_rate: np.ndarray
    baseline_loss: np.ndarray
    excess_loss: np.ndarray
    gradient_norm: np.ndarray
    mean_frobenius_norm: np.ndarray
    snapshot_epochs: np.ndarray
    snapshots: np.ndarray

    @property
    def loss(self) -> np.ndarray:
        """Shape (E + 1, r)."""
        return np.asarray(self.baseline_loss + self.excess_loss)
