"""What follows from other columns of a table is computed again, by the functions that its figure's module names."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from resaudit.figures.drawing import figure_module
from resaudit.plan.figure import Figure

CLOSE = 1e-9
"""Relative difference that rounding may make, also on another machine."""


def contradictions(table: pd.DataFrame, figure: Figure) -> Iterator[str]:
    """In words, columns that do not follow from the others as ``DERIVED`` of the figure's module has them.

    It names functions of a table by column; they return the column again, NaN in rows that they say nothing of.
    """
    functions = getattr(figure_module(figure.name), "DERIVED", {})
    for name in [name for name in functions if name in table]:
        again, column = functions[name](table), table[name]
        same = column == again
        if is_numeric_dtype(column) and is_numeric_dtype(again):
            same |= np.isclose(column.astype(float), again.astype(float), rtol=CLOSE, atol=0)
        if (wrong := again.notna() & ~same).any():
            first = int(np.flatnonzero(wrong)[0])
            yield (
                f"{name} does not follow from the other columns in {wrong.sum()} rows; in line {first + 2} it is "
                f"{column.iloc[first]}, allowed: {again.iloc[first]}"
            )
