"""One module a figure: ``table(evidence)`` makes the tidy table, ``plot(table)`` draws it. Imports no torch."""
