"""File formats of a drawn figure. Imports nothing, so that the workflow knows them without pandas."""

FORMATS = ("pdf", "svg", "png")
SUFFIXES = ("csv", *FORMATS, "json")
"""Of all files of a figure: table, drawings, and what they are of."""
