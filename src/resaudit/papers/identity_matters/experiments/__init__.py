"""Experiments of "Identity Matters in Deep Learning"."""

from resaudit.papers.identity_matters.experiments.images import AllConvolutionalTraining
from resaudit.papers.identity_matters.experiments.linear import Theorem21, Theorem22
from resaudit.papers.identity_matters.experiments.relu import Expressivity, ParameterCounts

__all__ = ["AllConvolutionalTraining", "Expressivity", "ParameterCounts", "Theorem21", "Theorem22"]
