"""resaudit re-runs the papers on residual shortcuts, figure by figure and claim by claim."""
