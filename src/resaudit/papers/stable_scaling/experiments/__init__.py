"""Experiments of "Stabilize deep ResNet with a sharp scaling factor tau"."""

from resaudit.papers.stable_scaling.experiments.images import PostActivationTraining
from resaudit.papers.stable_scaling.experiments.initialisation import Backward, Forward, ProductNorms
from resaudit.papers.stable_scaling.experiments.training import ScaledTraining

__all__ = ["Backward", "Forward", "PostActivationTraining", "ProductNorms", "ScaledTraining"]
