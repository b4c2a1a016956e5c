"""Products with Gaussian matrices that are used once forward and once backward, without the matrices.

W has independent entries N(0, variance/m). For an orthonormal basis Q of a space that contains the columns of H, the
entries of W Q are again independent N(0, variance/m), so W H = (W Q) Q'H needs m x n normal numbers instead of m x m.
Given W Q, the rest of W is independent of it: with P an orthonormal basis of a space that contains the columns of V,
W'V = Q (W Q)'V + (I - Q Q') (W'P) P'V, with W'P another m x n normal numbers. Both are exact in law. Q is of
Householder's QR, orthonormal to rounding also where H has not full rank: no Gram matrix is squared or inverted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

AT_ONCE = 1 << 21
"""Numbers that are drawn before they are used, 16 MB."""


class Basis(NamedTuple):
    """H = Q R: Q (..., m, k) orthonormal, R (..., k, n), k = min(m, n)."""

    q: np.ndarray
    r: np.ndarray


Source = Callable[[int, np.ndarray | None], np.ndarray]
"""Gives W Q (or W'P) times sqrt(m/variance) of a layer and a basis: (..., m, k), entries of variance 1."""


class DrawnProducts:
    """Draws each product, of shape (m, k), when it is asked for; ``products`` says how many are.

    Every run has its own stream, so no number depends on other runs.
    """

    def __init__(self, streams: Sequence[np.random.Generator], shape: tuple[int, int], products: int) -> None:
        self._streams, self._shape = streams, shape
        self.block = min(products, max(1, AT_ONCE // (len(streams) * shape[0] * shape[1])))
        self._waiting: list[np.ndarray] = []

    def __call__(self, layer: int, basis: np.ndarray | None) -> np.ndarray:
        """The next product, whatever the layer and its basis; (runs, m, k)."""
        if not self._waiting:
            drawn = np.stack([rng.standard_normal((self.block, *self._shape)) for rng in self._streams], axis=1)
            self._waiting = list(drawn[::-1])
        return self._waiting.pop()


class SharedProducts:
    """The same products for several networks, which ask for a block of layers each before the next block is drawn."""

    def __init__(self, streams: Sequence[np.random.Generator], shape: tuple[int, int], layers: int) -> None:
        self._products, self._layers = DrawnProducts(streams, shape, layers), layers
        self._first, self._drawn = 1, list[np.ndarray]()

    def blocks(self) -> Iterator[range]:
        """Draw the products of some layers more, from layer 1 on, until all are drawn."""
        size = self._products.block
        for first in range(1, self._layers + 1, size):
            layers = range(first, min(first + size, self._layers + 1))
            self._first, self._drawn = first, [self._products(layer, None) for layer in layers]
            yield layers

    def __call__(self, layer: int, basis: np.ndarray | None) -> np.ndarray:
        """The product of a layer of the block, whatever its basis; (runs, m, k)."""
        return self._drawn[layer - self._first]


def basis_of(columns: np.ndarray) -> Basis:
    """Orthonormal basis of columns (..., m, n)."""
    if columns.shape[-1] == 1:
        norms = np.linalg.norm(columns, axis=-2, keepdims=True)
        unit = np.where(norms > 0, columns, 1.0)
        return Basis(unit / np.linalg.norm(unit, axis=-2, keepdims=True), norms)
    return Basis(*np.linalg.qr(columns))


def triangle_of(columns: np.ndarray) -> np.ndarray:
    """R of :func:`basis_of` alone."""
    if columns.shape[-1] == 1:
        return np.asarray(np.linalg.norm(columns, axis=-2, keepdims=True))
    return np.asarray(np.linalg.qr(columns, mode="r"))


def transposed(state: Basis, forward: np.ndarray, gradient: Basis, backward: np.ndarray) -> np.ndarray:
    """W'V of V = P S, given W Q and W'P, all (..., m, k)."""
    rest = backward @ gradient.r
    along = np.swapaxes(forward, -1, -2) @ (gradient.q @ gradient.r) - np.swapaxes(state.q, -1, -2) @ rest
    return np.asarray(state.q @ along + rest)
