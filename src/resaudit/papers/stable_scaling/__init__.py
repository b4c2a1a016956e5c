"""Figures of "Stabilize deep ResNet with a sharp scaling factor tau" (Zhang et al., arXiv 1903.07120)."""
