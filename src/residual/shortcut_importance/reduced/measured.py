"""Measurements of Proposition 16. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import Tolerance, arrays


@dataclass(frozen=True)
class Checked:
    """Checks as columns, each of shape (rows,)."""

    property: arrays.Text  # what is checked, in a few words
    patches: arrays.Int  # k
    filter_size: arrays.Int  # p
    draw: arrays.Int  # number of the random draw of teacher and student
    # The largest discrepancy, on the scale that the checking function documents.
    error: Annotated[arrays.Float, Tolerance.ERROR]
    # The bound on it, from double precision or from the Monte Carlo's errors.
    tolerance: Annotated[arrays.Float, Tolerance.LIMIT]


@dataclass(frozen=True)
class Sizes:
    """The sizes and draws of a check."""

    patches: tuple[int, ...]  # every k, with every p
    filter_sizes: tuple[int, ...]  # every p
    draws: int  # of each size
    samples: int  # of the inputs, for the Monte Carlo
    steps: int  # of gradient descent with full vectors
