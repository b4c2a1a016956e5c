"""Spectral norms of products of layers D_b (I + tau W_b) ... D_a (I + tau W_a), with the patterns D_l of one sample.

The layers between two places are multiplied once, for all pairs around them. A unit that is not active is a row of
zeros, so only the part of I + tau W_l between active units is multiplied.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.linalg import eigh


def largest_norms(start: np.ndarray, matrices: Iterable[np.ndarray], tau: float, places: Sequence[int]) -> np.ndarray:
    """Spectral norms of the products between layers a <= b among ``places``, the largest over samples.

    Args:
        start: h_0 in columns, shape (m, n); each sample has its own activations.
        matrices: W_1, W_2, ..., each of shape (m, m), asked for one by one up to the last place.
        tau: factor of the branches.
        places: layers, ascending; the first is 1.

    Returns:
        Shape (pairs,), in the order of :func:`pairs_of`.
    """
    norms = dict.fromkeys(pairs_of(places), 0.0)
    state, products = start, [PartialProducts() for _ in start.T]
    for layer, matrix in zip(range(1, places[-1] + 1), matrices, strict=False):
        factor = tau * matrix
        factor[np.diag_indices_from(factor)] += 1.0
        state = np.maximum(factor @ state, 0.0)
        for column, product in zip(state.T, products, strict=True):
            product.extend(factor, np.flatnonzero(column), layer in places)
            if layer in places:
                for a, norm in zip(places, product.norms(), strict=False):
                    norms[a, layer] = max(norms[a, layer], norm)
    return np.array(list(norms.values()))


class PartialProducts:
    """The products of one sample from every place so far to the last place, as the layers are passed."""

    def __init__(self) -> None:
        self._from_places: list[np.ndarray] = []
        """Each product up to the last place: its rows of active units, all columns."""
        self._since: np.ndarray | None = None
        """The product of the layers after the last place, between active units."""
        self._active = np.empty(0, dtype=np.intp)

    def extend(self, factor: np.ndarray, active: np.ndarray, place: bool) -> None:
        """Pass a layer D (I + tau W), of the factor I + tau W and D's active units; products start at a place."""
        if self._from_places:
            between = factor[np.ix_(active, self._active)]
            self._since = between if self._since is None else between @ self._since
        if place:
            self._from_places = [self._since @ product for product in self._from_places if self._since is not None]
            self._from_places.append(factor[active])
            self._since = None
        self._active = active

    def norms(self) -> list[float]:
        """Of each product up to the last place, by the place where it starts."""
        return [spectral_norm(product) for product in self._from_places]


def spectral_norm(matrix: np.ndarray) -> float:
    """The largest singular value: squaring loses digits only of small ones, and one eigenvalue costs less than all."""
    if not len(matrix):
        return 0.0
    last = len(matrix) - 1
    (square,) = eigh(matrix @ matrix.T, eigvals_only=True, subset_by_index=(last, last), check_finite=False)
    return float(square**0.5)


def pairs_of(places: Sequence[int]) -> list[tuple[int, int]]:
    """Every a <= b.

    >>> pairs_of([1, 4])
    [(1, 1), (1, 4), (4, 4)]
    """
    return [(a, b) for a in places for b in places if a <= b]
