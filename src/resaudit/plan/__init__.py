"""What will run: the jobs of every figure, and the files that they are written to."""
