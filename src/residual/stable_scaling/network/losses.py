"""The record of a training. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import Float, Int, Shape, Tolerance


@dataclass(frozen=True)
class Losses:
    """The record of runs: every draw at every rate."""

    learning_rate: Annotated[Float, Shape("trainings")]  # in units of d/m with d outputs and width m
    run: Annotated[Int, Shape("trainings")]  # number of its random draws; runs of one number share weights and batches
    # Of the batch of each step, before the step; infinite once a run has diverged. Measured with other instructions: a
    # fifth of the runs at depth 10, those at large rates, differ by up to 4 %.
    loss: Annotated[Float, Shape("steps", "trainings"), Tolerance(relative=1e-3, differing=0.3, runs=1)]
