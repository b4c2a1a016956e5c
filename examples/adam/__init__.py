"""Adam: A Method for Stochastic Optimization."""
