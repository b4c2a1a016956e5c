"""The population loss with full vectors (Proposition 16), its critical points, and gradient descent on it.

The student is sum_j a_j relu(Z_j.v) with a unit filter v, the teacher the same with a*, v*, and Z_j ~ N(0, I_p) for
j = 1..k. The formulas are those of Du et al. 2017, Theorem 3.1. :mod:`residual.shortcut_importance.reduced.reduced`
computes the same in three numbers.
"""

from collections.abc import Iterator

import numpy as np


def angle_between(v: np.ndarray, teacher: np.ndarray) -> float:
    """The angle between unit vectors, exact near 0 and pi, where an arc cosine is not."""
    return float(2 * np.arctan2(np.linalg.norm(v - teacher), np.linalg.norm(v + teacher)))


def kernel(angle: np.ndarray) -> np.ndarray:
    """g(phi) = (pi - phi) cos phi + sin phi; (g - 1)/(2 pi) is the covariance of relu(Z.v) and relu(Z.v*).

    >>> float(kernel(np.pi / 2)), float(kernel(0.0)) == np.pi
    (1.0, True)
    """
    return np.asarray((np.pi - angle) * np.cos(angle) + np.sin(angle))


def population_loss(apart: np.ndarray, sums_apart: np.ndarray, projection: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """L = E[(student - teacher)^2]/2 from what it depends on, without cancellation near the global optimum.

    Args:
        apart: ||a - a*||^2.
        sums_apart: 1.(a - a*).
        projection: a.a*.
        angle: between v and v*.
    """
    # pi - g, whose terms cancel for small angles.
    lost = 2 * np.pi * np.sin(angle / 2) ** 2 + angle * np.cos(angle) - np.sin(angle)
    return np.asarray(((np.pi - 1) * apart + 2 * lost * projection + sums_apart**2) / (4 * np.pi))


def loss(v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray) -> float:
    """The population loss at a unit filter v, shape (p,), and output weights a, shape (k,)."""
    apart = a - a_star
    return float(population_loss(apart @ apart, apart.sum(), a @ a_star, np.asarray(angle_between(v, v_star))))


def gradients(v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients with respect to v (that of the normalized network, orthogonal to v) and a; shapes (p,) and (k,)."""
    angle = angle_between(v, v_star)
    by_filter = -(a @ a_star) * (np.pi - angle) / (2 * np.pi) * (v_star - (v @ v_star) * v)
    differences = (a.sum() - a_star.sum()) + (np.pi - 1) * a - (kernel(np.asarray(angle)) - 1) * a_star
    return by_filter, differences / (2 * np.pi)


def spurious_output(a_star: np.ndarray) -> np.ndarray:
    """The output weights of the spurious optimum, (11' + (pi - 1) I)^-1 (11' - I) a*; its filter is -v*."""
    k = len(a_star)
    ones = np.ones((k, k))
    return np.asarray(np.linalg.solve(ones + (np.pi - 1) * np.eye(k), (ones - np.eye(k)) @ a_star))


def descend(
    v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray, steps: Iterator[tuple[float, float]]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gradient descent with normalization (eq. 8): v and a after each step.

    Args:
        v: unit filter at the start.
        a: output weights at the start.
        v_star: the teacher's filter.
        a_star: the teacher's output weights.
        steps: step sizes of a and v.
    """
    for step, step_filter in steps:
        by_filter, by_output = gradients(v, a, v_star, a_star)
        v = v - step_filter * by_filter
        v, a = v / np.linalg.norm(v), a - step * by_output
        yield v, a
