"""Sizes and draws at which theorems are checked, and the measurements; plan and tables read them without torch."""

from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from resaudit.paper import Float, Int, Shape, Text, Tolerance

Place = Annotated[Float, Tolerance(absolute=1e-9)]
Case = dict[str, Any]
"""What a measurement is of: the fields of :class:`Measurements` from shortcut_depth to draw."""


@dataclass(frozen=True)
class Cases:
    """Sizes and draws; unused fields stay empty."""

    seed: int  # draw i draws from (seed, i)
    draws: int  # random draws of each size
    shortcut_depths: tuple[int, ...] = ()  # n of the networks
    activations: tuple[tuple[str, str, str], ...] = ()  # (pre, mid, post) of the networks
    widths: tuple[int, ...] = ()  # d
    units: tuple[int, ...] = ()  # R, residual units
    depths: tuple[int, ...] = ()  # numbers of weight matrices at which condition numbers are taken
    steps: tuple[int, ...] = ()  # units for each column of X
    samples_per_class: tuple[int, ...] = ()  # samples of each of the d classes
    min_distance: float = 0.0  # between any two points on the sphere
    label_noise: float = 0.0  # length of the noise that makes equal labels distinct


@dataclass(frozen=True)
class Measurements:
    """Measurements as columns, each of shape (rows,). Missing values are -1 or empty."""

    property: Text  # the measured quantity, in a few words, with its equation
    shortcut_depth: Int  # n of the network
    activations: Text  # pre/mid/post
    width: Int  # d, inputs and outputs of a layer
    units: Int  # R, residual units
    samples: Int  # m
    data: Text  # random, or the data set's name
    draw: Int  # number of the random draw
    value: Annotated[Float, Tolerance(relative=1e-6, absolute=1e-9, differing=0.1, rounding="tolerance")]  # measured
    expected: Annotated[Float, Tolerance.CLOSE]  # by the paper's equation; NaN without one
    # The largest discrepancy, at least 0; the measuring function documents its scale.
    error: Annotated[Float, Tolerance.ERROR]
    tolerance: Annotated[Float, Tolerance.LIMIT]  # of double precision, derived in the measuring function


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
    merged = [case | vars(finding) for case, finding in rows]
    return Measurements(**{f.name: np.array([row[f.name] for row in merged]) for f in fields(Measurements)})


@dataclass(frozen=True)
class SpherePath:
    """The path of one column of X to its label on the unit sphere in three dimensions (Figure 10)."""

    path: Annotated[Place, Shape("points", 3)]
    direct: Annotated[Place, Shape("points", 3)]  # the great-circle arc without detours
    obstacles: Annotated[Place, Shape("obstacles", 3)]  # the other columns
    rho: Annotated[Place, Shape()]  # the minimum distance of Assumption 2


@dataclass(frozen=True)
class ZeroHessians:
    """Hessians at zero, entry by entry (Figure 11); entries within rounding of zero are left out."""

    shortcut_depth: Int  # n
    units: Int  # R
    width: Int  # d
    row: Int  # position in the order of Definition 5, from 0
    column: Int  # likewise
    value: Annotated[Float, Tolerance(relative=1e-6, absolute=1e-9, differing=0.1)]


Record = Measurements | SpherePath | ZeroHessians
RECORDS: dict[str, Any] = {
    "theorem_1": Measurements,
    "theorem_2": Measurements,
    "sphere_path": SpherePath,
    "zero_hessians": ZeroHessians,
}
"""The record of each theorem."""
