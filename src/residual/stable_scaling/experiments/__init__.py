"""The experiments of "Stabilize deep ResNet with a sharp scaling factor τ"."""

from residual.stable_scaling.experiments.initialisation import Backward, Forward, LayerProducts
from residual.stable_scaling.experiments.training import PostActivationTraining, ScaledTraining

__all__ = ["Backward", "Forward", "LayerProducts", "PostActivationTraining", "ScaledTraining"]
