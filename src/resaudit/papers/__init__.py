"""One module per figure: ``table(results)`` makes the tidy table, ``plot(table)`` draws it. Imports no torch."""
