"""The audit engine: re-runs papers figure by figure, and judges them claim by claim. It knows no paper."""
