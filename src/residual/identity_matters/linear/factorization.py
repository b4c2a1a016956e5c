"""Theorem 2.1 of "Identity Matters in Deep Learning": R = (I + A_l) ... (I + A_1) with small factors, by its proof."""

from dataclasses import dataclass
from math import ceil, pi

import numpy as np
from scipy.linalg import schur

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
    stacked = np.stack([factor for factor, _ in factors])
    return float(np.linalg.norm(stacked - np.eye(stacked.shape[-1]), 2, axis=(1, 2)).max())


def product_tolerance(target: np.ndarray, depth: int) -> float:
    """What rounding allows of |product - R|_F.

    A product of two computed d x d matrices is off by at most d eps/2 |A|_F |B|_F <= d^2 eps/2 |A|_2 |B|_2, and the
    factors' spectral norms multiply to s_max(R), since the proof's are orthogonal but for K^(1/p).
    """
    width = len(target)
    return float((PER_FACTOR * depth + ONCE) * width**2 * np.finfo(float).eps * np.linalg.norm(target, 2))
