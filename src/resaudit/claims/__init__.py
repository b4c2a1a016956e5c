"""Claims: checks (pure functions of tables), verdicts, the audit; the same under every variant. Imports no torch."""
