"""Experiments: what a figure's evidence is of, one a module: its settings, the jobs that follow, and their results."""
