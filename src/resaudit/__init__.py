"""The audit engine: re-runs papers figure by figure, and judges them claim by claim. It knows no paper.

For notebooks, ``resaudit.load`` is :func:`resaudit.figures.tables.load`.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """``load``, which takes pandas with it, once it is asked for."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("resaudit.figures.tables").load
