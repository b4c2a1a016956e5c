"""What is recorded of trainings on images. Imports only NumPy."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Records:
    """R runs, E evaluations, W weight tensors. A diverged run has losses and norms of inf, and errors of 1.

    Attributes:
        run: number of each run, shape (R,).
        step: steps done at each evaluation, shape (E,); the first evaluation is before the first step.
        epoch: epochs done, float64, shape (E,).
        learning_rate: of the step before, float64, shape (E,); nan at the first.
        train_loss: mean over the augmented images since the last evaluation, float64, shape (R, E); nan at the first.
        train_error: their share of wrong answers, shape (R, E); nan at the first.
        test_loss: mean over all test images, float64, shape (R, E).
        test_error: share of wrong answers, shape (R, E).
        test_error_halves: the same on the first and second half of the test images, shape (R, E, 2).
        norms: Frobenius norm of each weight tensor (matrices and kernels), float64, shape (R, E, W).
        weights: their names in the network, shape (W,).
    """

    run: np.ndarray
    step: np.ndarray
    epoch: np.ndarray
    learning_rate: np.ndarray
    train_loss: np.ndarray
    train_error: np.ndarray
    test_loss: np.ndarray
    test_error: np.ndarray
    test_error_halves: np.ndarray
    norms: np.ndarray
    weights: np.ndarray
