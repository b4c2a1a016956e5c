"""Experiments of "Identity Matters in Deep Learning"."""

from resaudit.papers.identity_matters.experiments.linear import Theorem21, Theorem22
from resaudit.papers.identity_matters.experiments.relu import Expressivity, ParameterCounts

__all__ = ["Expressivity", "ParameterCounts", "Theorem21", "Theorem22"]
