"""Claims: checks (pure functions of tables), verdicts, the audit, robustness under variants. Imports no torch."""
