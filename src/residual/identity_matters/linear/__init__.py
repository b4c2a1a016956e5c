"""Linear residual networks of "Identity Matters in Deep Learning": small-norm factors and gradient dominance."""
