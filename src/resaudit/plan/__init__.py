"""From the configuration to the jobs of every figure. Imports neither torch, pandas nor matplotlib."""
