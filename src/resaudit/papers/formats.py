"""File formats of a drawn figure. Imports nothing, so that the workflow knows them without pandas."""

FORMATS = ("pdf", "svg", "png")
