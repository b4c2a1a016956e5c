"""The kinds of job, one per module: settings, inputs, cost, and ``run``, a thin layer over the numerics."""
