"""Figures, experiments and checks of "Stabilize deep ResNet with a sharp scaling factor tau" (arXiv 1903.07120)."""
