"""What follows from other columns of a table is computed again, by the functions that its figure's module names."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from resaudit.figures.drawing import figure_module
from resaudit.plan.experiment import in_words
from resaudit.plan.figure import Figure

CLOSE = 3e-7
"""Relative difference that rounding may make, also in single precision, which a variant of the spectra has."""


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
                f"{name} does not follow from the other columns in {wrong.sum()} rows; "
                f"{place_of(table, first, figure)} it is {column.iloc[first]}, allowed: {again.iloc[first]}"
            )


def place_of(table: pd.DataFrame, position: int, figure: Figure) -> str:
    """A row in words: its keys, and its line in the file."""
    keys = tuple((key, table[key].iloc[position]) for key in figure.keys if key in table)
    return f"at {in_words(keys)} (line {position + 2})"
