"""Measurements of Proposition 16. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Checked:
    """Checks as columns, each of shape (rows,).

    Attributes:
        property: what is checked, in a few words.
        patches: k.
        filter_size: p.
        draw: number of the random draw of teacher and student.
        error: the largest discrepancy, on the scale that the checking function documents.
        tolerance: the bound on it, from double precision or from the Monte Carlo's standard errors.
    """

    property: np.ndarray
    patches: np.ndarray
    filter_size: np.ndarray
    draw: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray


@dataclass(frozen=True)
class Sizes:
    """The sizes and draws of a check.

    Attributes:
        patches: every k, with every p.
        filter_sizes: every p.
        draws: of each size.
        samples: of the inputs, for the Monte Carlo.
        steps: of gradient descent with full vectors.
    """

    patches: tuple[int, ...]
    filter_sizes: tuple[int, ...]
    draws: int
    samples: int
    steps: int
