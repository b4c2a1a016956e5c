"""The experiments of "Demystifying ResNet"."""

from residual.demystifying_resnet.experiments.theorems import SpherePath, Theorem1, Theorem2, ZeroHessians
from residual.demystifying_resnet.experiments.training import (
    BestRateSpectra,
    InitialSpectra,
    PreActivationTraining,
    RateSweep,
)

__all__ = [
    "BestRateSpectra",
    "InitialSpectra",
    "PreActivationTraining",
    "RateSweep",
    "SpherePath",
    "Theorem1",
    "Theorem2",
    "ZeroHessians",
]
