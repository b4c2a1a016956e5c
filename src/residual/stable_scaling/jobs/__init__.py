"""The kinds of jobs of "Stabilize deep ResNet with a sharp scaling factor τ"."""

from residual.images.jobs import TrainImages
from residual.stable_scaling.jobs.backpropagate import Backpropagate
from residual.stable_scaling.jobs.product_norms import ProductNorms
from residual.stable_scaling.jobs.propagate import Propagate
from residual.stable_scaling.jobs.train_scaled import TrainScaled

__all__ = ["Backpropagate", "ProductNorms", "Propagate", "TrainImages", "TrainScaled"]
