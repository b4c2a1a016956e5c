"""The plan: the jobs of every figure, and their files."""
