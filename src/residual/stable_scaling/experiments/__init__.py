"""The experiments of "Stabilize deep ResNet with a sharp scaling factor τ"."""

from residual.stable_scaling.experiments.images import PostActivationTraining
from residual.stable_scaling.experiments.initialisation import Backward, Forward, ProductNorms
from residual.stable_scaling.experiments.training import ScaledTraining

__all__ = ["Backward", "Forward", "PostActivationTraining", "ProductNorms", "ScaledTraining"]
