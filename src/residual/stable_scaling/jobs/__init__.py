"""The kinds of jobs of "Stabilize deep ResNet with a sharp scaling factor τ"."""

from residual.images.jobs import TrainImages
from residual.stable_scaling.jobs.backpropagate import Backpropagate
from residual.stable_scaling.jobs.multiply import Multiply
from residual.stable_scaling.jobs.propagate import Propagate
from residual.stable_scaling.jobs.train_scaled import TrainScaled

__all__ = ["Backpropagate", "Multiply", "Propagate", "TrainImages", "TrainScaled"]
