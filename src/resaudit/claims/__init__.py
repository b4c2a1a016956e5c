"""Claims: checks (pure functions of tables), intervals, verdicts, robustness. Imports no torch."""
