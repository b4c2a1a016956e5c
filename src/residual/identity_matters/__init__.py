"""Hardt and Ma, "Identity Matters in Deep Learning"."""
