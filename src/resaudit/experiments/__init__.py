"""Experiments, one per module: a figure's settings, the jobs that follow from them, and their results."""
