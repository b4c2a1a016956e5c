"""Residual networks whose branches are scaled by tau (Zhang et al., arXiv 1903.07120): numerics, arrays in and out."""
