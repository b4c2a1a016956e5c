"""Finite-sample expressivity of residual networks with ReLUs: Theorem 3.2 of "Identity Matters in Deep Learning"."""
