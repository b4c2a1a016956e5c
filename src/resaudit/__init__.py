"""The audit engine: re-runs papers figure by figure, and judges them claim by claim. It knows no paper.

Whatever is given a setting, a file or a table raises a :class:`~resaudit.base.errors.ResauditError` if that is bad, in
one line; docstrings name other exceptions only.

Papers import :mod:`resaudit.paper`. What is here is for notebooks.
"""

from typing import TYPE_CHECKING

from resaudit.base.door import door

if TYPE_CHECKING:
    from resaudit.figures.tables import load as load
    from resaudit.plan.composition import training_set as training_set
else:
    __getattr__ = door(__name__, __file__)
