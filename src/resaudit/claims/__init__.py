"""Claims: checks (pure functions of tables), verdicts, the audit, and the same under every variant. Imports no torch."""
