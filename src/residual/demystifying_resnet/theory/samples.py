"""Samples for theorems: random or real, as they are or on the unit sphere."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from resaudit.base.errors import ResauditError
from resaudit.data.whitening import Whitened

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
    """Whitened images of the first ``width`` classes, in their ``width`` leading components, with one-hot targets.

    Raises:
        ResauditError: a class has fewer samples.
    """
    available = int(np.bincount(whitened.labels, minlength=width)[:width].min())
    if per_class > available:
        raise ResauditError(f"protocol.samples_per_class is {per_class}; a class of the data has only {available}")
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

    Raises:
        ResauditError: no such points were found.
    """
    targets: list[np.ndarray] = []
    for label in range(width):
        around = _noisy(np.eye(width)[label], label_noise, rng) if per_class > 1 else iter([np.eye(width)[label]])
        targets += _spaced(around, per_class, targets, min_distance)
    kept = list(targets)
    for label in range(width):
        kept += _spaced(_candidates(whitened, width, label, rng), per_class, kept, min_distance)
    return Samples(np.stack(kept[len(targets) :], axis=1), np.stack(targets, axis=1))


def least_distance(points: np.ndarray) -> float:
    """d_min of eq. 4: the least distance between two columns."""
    apart = np.linalg.norm(points[:, :, None] - points[:, None, :], axis=0)
    return float(apart[np.triu_indices(points.shape[1], 1)].min())


def _noisy(centre: np.ndarray, noise: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for direction in rng.standard_normal((CANDIDATES, len(centre))):
        yield _unit(centre + noise * _unit(direction))


def _candidates(whitened: Whitened | None, width: int, label: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    if whitened is None:
        yield from map(_unit, rng.standard_normal((CANDIDATES, width)))
    else:
        of_class = rng.permutation(np.flatnonzero(whitened.labels == label))
        yield from map(_unit, whitened.inputs[:width, of_class].T)


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def _spaced(
    candidates: Iterator[np.ndarray], count: int, others: list[np.ndarray], min_distance: float
) -> list[np.ndarray]:
    """The first ``count`` candidates at the minimum distance from all others and from each other."""
    kept: list[np.ndarray] = []
    for candidate in candidates:
        if all(np.linalg.norm(candidate - other) >= min_distance for other in (*others, *kept)):
            kept.append(candidate)
        if len(kept) == count:
            return kept
    raise ResauditError(
        f"no {len(others) + count} points on the sphere in {len(candidate)} dimensions that are {min_distance} apart "
        "were found; allowed: a smaller protocol.min_distance, fewer protocol.samples_per_class, more label_noise"
    )
