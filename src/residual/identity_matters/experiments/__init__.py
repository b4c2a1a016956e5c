"""The experiments of "Identity Matters in Deep Learning"."""

from residual.identity_matters.experiments.linear import Theorem21, Theorem22
from residual.identity_matters.experiments.relu import AllConvolutionalTraining, Expressivity, ParameterCounts

__all__ = ["AllConvolutionalTraining", "Expressivity", "ParameterCounts", "Theorem21", "Theorem22"]
