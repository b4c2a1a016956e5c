"""Least-squares fits."""

import numpy as np
from numpy.typing import ArrayLike


def slope(places: ArrayLike, values: np.ndarray) -> np.ndarray:
    """Slope of the least-squares line of values (..., k) at places (k,), shape (...); NaN where a value is.

    >>> float(slope([1.0, 2.0, 6.0], np.array([3.0, 5.0, 13.0])))
    2.0
    """
    at = np.asarray(places, dtype=float)
    centred = at - at.mean()
    with np.errstate(invalid="ignore"):
        return np.asarray(values @ centred / np.sum(centred**2))
