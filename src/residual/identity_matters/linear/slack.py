"""How small the largest norm of factors I + A_i of R can be: a bound from below, and the smallest found."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import fractional_matrix_power
from scipy.optimize import minimize

from residual.identity_matters.linear.factorization import Split, factors_of, polar_factors

if TYPE_CHECKING:
    import torch

SHARPNESS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Of the smooth maximum, over the start's largest norm; each search starts where the last ended."""
ANGLE_STARTS = 8
REAL_ROOT = 1e-9
"""A principal root is real unless R has negative eigenvalues."""


def least_norm(target: np.ndarray, depth: int, angle: float) -> float:
    """A bound below which no l factors of R have their largest norm a.

    Singular values multiply: (1 + a)^l >= s_max and (1 - a)^l <= s_min. A factor I + A with |A| = a < 1 turns a vector
    by at most arcsin a, and angles on a sphere add: l arcsin a >= the angle by which R turns any one vector.
    :func:`turned_by` gives such an angle.
    """
    values = np.linalg.svd(target, compute_uv=False)
    by_angle = np.sin(angle / depth) if angle / depth < np.pi / 2 else 1.0
    return float(max(values[0] ** (1 / depth) - 1, 1 - values[-1] ** (1 / depth), by_angle))


def turned_by(target: np.ndarray, seed: int) -> float:
    """The largest angle found between a vector v and R v, in radians: any v gives a valid bound.

    Gustafson's antieigenvalue; minimized from the real eigenvectors of the least eigenvalue and from random vectors.
    """

    def cosine(vector: np.ndarray) -> tuple[float, np.ndarray]:
        image = target @ vector
        length, other = np.linalg.norm(vector), np.linalg.norm(image)
        value = vector @ image / (length * other)
        across = (image + target.T @ vector) / (length * other)
        return float(value), across - value * (vector / length**2 + target.T @ image / other**2)

    rng = np.random.default_rng([seed, len(target)])
    values, vectors = np.linalg.eig(target)
    starts = [*rng.standard_normal((ANGLE_STARTS, len(target))), vectors[:, np.argmin(values.real)].real]
    cosines = [minimize(cosine, start, jac=True, method="L-BFGS-B").fun for start in starts]
    return float(np.arccos(np.clip(min(cosines), -1, 1)))


def search(target: np.ndarray, depth: int, parts: Split, iterations: int) -> np.ndarray:
    """The factors of R of the smallest largest norm found, shape (l, d, d), from the left.

    Searches start from the proof's factors, from ours, and from R^(1/l) if that is real.
    """
    starts = [
        np.concatenate([np.repeat(factor[None], times, axis=0) for factor, times in factors])
        for factors in (factors_of(target, parts), polar_factors(target, depth))
    ]
    root = fractional_matrix_power(target, 1 / depth)
    if np.abs(np.imag(root)).max() <= REAL_ROOT * np.abs(root).max():
        starts.append(np.repeat(np.real(root)[None], depth, axis=0))
    return min([*starts, *(_descended(start, target, iterations) for start in starts)], key=_largest)


def _largest(factors: np.ndarray) -> float:
    return float(np.linalg.norm(factors - np.eye(factors.shape[-1]), 2, axis=(1, 2)).max())


def _descended(start: np.ndarray, target: np.ndarray, iterations: int) -> np.ndarray:
    """L-BFGS on a smooth maximum of all singular values of all A_i, ever sharper, with limited iterations of each.

    All factors but the first are free; the first is R times the inverse of their product.
    """
    import torch

    best, goal, shape = start, torch.from_numpy(target), start[1:].shape

    def completed(free: "torch.Tensor") -> "torch.Tensor":
        product = free[0]
        for factor in free[1:]:
            product = product @ factor
        return torch.cat([torch.linalg.solve(product, goal, left=False)[None], free])

    for sharpness in SHARPNESS:
        scale = sharpness / _largest(start)

        def smooth(flat: np.ndarray, scale: float = scale) -> tuple[float, np.ndarray]:
            free = torch.from_numpy(flat.reshape(shape)).requires_grad_()
            values = torch.linalg.svdvals(completed(free) - torch.eye(shape[-1], dtype=free.dtype))
            maximum = torch.logsumexp(scale * values.flatten(), 0) / scale
            (gradient,) = torch.autograd.grad(maximum, free)
            return maximum.item(), gradient.numpy().ravel()

        options = {"maxiter": iterations, "maxfun": 2 * iterations}
        flat = minimize(smooth, best[1:].ravel(), jac=True, method="L-BFGS-B", options=options).x
        end = completed(torch.from_numpy(flat.reshape(shape))).numpy()
        best = end if np.isfinite(end).all() and _largest(end) < _largest(best) else best
    return best
