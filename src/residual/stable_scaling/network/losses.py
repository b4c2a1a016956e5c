"""The record of a training. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Losses:
    """The record of r runs.

    Attributes:
        learning_rate: of each run, in units of d/m with d outputs and width m, shape (r,).
        run: number of its random draws; runs of one number share weights and batches, shape (r,).
        loss: of the batch of each step, before the step; infinite once a run has diverged; shape (steps, r).
    """

    learning_rate: np.ndarray
    run: np.ndarray
    loss: np.ndarray
