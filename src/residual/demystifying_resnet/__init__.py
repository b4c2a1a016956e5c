"""Figures of Li, Jiao, Han, Weissman, "Demystifying ResNet" (1611.01186)."""
