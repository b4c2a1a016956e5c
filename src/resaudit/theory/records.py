"""What the checks of theorems measured. Needs NumPy only, so that tables are made without torch."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measurements:
    """Rows of measurements as columns, each of shape (rows,). What a case has no value for is -1 or empty.

    Attributes:
        property: what is measured, in a few words, with its equation.
        shortcut_depth: n of the network.
        activations: pre/mid/post.
        width: d, inputs and outputs of a layer.
        units: R, residual units.
        samples: m.
        data: ``random``, or the data set's name.
        draw: number of the random draw.
        value: what was measured.
        expected: what the paper's equation gives; NaN where it gives none.
        error: the largest discrepancy, at least 0; its scale is said where it is measured.
        tolerance: the error that double precision allows, derived where it is measured.
    """

    property: np.ndarray
    shortcut_depth: np.ndarray
    activations: np.ndarray
    width: np.ndarray
    units: np.ndarray
    samples: np.ndarray
    data: np.ndarray
    draw: np.ndarray
    value: np.ndarray
    expected: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray


@dataclass(frozen=True)
class Case:
    """What a measurement is of; the fields are those of :class:`Measurements`."""

    shortcut_depth: int
    activations: str
    width: int
    units: int
    samples: int
    data: str
    draw: int


@dataclass(frozen=True)
class Finding:
    """One measured property of a case; the fields are those of :class:`Measurements`."""

    property: str
    value: float
    expected: float
    error: float
    tolerance: float


def as_columns(rows: list[tuple[Case, Finding]]) -> Measurements:
    """Rows put into columns."""

    def column(name: str) -> np.ndarray:
        values: list[Any] = [getattr(c if hasattr(c, name) else f, name) for c, f in rows]
        return np.array(values)

    return Measurements(**{f.name: column(f.name) for f in fields(Measurements)})


@dataclass(frozen=True)
class SpherePath:
    """The way of one column of X to its label on the unit sphere in three dimensions (Figure 10).

    Attributes:
        path: points of the way, shape (steps + 1, 3).
        direct: the great-circle arc that it leaves where an obstacle is near, shape (steps + 1, 3).
        obstacles: the other columns, shape (others, 3).
        rho: the minimum distance of Assumption 2, shape ().
    """

    path: np.ndarray
    direct: np.ndarray
    obstacles: np.ndarray
    rho: np.ndarray


@dataclass(frozen=True)
class ZeroHessians:
    """Hessians at zero, entry by entry (Figure 11); entries that rounding cannot tell from zero are left out.

    Attributes:
        shortcut_depth: n, shape (entries,).
        units: R, shape (entries,).
        width: d, shape (entries,).
        row: position in the order of Definition 5, from 0, shape (entries,).
        column: likewise.
        value: shape (entries,).
    """

    shortcut_depth: np.ndarray
    units: np.ndarray
    width: np.ndarray
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray


Record = Measurements | SpherePath | ZeroHessians
RECORDS: dict[str, Any] = {
    "theorem_1": Measurements,
    "theorem_2": Measurements,
    "sphere_path": SpherePath,
    "zero_hessians": ZeroHessians,
}
"""What each kind of check records."""
