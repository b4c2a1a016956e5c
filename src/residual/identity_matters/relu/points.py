"""Points on the unit sphere: images and random ones, their least distance, and the first layer A_0."""

import numpy as np
import torch

from residual.identity_matters.relu.measured import GAUSSIAN, ORTHOGONAL

ROWS = 4096
"""Points whose inner products are taken at once."""
# Purposes of random draws, so that each is the same whatever else is drawn.
_SPHERE, _PROJECTION, _SURROGATES, _LABELS = range(4)


def distinct(images: np.ndarray) -> np.ndarray:
    """Indices of the images (n, d), unsigned bytes, whose direction no earlier image has, ascending.

    Two have one direction exactly if they are equal after division by the greatest common divisor of their pixels.
    """
    reduced = np.ascontiguousarray(images // np.gcd.reduce(images, axis=1)[:, None])
    whole = reduced.view(np.dtype((np.void, reduced.shape[1]))).ravel()
    return np.sort(np.unique(whole, return_index=True)[1])


def on_sphere(points: np.ndarray) -> np.ndarray:
    """Rows of shape (n, d) scaled to norm 1, float64."""
    points = np.asarray(points, dtype=float)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def random_points(n: int, d: int, seed: int) -> np.ndarray:
    """Uniformly random points on the unit sphere, shape (n, d); the first ones do not depend on n."""
    return on_sphere(np.random.default_rng([seed, _SPHERE]).standard_normal((n, d)))


def random_labels(n: int, classes: int, seed: int) -> np.ndarray:
    """Uniformly random labels, shape (n,); the first ones do not depend on n."""
    return np.random.default_rng([seed, _LABELS]).integers(classes, size=n)


def surrogates(classes: int, k: int, seed: int) -> np.ndarray:
    """The random unit vectors q_1 ... q_r of section 3, shape (classes, k)."""
    return on_sphere(np.random.default_rng([seed, _SURROGATES, k]).standard_normal((classes, k)))


def project(points: np.ndarray, k: int, law: str, seed: int) -> np.ndarray:
    """A_0 x of every point (n, d), shape (n, k), float64.

    The law of A_0 is ``gaussian``, entries N(0, 1/k) (the paper's "standard normal", scaled so that norms are kept in
    the mean), or ``orthogonal``, k <= d rows of a random orthogonal matrix times sqrt(d/k), which keeps all distances
    at k = d.
    """
    d = points.shape[1]
    rng = np.random.default_rng([seed, _PROJECTION, (ORTHOGONAL, GAUSSIAN).index(law), k])
    if law == GAUSSIAN:
        return np.asarray(points @ (rng.standard_normal((d, k)) / k**0.5))
    return np.asarray(points @ (np.linalg.qr(rng.standard_normal((d, k)))[0] * (d / k) ** 0.5))


def least_distances(points: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """The least squared distance among the first n of points (..., d) of norm 1, for every n >= 2 of ``sizes``.

    Inner products in single precision leave out all but the few rows that could hold the closest pair; those are taken
    again in double precision, where 2 - 2<x, y> is right to 4 (d + 2) eps / 2.
    """
    best = _largest_inner(points)
    slack = 4 * gamma(points.shape[1], torch.float32)
    distances = []
    for n in sizes:
        rows = np.flatnonzero(best[:n] >= best[:n].max() - slack)
        inner = max(float((points[:i] @ points[i]).max()) for i in rows if i)
        distances.append(2 - 2 * inner)
    return np.array(distances)


def _largest_inner(points: np.ndarray) -> np.ndarray:
    """For every point its largest inner product with an earlier one, in single precision; -inf for the first."""
    all_points = torch.from_numpy(points).to(torch.float32)
    largest = np.empty(len(points), dtype=np.float32)
    for first in range(0, len(points), ROWS):
        inner = all_points[first : first + ROWS] @ all_points[: first + ROWS].T
        later = inner[:, first:]
        later.masked_fill_(torch.ones_like(later, dtype=torch.bool).triu(), -torch.inf)
        largest[first : first + ROWS] = inner.amax(dim=1).numpy()
    return largest


def gamma(terms: int, dtype: torch.dtype) -> float:
    """The relative error of a sum of products, in any order: (terms + 2) u / (1 - (terms + 2) u), u = eps / 2.

    Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1; 2 further roundings for the bias.
    """
    rounding = (terms + 2) * torch.finfo(dtype).eps / 2
    return rounding / (1 - rounding)
