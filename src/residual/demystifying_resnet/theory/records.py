"""Measurements of theorems, each with its arrays as a job states them. Imports only NumPy: tables need no torch."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Measurements:
    """Measurements as columns, each of shape (rows,). Missing values are -1 or empty.

    Attributes:
        property: the measured quantity, in a few words, with its equation.
        shortcut_depth: n of the network.
        activations: pre/mid/post.
        width: d, inputs and outputs of a layer.
        units: R, residual units.
        samples: m.
        data: ``random``, or the data set's name.
        draw: number of the random draw.
        value: measured.
        expected: by the paper's equation; NaN without one.
        error: the largest discrepancy, at least 0; the measuring function documents its scale.
        tolerance: of double precision, derived in the measuring function.
    """

    arrays: ClassVar[str] = (
        "property:U shortcut_depth:i8 activations:U width:i8 units:i8 samples:i8 data:U draw:i8 value expected error "
        "tolerance"
    )

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
    """The case of a measurement; fields as in :class:`Measurements`."""

    shortcut_depth: int
    activations: str
    width: int
    units: int
    samples: int
    data: str
    draw: int


@dataclass(frozen=True)
class Finding:
    """One measured property of a case; fields as in :class:`Measurements`."""

    property: str
    value: float
    expected: float
    error: float
    tolerance: float


def as_columns(rows: list[tuple[Case, Finding]]) -> Measurements:
    """Convert rows to columns."""

    def column(name: str) -> np.ndarray:
        values: list[Any] = [getattr(c if hasattr(c, name) else f, name) for c, f in rows]
        return np.array(values)

    return Measurements(**{f.name: column(f.name) for f in fields(Measurements)})


@dataclass(frozen=True)
class SpherePath:
    """The path of one column of X to its label on the unit sphere in three dimensions (Figure 10).

    Attributes:
        path: points of the path, shape (steps + 1, 3).
        direct: the great-circle arc without detours, shape (steps + 1, 3).
        obstacles: the other columns, shape (others, 3).
        rho: the minimum distance of Assumption 2, shape ().
    """

    arrays: ClassVar[str] = "path[points,3] direct[points,3] obstacles[others,3] rho[]"

    path: np.ndarray
    direct: np.ndarray
    obstacles: np.ndarray
    rho: np.ndarray


@dataclass(frozen=True)
class ZeroHessians:
    """Hessians at zero, entry by entry (Figure 11); entries within rounding of zero are left out.

    Attributes:
        shortcut_depth: n, shape (entries,).
        units: R, shape (entries,).
        width: d, shape (entries,).
        row: position in the order of Definition 5, from 0, shape (entries,).
        column: likewise.
        value: shape (entries,).
    """

    arrays: ClassVar[str] = "shortcut_depth:i8 units:i8 width:i8 row:i8 column:i8 value"

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
"""The record of each theorem."""
