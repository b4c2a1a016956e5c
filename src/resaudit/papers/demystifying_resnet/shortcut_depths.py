"""A figure of our own on the abstract's claims about deeper shortcuts: shortcut depths 2, 3 and 4."""

from resaudit.papers.demystifying_resnet.shortcut1 import plot, table

__all__ = ["plot", "table"]
