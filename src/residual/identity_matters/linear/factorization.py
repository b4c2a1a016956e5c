"""Theorem 2.1 of "Identity Matters in Deep Learning": R = (I + A_l) ... (I + A_1) with small factors.

By its proof, along our polar path, and by search; and a bound below which no factors have their largest norm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, pi
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import fractional_matrix_power, schur
from scipy.optimize import minimize

from residual.identity_matters.linear.measured import Factored, Factorizations
from residual.identity_matters.linear.targets import augmented, target

if TYPE_CHECKING:
    import torch


Factors = list[tuple[np.ndarray, int]]
"""Factors I + A, from the left, each with its number of repetitions."""
LEAST_DEPTH = 5
"""4q + p = l with whole p and q of at least 1."""
NO_STRETCH = 1e-12
"""R with a smaller gamma is orthogonal to within rounding, and the proof's p is zero."""
PER_FACTOR = 4
"""Roundings in units of d^2 eps that one factor adds to the product: its own product with the others (1/2), the two
products of S W S' (1), S's departure from orthogonality (1), and adding I (less than 1/2); the rest is reserve."""
ONCE = 20
"""Roundings in units of d^2 eps of two real Schur forms and one singular value decomposition, its bases turned."""
SAME = 4
"""Singular values are equal if they are closer than this, in units of d^2 eps times the largest: rounding moves each
by about half of that at most, and those that a target has by construction are not exactly equal."""
SOLVES = 100.0
"""Roundings in units of d^2 eps times the product of the factors' spectral norms and the condition of R: the last
factor of a search comes from solving with the product of the others."""
SHARPNESS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Of the smooth maximum, over the start's largest norm; each search starts where the last ended."""
ANGLE_STARTS = 8
REAL_ROOT = 1e-9
"""A principal root is real unless R has negative eigenvalues."""


@dataclass(frozen=True)
class Split:
    """Whole p and q with 4q + p = l: each of U and V' takes 2q factors, K takes p; none if K = I."""

    p: int
    q: int

    def bound(self, gamma: float) -> float:
        """The proof's bound on every norm, max(pi/q, 3 gamma/p)."""
        return max(pi / self.q, 3 * gamma / self.p if self.p else 0.0)


def gamma_of(target: np.ndarray) -> float:
    """max(|log s_max|, |log s_min|) of R (d, d)."""
    values = np.linalg.svd(target, compute_uv=False)
    return float(np.abs(np.log(values[[0, -1]])).max())


def least_depth(gamma: float) -> int:
    """The least l with l >= 3 gamma for which whole p and q exist.

    >>> least_depth(0.1), least_depth(4.0)
    (5, 12)
    """
    return max(LEAST_DEPTH, ceil(3 * gamma))


def split(depth: int, gamma: float) -> Split:
    """The p and q of the least bound, with p >= gamma if there are any, as |e^x - 1| <= 3|x| needs |x| <= 1.

    The proof's own p = 3 gamma l/(4 pi + 3 gamma) and q = pi l/(4 pi + 3 gamma) are not whole numbers.
    """
    least = 0 if gamma < NO_STRETCH else 1
    splits = [Split(depth - 4 * q, q) for q in range(1, (depth - least) // 4 + 1)]
    return min([s for s in splits if s.p >= gamma or not s.p] or splits, key=lambda s: s.bound(gamma))


def factors_of(target: np.ndarray, parts: Split) -> Factors:
    """The proof's factors I + A of R with det R > 0, from the left.

    R = U K V' with det U = det V = 1. U = S D S' with rotations by angles theta and an even number of -1 on the
    diagonal of D; q factors rotate by theta/q, q factors by pi/q in the planes of two -1. V' likewise; K^(1/p).
    """
    return factors_from(*decomposed(target), parts)


def factors_from(left: np.ndarray, values: np.ndarray, right: np.ndarray, parts: Split) -> Factors:
    """The same from a singular value decomposition U (d, d), K's diagonal (d,) and V' (d, d), which is overwritten."""
    flip = np.sign(np.linalg.det(left))
    left[:, -1] *= flip
    right[-1] *= flip
    turned = []
    for orthogonal in (left, right):
        basis, turns, half = _angles(orthogonal)
        roots = (basis @ rotation(angles / parts.q, len(basis)) @ basis.T for angles in (turns, half))
        turned.append([(root, parts.q) for root in roots])
    stretched = [(np.diag(values ** (1 / parts.p)), parts.p)] if parts.p else []
    return [*turned[0], *stretched, *turned[1]]


def factors_of_positive(target: np.ndarray, depth: int) -> Factors:
    """The proof's special case for a positive semidefinite R: R^(1/l), l times."""
    values, basis = np.linalg.eigh(target)
    return [((basis * values ** (1 / depth)) @ basis.T, depth)]


def polar_factors(target: np.ndarray, depth: int) -> Factors:
    """Ours: with R = Q P, the factors Q^(i/l) P^(1/l) Q^(-(i-1)/l) for i = l, ..., 1, whose product telescopes to Q P.

    Each is Q^(1/l) times a positive matrix, so its norm is at most 2 sin(pi/(2l)) + e^(gamma/l) - 1, about
    (pi + gamma)/l.
    """
    left, values, right = np.linalg.svd(target)
    basis, turns, half = _angles(left @ right)
    root = (right.T * values ** (1 / depth)) @ right
    powers = [basis @ rotation((turns + half) * i / depth, len(basis)) @ basis.T for i in range(depth + 1)]
    return [(powers[i] @ root @ powers[i - 1].T, 1) for i in range(depth, 0, -1)]


def decomposed(target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (d, d), singular values (d,) and V' (d, d), with signs and bases of equal values that rounding does not choose.

    Signs, and bases of equal singular values, are free, and the norms of the factors depend on them. Each basis of rows
    of V' is turned by the Q of its pivoted QR decomposition; of an orthogonal R, U K V' is then R I I.
    """
    left, values, right = np.linalg.svd(target)
    for equal in equal_values(values):
        turn = _to_axes(right[equal])
        left[:, equal], right[equal] = left[:, equal] @ turn, turn.T @ right[equal]
    return left, values, right


def equal_values(values: np.ndarray) -> list[np.ndarray]:
    """Positions of singular values (d,), the largest first, in groups of equal ones.

    >>> equal_values(np.array([2.0, 1.0, 1.0]))
    [array([0]), array([1, 2])]
    """
    gaps = -np.diff(values) > SAME * len(values) ** 2 * np.finfo(values.dtype).eps * values[0]
    return np.split(np.arange(len(values)), np.flatnonzero(gaps) + 1)


def _to_axes(rows: np.ndarray) -> np.ndarray:
    """Q (k, k) of the QR decomposition of rows (k, d) with column pivoting and a positive diagonal of R.

    Of columns that are equally long to 1e-6, the first is next; in LAPACK's, rounding decides.

    >>> np.round(_to_axes(np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])).T, 3) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    turn, rest = np.empty((len(rows), len(rows))), rows
    for column in turn.T:
        lengths = np.linalg.norm(rest, axis=0)
        axis = np.flatnonzero(lengths > (1 - 1e-6) * lengths.max())[0]
        column[:] = rest[:, axis] / lengths[axis]
        rest = rest - np.outer(column, column @ rest)
    return turn


def _angles(orthogonal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An orthogonal basis S (d, d), and angles of rotations in the planes of its columns (0, 1), (2, 3), ...

    Two arrays of d // 2 angles: those of 2 x 2 blocks of the real Schur form, and pi for two -1.
    """
    form, basis = schur(orthogonal, output="real")
    width = len(form)
    starts = [i for i in range(width - 1) if form[i + 1, i] != 0]
    single = [i for i in range(width) if i not in starts and i - 1 not in starts]
    # Two -1 that end up side by side share a plane; the number of -1 is even as the determinant is 1.
    single.sort(key=lambda i: form[i, i] > 0)
    order = [column for i in starts for column in (i, i + 1)] + single
    turns, half = np.zeros(width // 2), np.zeros(width // 2)
    for plane, i in enumerate(starts):
        turns[plane] = np.arctan2(form[i + 1, i] - form[i, i + 1], form[i, i] + form[i + 1, i + 1])
    negative = sum(form[i, i] < 0 for i in single) // 2
    half[len(starts) : len(starts) + negative] = pi
    return basis[:, order], turns, half


def rotation(angles: np.ndarray, width: int) -> np.ndarray:
    """Rotations T(theta) in the planes of axes (0, 1), (2, 3), ...; an odd last axis stays. Shape (width, width).

    >>> rotation(np.array([np.pi / 2]), 3).round(12).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    turned = np.eye(width)
    even = 2 * np.arange(len(angles))
    turned[even, even] = turned[even + 1, even + 1] = np.cos(angles)
    turned[even + 1, even], turned[even, even + 1] = np.sin(angles), -np.sin(angles)
    return turned


def product_of(factors: Factors) -> np.ndarray:
    """The product of I + A_i with A_i as stored, one factor after the other; shape (d, d)."""
    identity = np.eye(len(factors[0][0]))
    product = identity
    for factor, times in factors:
        stored = identity + (factor - identity)
        for _ in range(times):
            product = product @ stored
    return product


def largest_norm(factors: Factors) -> float:
    """Largest |A_i|_2 over the factors I + A_i that occur."""
    return _largest(np.stack([factor for factor, _ in factors]))


def _largest(factors: np.ndarray) -> float:
    return float(np.linalg.norm(factors - np.eye(factors.shape[-1]), 2, axis=(1, 2)).max())


def product_tolerance(target: np.ndarray, depth: int) -> float:
    """What rounding allows of |product - R|_F.

    A product of two computed d x d matrices is off by at most d eps/2 |A|_F |B|_F <= d^2 eps/2 |A|_2 |B|_2, and the
    factors' spectral norms multiply to s_max(R), since the proof's are orthogonal but for K^(1/p).
    """
    width = len(target)
    return float((PER_FACTOR * depth + ONCE) * width**2 * np.finfo(float).eps * np.linalg.norm(target, 2))


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


def factored(family: str, sizes: Factorizations, seed: int, real: np.ndarray) -> Factored:
    """Factor every R of a family by the proof, along the polar path, and by search; ``real`` is the data's map."""
    data = family == "mnist"
    rows: list[tuple[object, ...]] = []
    for width, draw in product((len(real),) if data else sizes.widths, range(1 if data else sizes.draws)):
        goal = augmented(target(family, width, draw, seed, sizes.condition, real))
        gamma, angle = gamma_of(goal), turned_by(goal, seed)
        searched = sizes.searched_depths if draw == 0 and (data or width in sizes.searched_widths) else ()
        least = least_depth(gamma)
        for depth in sorted({least, *(depth for depth in (*sizes.depths, *searched) if depth >= least)}):
            parts = split(depth, gamma)
            positive = family == "positive"
            paper = (3 * gamma if positive else 4 * pi + 3 * gamma) / depth
            bound = least_norm(goal, depth, angle)
            iterations = sizes.iterations if depth in searched else 0
            for method, factors, tolerance in _factorizations(goal, depth, parts, positive, iterations):
                whole = (paper if positive else parts.bound(gamma)) if method == "proof" else np.nan
                error = float(np.linalg.norm(product_of(factors) - goal))
                norm = largest_norm(factors)
                rows.append((method, width, draw, depth, gamma, norm, paper, whole, bound, error, tolerance))
    return Factored(*(np.array(column) for column in zip(*rows, strict=True)))


def _factorizations(
    goal: np.ndarray, depth: int, parts: Split, positive: bool, iterations: int
) -> Iterator[tuple[str, Factors, float]]:
    """Each method with its factors and what rounding allows of their product; a search if there are iterations."""
    tolerance = product_tolerance(goal, depth)
    proof = factors_of_positive(goal, depth) if positive else factors_of(goal, parts)
    yield "proof", proof, tolerance
    yield "polar", polar_factors(goal, depth), tolerance
    if iterations:
        factors = search(goal, depth, parts, iterations)
        norms = np.prod(np.linalg.norm(factors, 2, axis=(1, 2)))
        solving = SOLVES * len(goal) ** 2 * np.finfo(float).eps * norms * np.linalg.cond(goal)
        yield "search", [(factor, 1) for factor in factors], tolerance + float(solving)
