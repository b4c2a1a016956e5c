"""The experiments of "Demystifying ResNet"."""

from residual.demystifying_resnet.experiments.best_rate_spectra import BestRateSpectra
from residual.demystifying_resnet.experiments.images import PreActivationTraining
from residual.demystifying_resnet.experiments.initial_spectra import InitialSpectra
from residual.demystifying_resnet.experiments.rate_sweep import RateSweep
from residual.demystifying_resnet.experiments.theorems import SpherePath, Theorem1, Theorem2, ZeroHessians

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
