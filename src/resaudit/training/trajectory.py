"""What training recorded. Needs NumPy only, so that tables are made without torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trajectory:
    """The record of an ensemble's r runs at every epoch 0 … E; epoch 0 is the initial point.

    A run that diverged is infinite from that epoch on.

    Attributes:
        learning_rate: of each run, shape (r,).
        baseline_loss: what the excess loss is measured from: the optimal loss where it is known; shape ().
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


def best_learning_rate(trajectory: Trajectory) -> float:
    """The learning rate of the least final loss, on average over its runs (Demystifying ResNet, section 5.3.1).

    A rate at which any run diverged has an infinite average. Equal averages, or none finite: the lower rate.
    """
    rates = np.unique(trajectory.learning_rate)
    final = trajectory.excess_loss[-1]
    averages = [final[trajectory.learning_rate == rate].mean() for rate in rates]
    return float(rates[int(np.argmin(averages))])


def chosen_learning_rate(trajectory: Trajectory, choice: str) -> float:
    """The learning rate a network is shown at: its ``best``, or the one tried that is nearest to ``tenth_of_best``.

    Raises:
        ValueError: another choice.
    """
    best = best_learning_rate(trajectory)
    if choice == "best":
        return best
    if choice == "tenth_of_best":
        rates = np.unique(trajectory.learning_rate)
        return float(rates[np.argmin(np.abs(np.log(rates) - np.log(best / 10)))])
    raise ValueError(f"unknown choice of a learning rate {choice!r}; allowed: best, tenth_of_best")
