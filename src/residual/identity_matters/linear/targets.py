"""Linear maps R to be factored or learned, of several kinds, and the paper's augmentation of those with det R < 0."""

import numpy as np

FAMILIES = ("gaussian", "ill-conditioned", "half-turns", "two-reflections", "positive", "negative", "mnist")
"""Kinds of R; all but the last are drawn at random."""
RANK_TOLERANCE = 1e-10
"""Singular values of MNIST's map below this share of the largest are zero; centred data have nine classes' rank."""


def target(family: str, width: int, draw: int, seed: int, condition: float, real: np.ndarray) -> np.ndarray:
    """One R of a family, float64, shape (d, d); draw i depends on (seed, family, width, i) alone.

    ``gaussian`` has det > 0, ``negative`` det < 0; ``half-turns`` rotates every pair of axes of a random basis by pi;
    ``two-reflections`` is the product of two Householder reflections; ``ill-conditioned`` and ``positive`` have
    s_max/s_min = ``condition``; ``mnist`` is ``real``, the least-squares map of the data.
    """
    rng = np.random.default_rng([seed, FAMILIES.index(family), width, draw])
    if family == "mnist":
        return completed(real)
    if family == "half-turns":
        signs = np.where(np.arange(width) < width // 2 * 2, -1.0, 1.0)
        basis = orthogonal(width, rng)
        return np.asarray(basis * signs @ basis.T)
    if family == "two-reflections":
        normals = rng.standard_normal((2, width))
        one, other = (np.eye(width) - 2 * np.outer(normal, normal) / (normal @ normal) for normal in normals)
        return np.asarray(one @ other)
    if family in ("ill-conditioned", "positive"):
        left = orthogonal(width, rng)
        right = left if family == "positive" else orthogonal(width, rng)
        return np.asarray(left * spread(width, condition) @ right.T)
    gaussian = rng.standard_normal((width, width)) / np.sqrt(width)
    gaussian[0] *= np.sign(np.linalg.det(gaussian)) * (-1 if family == "negative" else 1)
    return np.asarray(gaussian)


def spread(width: int, condition: float) -> np.ndarray:
    """Numbers from condition^(-1/2) to condition^(1/2), evenly spaced in the logarithm, shape (d,)."""
    return np.geomspace(condition**-0.5, condition**0.5, width)


def orthogonal(width: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix of determinant 1, shape (d, d)."""
    basis, upper = np.linalg.qr(rng.standard_normal((width, width)))
    basis = basis * np.sign(np.diag(upper))
    basis[:, 0] *= np.sign(np.linalg.det(basis))
    return np.asarray(basis)


def completed(real: np.ndarray) -> np.ndarray:
    """A singular map with its zero singular values replaced by the least other one, so that det > 0; shape (d, d).

    A map of full rank is returned as it is.
    """
    left, values, right = np.linalg.svd(real)
    zero = values < RANK_TOLERANCE * values[0]
    if not zero.any():
        return real
    left[:, -1] *= np.sign(np.linalg.det(left) * np.linalg.det(right))
    return np.asarray(left * np.where(zero, values[~zero].min(), values) @ right)


def augmented(matrix: np.ndarray) -> np.ndarray:
    """R if det R > 0, else diag(R, -1), as the paper's text after Theorem 2.1; shape (d, d) or (d + 1, d + 1)."""
    if np.linalg.det(matrix) > 0:
        return matrix
    width = len(matrix)
    larger = np.zeros((width + 1, width + 1))
    larger[:width, :width], larger[width, width] = matrix, -1.0
    return larger
