"""Norms of hidden states of networks at initialisation, all runs at once, without drawing whole matrices.

W has independent entries N(0, variance/m). For an orthonormal basis Q of a space that contains the columns of H, the
entries of W Q are again independent N(0, variance/m), so W H = (W Q) Q'H needs m x n normal numbers instead of m x m.
Given W Q, the rest of W is independent of it: with P an orthonormal basis of a space that contains the columns of V,
W'V = Q (W Q)'V + (I - Q Q') (W'P) P'V, with W'P another m x n normal numbers. Both are exact in law. Where Q is
needed, it is of Householder's QR, orthonormal to rounding also where H has not full rank. Where norms alone are asked
for, Q'H may be any R with R'R = H'H, by which the law of W H depends on H.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from residual.stable_scaling.network.setting import (
    FORWARD,
    INPUTS,
    PLAIN,
    UNITS,
    Network,
    Samples,
    Variances,
    layers_kept,
    streams,
)

CLASSES = 10
Images = tuple[np.ndarray, np.ndarray]
"""Images (samples, height, width) and labels (samples,), unsigned bytes."""
AT_ONCE = 1 << 21
"""Numbers that are drawn before they are used, 16 MB."""
LEAST_PIVOT = 1e-12
"""Of Cholesky's decomposition, relative to a column's squared norm: below it rounding would show in R."""


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


def root_of(columns: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """R (..., k, n) with R'R = H'H of columns H (runs, m, n) and their Gram matrices H'H (runs, n, n).

    Cholesky's, in a quarter of the time of :func:`triangle_of`, which serves the runs whose columns hardly differ.
    """
    if columns.shape[-2] < columns.shape[-1]:
        return triangle_of(columns)
    try:
        root = np.swapaxes(np.linalg.cholesky(gram), -1, -2)
    except np.linalg.LinAlgError:
        if len(columns) == 1:
            return triangle_of(columns)
        return np.concatenate([root_of(columns[[run]], gram[[run]]) for run in range(len(columns))])
    pivots, squared = (np.diagonal(each, axis1=-2, axis2=-1) for each in (root, gram))
    close = (pivots**2 < LEAST_PIVOT * squared).any(axis=-1)
    if close.any():
        root[close] = triangle_of(columns[close])
    return root


def transposed(state: Basis, forward: np.ndarray, gradient: Basis, backward: np.ndarray) -> np.ndarray:
    """W'V of V = P S, given W Q and W'P, all (..., m, k)."""
    rest = backward @ gradient.r
    along = np.swapaxes(forward, -1, -2) @ (gradient.q @ gradient.r) - np.swapaxes(state.q, -1, -2) @ rest
    return np.asarray(state.q @ along + rest)


def inputs_of(samples: Samples, images: Images | None, seed: int, runs: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in columns, shape (runs, dimension, n), and one-hot targets, shape (runs, classes, n); float64.

    Each run has its own. Targets are the images' labels, random for inputs on the sphere.
    """
    typical = 1.0
    if images and samples.norm == "mean":
        # Root mean square of the norms of all images; sums of integers, exact in any order.
        powers = np.arange(256, dtype=np.int64) ** 2
        total = sum(int(np.bincount(image.ravel(), minlength=256) @ powers) for image in images[0])
        typical = float((total / len(images[0])) ** 0.5 / 255)
    inputs, labels = [], []
    for rng in streams(seed, INPUTS, runs):
        if images:
            chosen = rng.choice(len(images[0]), samples.count, replace=False)
            columns = images[0][chosen].reshape(samples.count, -1).T / 255
            inputs.append(columns / (np.linalg.norm(columns, axis=0) if samples.norm == "each" else typical))
            labels.append(images[1][chosen])
        else:
            points = rng.standard_normal((samples.dimension, samples.count))
            inputs.append(points / np.linalg.norm(points, axis=0))
            labels.append(rng.integers(0, CLASSES, samples.count))
    return np.stack(inputs), np.moveaxis(np.eye(CLASSES)[np.stack(labels)], -1, -2)


def variances_of(network: Network) -> Variances:
    """The variances of the entries, times m."""
    return PLAIN if network.tau is None else Variances()


def first_states(network: Network, inputs: np.ndarray, seed: int, runs: Sequence[int]) -> np.ndarray:
    """h_0 of every run, shape (runs, m, n), of inputs (runs, p, n)."""
    variance = variances_of(network).first / network.width
    if network.start == "uniform":
        bound = (3 * variance) ** 0.5
        matrices = (rng.uniform(-bound, bound, (network.width, inputs.shape[1])) for rng in streams(seed, UNITS, runs))
        return np.stack([np.maximum(a @ x, 0.0) for a, x in zip(matrices, inputs, strict=True)])
    r = triangle_of(inputs)
    drawn = DrawnProducts(streams(seed, UNITS, runs), (network.width, r.shape[1]), 1)(0, None)
    state = np.maximum(drawn @ r * variance**0.5, 0.0)
    return np.asarray(state / np.linalg.norm(state, axis=1, keepdims=True)) if network.start == "unit" else state


def states(network: Network, state: np.ndarray, source: Source) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """h_1, ..., h_{L-1}, each (runs, m, n), of h_0, with their Gram matrices (runs, n, n)."""
    scale = (variances_of(network).middle / network.width) ** 0.5
    gram = gram_of(state)
    for layer in range(1, network.depth):
        branch = source(layer, None) @ (root_of(state, gram) * scale)
        if network.tau is not None:
            branch = normalized(branch, state, network.branch)
            branch *= network.tau
            branch += state
        state = np.maximum(branch, 0.0, out=branch)
        gram = gram_of(state)
        yield state, gram


def gram_of(columns: np.ndarray) -> np.ndarray:
    """H'H of columns H (..., m, n)."""
    return np.asarray(np.swapaxes(columns, -1, -2) @ columns)


def normalized(branch: np.ndarray, state: np.ndarray, how: str) -> np.ndarray:
    """The branch W h (runs, m, n), its entries at mean square 1/m unless ``how`` is ``plain``.

    ``batch-norm``: of each unit, mean 0 over the samples (Ioffe & Szegedy 2015, without their epsilon and gain);
    ``layer-norm``: of each sample, mean 0 over the units; ``expected-norm``: divided by ||h||.
    """
    if how == "plain":
        return branch
    if how == "expected-norm":
        return np.asarray(branch / np.linalg.norm(state, axis=1, keepdims=True))
    axis = {"batch-norm": 2, "layer-norm": 1}[how]
    centred = branch - branch.mean(axis=axis, keepdims=True)
    spread = np.sqrt(np.mean(centred**2, axis=axis, keepdims=True) * branch.shape[1])
    return np.asarray(centred / spread)


def propagate(
    networks: Sequence[Network], inputs: np.ndarray, kept: int, seed: int, runs: Sequence[int]
) -> list[np.ndarray]:
    """Norms of networks that differ in tau and depth alone, of inputs (runs, p, n); each run has its own weights.

    Returns:
        For each network the fields of :class:`~residual.stable_scaling.network.setting.Propagated`, in columns: start,
        least and largest, then the squared norms at the kept layers; shape (runs, 3 + layers).
    """
    start = first_states(networks[0], inputs, seed, runs)
    shape = (networks[0].width, min(networks[0].width, inputs.shape[2]))
    deepest = max(network.depth for network in networks)
    drawn = SharedProducts(streams(seed, FORWARD, runs), shape, deepest - 1)
    passes = [_Norms(network, start, kept, drawn) for network in networks]
    # A network's states stay in the cache for a block of layers, whose random numbers all networks use.
    for layers in drawn.blocks():
        for each in passes:
            each.advance(layers)
    return [each.columns() for each in passes]


class _Norms:
    """The norms of one network, as its layers are passed."""

    def __init__(self, network: Network, start: np.ndarray, kept: int, source: Source) -> None:
        self._states = states(network, start, source)
        self._kept = layers_kept(network.depth, kept)
        self._start = squares(start).mean(axis=1)
        self._least, self._largest = np.full(len(start), np.inf), np.zeros(len(start))
        self._norms: list[np.ndarray] = []

    def advance(self, layers: range) -> None:
        """Pass these layers, or as many of them as there are."""
        for layer, (_, gram) in zip(layers, self._states, strict=False):
            squared = np.diagonal(gram, axis1=-2, axis2=-1)
            self._least = np.minimum(self._least, squared.min(axis=1))
            self._largest = np.maximum(self._largest, squared.max(axis=1))
            if layer in self._kept:
                self._norms.append(squared.mean(axis=1))

    def columns(self) -> np.ndarray:
        """Start, least, largest, and the kept norms; shape (runs, 3 + layers)."""
        return np.stack([self._start, np.sqrt(self._least), np.sqrt(self._largest), *self._norms], axis=1)


def squares(states: np.ndarray) -> np.ndarray:
    """Squared norms of columns (runs, m, n), shape (runs, n)."""
    return np.asarray(np.einsum("rmn,rmn->rn", states, states))
