"""Cases and measurements of Theorem 3.2 and Lemma B.1. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import Tolerance, arrays

GIVEN, RANDOM = "given", "random"
"""Labels: those of the data, and uniformly random ones."""
ORTHOGONAL, GAUSSIAN = "orthogonal", "gaussian"
"""Laws of the projection A_0."""
IMAGES, SPHERE = "images", "sphere"
"""Points: normalized images, and uniformly random ones on the unit sphere of as many dimensions."""
DOUBLE, SINGLE = "double", "single"
"""Floating-point precisions."""
ROWS, NUMBERS = 2048, 2**17
"""Least numbers of points, and of their coordinates, that pass the layers together."""
Traced = Annotated[arrays.Float, arrays.Shape("traced"), Tolerance(relative=1e-3, absolute=1e-6, differing=0.1)]
"""A distance after each layer."""


@dataclass(frozen=True)
class Case:
    """One network of Theorem 3.2 for each labelling of the same points."""

    points: str  # images or sphere
    samples: int  # n, the first points
    width: int  # k
    projection: str  # law of A_0, orthogonal or gaussian
    normalized: bool  # the projected points are scaled to norm 1, as if they were the data
    share: float  # rho' / rho, with rho the least squared distance of the points; sets the biases
    labels: tuple[str, ...]  # given, random or both
    precision: str  # double or single, of weights and points


@dataclass(frozen=True)
class Expressed:
    """What networks made of their points; three tables as columns."""

    # A row for each network and labelling.
    case: arrays.Int  # index of the network's case
    labels: arrays.Text  # the labelling
    points_left: arrays.Int  # n without exact duplicates
    rho: Annotated[arrays.Float, Tolerance(relative=1e-6)]  # least squared distance of these points
    parameters: arrays.Int  # weights and biases of the network
    wrong: arrays.Int  # points whose label is not the only largest output
    # Largest |output - e_label| of a coordinate; without a bound, in single precision, the error that the network has.
    error: Annotated[arrays.Float, Tolerance(relative=1e-3, absolute=1e-9, differing=0.1, limit="tolerance")]
    # The bound on it by rounding alone, if the lemma's conditions hold; inf where there is no bound.
    tolerance: Annotated[arrays.Float, Tolerance(relative=1e-3)]
    # A row for each of their layers.
    traced_case: Annotated[arrays.Int, arrays.Shape("traced")]
    traced_labels: Annotated[arrays.Text, arrays.Shape("traced")]
    layer: Annotated[arrays.Int, arrays.Shape("traced")]  # number of the layer, from 0 (A_0 alone)
    remaining: Annotated[arrays.Int, arrays.Shape("traced")]  # points farther than ARRIVED from their surrogate label
    moved_error: Traced  # largest distance to it among points whose turn has come
    disturbance: Traced  # largest distance from A_0 x among the others
    # A row for each nested subset.
    nested: Annotated[arrays.Int, arrays.Shape("subsets")]  # size of the subset
    # Least squared distance in it.
    nested_rho: Annotated[arrays.Float, arrays.Shape("subsets"), Tolerance(relative=1e-6)]


@dataclass(frozen=True)
class LemmaSizes:
    """Sizes of the checks of Lemma B.1."""

    widths: tuple[int, ...]  # every k
    margins: tuple[float, ...]  # every rho'
    constants: tuple[float, ...]  # every c of the condition ||a_i - a_j||^2 >= c rho'
    draws: int  # draws at each size
    others: int  # points that the block must leave, per moved one


@dataclass(frozen=True)
class LemmaChecked:
    """Checks of Lemma B.1 as columns, each of shape (rows,)."""

    property: arrays.Text  # moves k points, or leaves the others
    constant: arrays.Float  # c of the condition on distances
    width: arrays.Int  # k
    margin: arrays.Float  # rho'
    draw: arrays.Int  # number of the draw
    # Largest distance of a moved point to its target, or of another to where it was.
    error: Annotated[arrays.Float, Tolerance.ERROR]
    tolerance: Annotated[arrays.Float, Tolerance.LIMIT]  # what rounding allows
