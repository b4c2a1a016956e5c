"""The kinds of job, one a module: settings, inputs, cost, and the work itself, thin over the pure numerics."""
