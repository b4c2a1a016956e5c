"""Cases of theorems: sizes, draws and samples, and the measurements. Loads no torch, for the plan and for tables."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from resaudit.paper import ConfigError, Tolerance, Whitened, arrays

Place = Annotated[arrays.Float, Tolerance(absolute=1e-9)]
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

    property: arrays.Text  # the measured quantity, in a few words, with its equation
    shortcut_depth: arrays.Int  # n of the network
    activations: arrays.Text  # pre/mid/post
    width: arrays.Int  # d, inputs and outputs of a layer
    units: arrays.Int  # R, residual units
    samples: arrays.Int  # m
    data: arrays.Text  # random, or the data set's name
    draw: arrays.Int  # number of the random draw
    # Measured.
    value: Annotated[arrays.Float, Tolerance(relative=1e-6, absolute=1e-9, differing=0.1, rounding="tolerance")]
    expected: Annotated[arrays.Float, Tolerance.CLOSE]  # by the paper's equation; NaN without one
    # The largest discrepancy, at least 0; the measuring function documents its scale.
    error: Annotated[arrays.Float, Tolerance.ERROR]
    tolerance: Annotated[arrays.Float, Tolerance.LIMIT]  # of double precision, derived in the measuring function


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

    path: Annotated[Place, arrays.Shape("points", 3)]
    direct: Annotated[Place, arrays.Shape("points", 3)]  # the great-circle arc without detours
    obstacles: Annotated[Place, arrays.Shape("obstacles", 3)]  # the other columns
    rho: Annotated[Place, arrays.Shape()]  # the minimum distance of Assumption 2


@dataclass(frozen=True)
class ZeroHessians:
    """Hessians at zero, entry by entry (Figure 11); entries within rounding of zero are left out."""

    shortcut_depth: arrays.Int  # n
    units: arrays.Int  # R
    width: arrays.Int  # d
    row: arrays.Int  # position in the order of Definition 5, from 0
    column: arrays.Int  # likewise
    value: Annotated[arrays.Float, Tolerance(relative=1e-6, absolute=1e-9, differing=0.1)]


Record = Measurements | SpherePath | ZeroHessians
RECORDS: dict[str, Any] = {
    "theorem_1": Measurements,
    "theorem_2": Measurements,
    "sphere_path": SpherePath,
    "zero_hessians": ZeroHessians,
}
"""The record of each theorem."""


CANDIDATES = 20_000
"""Random candidates per label or class before the search gives up."""


@dataclass(frozen=True)
class Samples:
    """Inputs and targets in columns, each float64 of shape (width, samples)."""

    inputs: np.ndarray
    targets: np.ndarray

    @property
    def count(self) -> int:
        """Number of samples, m."""
        return int(self.inputs.shape[1])


def one_hot(width: int, per_class: int) -> np.ndarray:
    """Targets of ``per_class`` samples of each of ``width`` classes, shape (width, width * per_class)."""
    return np.eye(width).repeat(per_class, axis=1)


def random_samples(width: int, per_class: int, rng: np.random.Generator) -> Samples:
    """Gaussian inputs, correlated by a random map so that S_XX is not the identity, with one-hot targets."""
    mixing = rng.standard_normal((width, width)) / width**0.5
    inputs = mixing @ rng.standard_normal((width, width * per_class))
    return Samples(inputs, one_hot(width, per_class))


def real_samples(whitened: Whitened, width: int, per_class: int, rng: np.random.Generator) -> Samples:
    """Whitened images of the first ``width`` classes, in their ``width`` leading components, with one-hot targets."""
    available = int(np.bincount(whitened.labels, minlength=width)[:width].min())
    if per_class > available:
        raise ConfigError(f"protocol.samples_per_class is {per_class}; a class of the data has only {available}")
    chosen = [rng.choice(np.flatnonzero(whitened.labels == label), per_class, replace=False) for label in range(width)]
    return Samples(whitened.inputs[:width, np.concatenate(chosen)], one_hot(width, per_class))


def samples_on_sphere(
    whitened: Whitened | None,
    width: int,
    per_class: int,
    min_distance: float,
    label_noise: float,
    rng: np.random.Generator,
) -> Samples:
    """Unit vectors at a minimum distance from each other, inputs and targets together (Assumptions 1 and 2).

    Inputs are real ones (the first ``width`` classes in their ``width`` leading components, scaled to unit length)
    or, without ``whitened``, random directions. Of one class's inputs in random order, the first ``per_class`` at
    ``min_distance`` or more from all previous points are taken. A single target per class is the one-hot label. Several
    would be the same point, which Assumption 2 excludes; "this assumption can be satisfied by adding a small noise"
    (below eq. 5): each is then e_c + ``label_noise`` * (a random direction), scaled to unit length.
    """
    targets: list[np.ndarray] = []
    for centre in np.eye(width):
        labels = iter([centre])
        if per_class > 1:
            labels = (_unit(centre + label_noise * _unit(v)) for v in rng.standard_normal((CANDIDATES, width)))
        targets += _spaced(labels, per_class, targets, min_distance)
    points = list(targets)
    for label in range(width):
        if whitened is None:
            directions = rng.standard_normal((CANDIDATES, width))
        else:
            directions = whitened.inputs[:width, rng.permutation(np.flatnonzero(whitened.labels == label))].T
        points += _spaced(map(_unit, directions), per_class, points, min_distance)
    return Samples(np.stack(points[len(targets) :], axis=1), np.stack(targets, axis=1))


def least_distance(points: np.ndarray) -> float:
    """d_min of eq. 4: the least distance between two columns."""
    apart = np.linalg.norm(points[:, :, None] - points[:, None, :], axis=0)
    return float(apart[np.triu_indices(points.shape[1], 1)].min())


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def _spaced(
    candidates: Iterable[np.ndarray], count: int, others: list[np.ndarray], min_distance: float
) -> list[np.ndarray]:
    """The first ``count`` candidates at the minimum distance from all others and from each other."""
    spaced: list[np.ndarray] = []
    for candidate in candidates:
        if all(np.linalg.norm(candidate - other) >= min_distance for other in (*others, *spaced)):
            spaced.append(candidate)
        if len(spaced) == count:
            return spaced
    raise ConfigError(
        f"found no {len(others) + count} points on the sphere in {len(candidate)} dimensions that are {min_distance} "
        "apart; choose a smaller protocol.min_distance, fewer protocol.samples_per_class or more label_noise"
    )
