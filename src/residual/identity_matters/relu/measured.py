"""Cases and measurements of Theorem 3.2 and Lemma B.1. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np

GIVEN, RANDOM = "given", "random"
"""Labels: those of the data, and uniformly random ones."""
ORTHOGONAL, GAUSSIAN = "orthogonal", "gaussian"
"""Laws of the projection A_0."""
IMAGES, SPHERE = "images", "sphere"
"""Points: normalized images, and uniformly random ones on the unit sphere of as many dimensions."""
DOUBLE, SINGLE = "double", "single"
"""Floating-point precisions."""
ROWS, NUMBERS = 2048, 2**17
"""Points that pass the layers together: at least so many, and so many coordinates."""


@dataclass(frozen=True)
class Case:
    """One network of Theorem 3.2 for each labelling of the same points.

    Attributes:
        points: ``images`` or ``sphere``.
        samples: n, the first points.
        width: k.
        projection: law of A_0, ``orthogonal`` or ``gaussian``.
        normalized: whether the projected points are scaled to norm 1, as if they were the data.
        share: rho' / rho, with rho the least squared distance of the points; sets the biases.
        labels: ``given``, ``random`` or both.
        precision: ``double`` or ``single``, of weights and points.
    """

    points: str
    samples: int
    width: int
    projection: str
    normalized: bool
    share: float
    labels: tuple[str, ...]
    precision: str


@dataclass(frozen=True)
class Expressed:
    """What networks made of their points; three tables as columns.

    Attributes:
        case: shape (networks,), index of the network's case.
        labels: its labels.
        points_left: n after exact duplicates were left out.
        rho: least squared distance of these points.
        parameters: weights and biases of the network.
        wrong: points whose label is not the only largest output.
        error: largest |output - e_label| of a coordinate.
        tolerance: the bound on it by rounding alone, if the lemma's conditions hold; inf where there is no bound.
        traced_case: shape (networks * layers,).
        traced_labels: of each.
        layer: its number, from 0 (A_0 alone).
        remaining: points farther than ARRIVED from their surrogate label.
        moved_error: largest distance to it among points whose turn has come.
        disturbance: largest distance from A_0 x among the others.
        nested: shape (subsets,), sizes of nested subsets.
        nested_rho: least squared distance in each.
    """

    case: np.ndarray
    labels: np.ndarray
    points_left: np.ndarray
    rho: np.ndarray
    parameters: np.ndarray
    wrong: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray
    traced_case: np.ndarray
    traced_labels: np.ndarray
    layer: np.ndarray
    remaining: np.ndarray
    moved_error: np.ndarray
    disturbance: np.ndarray
    nested: np.ndarray
    nested_rho: np.ndarray


@dataclass(frozen=True)
class LemmaSizes:
    """Sizes of the checks of Lemma B.1.

    Attributes:
        widths: every k.
        margins: every rho'.
        constants: every c of the condition ||a_i - a_j||^2 >= c rho'.
        draws: of each.
        others: points that the block must leave, per moved one.
    """

    widths: tuple[int, ...]
    margins: tuple[float, ...]
    constants: tuple[float, ...]
    draws: int
    others: int


@dataclass(frozen=True)
class LemmaChecked:
    """Checks of Lemma B.1 as columns, each of shape (rows,).

    Attributes:
        property: ``moves k points`` or ``leaves the others``.
        constant: c of the condition on distances.
        width: k.
        margin: rho'.
        draw: number of the draw.
        error: largest distance of a moved point to its target, or of another to where it was.
        tolerance: what rounding allows.
    """

    property: np.ndarray
    constant: np.ndarray
    width: np.ndarray
    margin: np.ndarray
    draw: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray
