"""The audit engine: re-runs papers figure by figure, and judges them claim by claim. It knows no paper.

Whatever is given a setting, a file or a table raises a :class:`~resaudit.base.errors.ResauditError` if that is bad, in
one line; docstrings name other exceptions only.

For notebooks, ``resaudit.load`` is :func:`resaudit.figures.tables.load`, and ``resaudit.training_set`` is
:func:`resaudit.plan.samples.training_set`.
"""

from importlib import import_module
from typing import Any

_HOMES = {"load": "resaudit.figures.tables", "training_set": "resaudit.plan.samples"}


def __getattr__(name: str) -> Any:
    """A function for notebooks, which takes its libraries with it, once it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
