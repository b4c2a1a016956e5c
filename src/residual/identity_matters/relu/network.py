"""The network of Theorem 3.2 ("Identity Matters in Deep Learning", section 3 and appendix B), its points, and its run.

h_0 = A_0 x, blocks h + V relu(U h + s) of Lemma B.1 that each move k points to their surrogate labels q, and a last
block without identity that maps q_j to e_j. Its weights follow from the points, so none but A_0 is stored. Points lie
on the unit sphere: images, and random ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

import numpy as np
import torch

from residual.identity_matters.relu.measured import GAUSSIAN, NUMBERS, ORTHOGONAL, ROWS

ARRIVED = 0.25
"""A point this near its surrogate label q has arrived: the last block's threshold for it is <q, h> > 1/2."""
LAST_THRESHOLD = 0.5
"""Threshold of the last block: section 3 asks for <q_i, q_j> < 0.5."""
POINTS_AT_ONCE = 4096
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
    for first in range(0, len(points), POINTS_AT_ONCE):
        inner = all_points[first : first + POINTS_AT_ONCE] @ all_points[: first + POINTS_AT_ONCE].T
        later = inner[:, first:]
        later.masked_fill_(torch.ones_like(later, dtype=torch.bool).triu(), -torch.inf)
        largest[first : first + POINTS_AT_ONCE] = inner.amax(dim=1).numpy()
    return largest


def gamma(terms: int, dtype: torch.dtype) -> float:
    """The relative error of a sum of products, in any order: (terms + 2) u / (1 - (terms + 2) u), u = eps / 2.

    Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1; 2 further roundings for the bias.
    """
    rounding = (terms + 2) * torch.finfo(dtype).eps / 2
    return rounding / (1 - rounding)


@dataclass(frozen=True)
class Network:
    """What determines the blocks."""

    moved: torch.Tensor  # h_0 of the points in the order in which they are moved, shape (n, k)
    surrogates: torch.Tensor  # q, shape (r, k), of the same dtype
    threshold: float  # 1 - 2 rho', minus each bias

    @property
    def layers(self) -> int:
        """ceil(n/k)."""
        return ceil(len(self.moved) / self.moved.shape[1])

    def block(self, layer: int) -> torch.Tensor:
        """U of a block, from 1: its at most k points, as rows."""
        k = self.moved.shape[1]
        return self.moved[(layer - 1) * k : layer * k]

    @cached_property
    def reach(self) -> torch.Tensor:
        """The largest <q, u> of each block's units, of every surrogate label, shape (layers, r)."""
        blocks = (self.surrogates @ self.block(layer).T for layer in range(1, self.layers + 1))
        return torch.stack([products.amax(dim=1) for products in blocks])

    @cached_property
    def longest(self) -> float:
        """The largest norm of a unit."""
        return float(self.moved.norm(dim=1).max())

    @cached_property
    def single(self) -> torch.Tensor:
        """The moved points in single precision."""
        return self.moved.float()

    def outgoing(self, layer: int, labels: torch.Tensor) -> torch.Tensor:
        """V of a block, transposed: rows (q - a) / (||a||^2 - threshold)."""
        points, k = self.block(layer), self.moved.shape[1]
        gaps = (points * points).sum(dim=1, keepdim=True) - self.threshold
        return (self.surrogates[labels[(layer - 1) * k : layer * k]] - points) / gaps

    def output(self, hidden: torch.Tensor) -> torch.Tensor:
        """The last block, without identity, shape (points, r)."""
        gaps = (self.surrogates * self.surrogates).sum(dim=1) - LAST_THRESHOLD
        return torch.relu(hidden @ self.surrogates.T - LAST_THRESHOLD) / gaps


@dataclass(frozen=True)
class Passage:
    """A run of one labelling: outputs, shape (n, r), and a number after each layer, shape (layers + 1,)."""

    outputs: torch.Tensor
    remaining: np.ndarray  # points farther than ARRIVED from q
    moved_error: np.ndarray  # largest distance to q among points whose turn has come; 0 before the first layer
    disturbance: np.ndarray  # largest distance from h_0 among the others; 0 after the last layer


def run(network: Network, labellings: Sequence[torch.Tensor]) -> list[Passage]:
    """Pass all points through all layers, for every labelling.

    Where no unit of a block is active, V 0 = 0 needs no product; and until one is, labellings share their points' way.
    Points whose units cannot be active whatever the rounding is (:meth:`Propagation.undecided`) need no product by U
    either. :func:`residual.identity_matters.plain.memorize` computes all. Labels are int64, shape (n,).
    """
    n, classes = len(network.moved), len(network.surrogates)
    traces = [np.zeros((3, network.layers + 1)) for _ in labellings]
    outputs = [torch.empty((n, classes), dtype=network.moved.dtype) for _ in labellings]
    together = max(ROWS, NUMBERS // network.moved.shape[1])
    for first in range(0, n, together):
        rows = slice(first, min(first + together, n))
        ways = [Propagation(network, rows, labels) for labels in labellings]
        for layer in range(network.layers + 1):
            shared = ways[0].activated(layer) if layer and not ways[0].moved else None
            for way, trace in zip(ways, traces, strict=True):
                if layer:
                    way.move(layer, *(shared or way.activated(layer)))
                way.write(trace, layer)
        for way, output in zip(ways, outputs, strict=True):
            output[rows] = network.output(way.hidden)
    return [Passage(out, trace[0].astype(int), *trace[1:]) for out, trace in zip(outputs, traces, strict=True)]


class Propagation:
    """Some points (``rows``) on their way through the blocks for one labelling of all points."""

    def __init__(self, network: Network, rows: slice, labels: torch.Tensor) -> None:
        self.network, self.rows, self.labels = network, rows, labels
        self.start = self.hidden = network.moved[rows]
        self.moved = False  # whether a block has moved a point
        self.length = float(self.start.norm(dim=1).max())
        self.targets = network.surrogates[labels[rows]]
        self.to_target = (self.start - self.targets).norm(dim=1)
        self.to_start = torch.zeros_like(self.to_target)
        self.turns = torch.arange(rows.start, rows.stop) // self.start.shape[1] + 1

    def activated(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices of the points that activate a unit of this block, and the units' values at them."""
        rows = self.undecided(layer)
        before = (self.hidden if len(rows) == len(self.hidden) else self.hidden[rows]) @ self.network.block(layer).T
        above = before.amax(dim=1) > self.network.threshold
        return rows[above], torch.relu(before[above] - self.network.threshold)

    def undecided(self, layer: int) -> torch.Tensor:
        """Indices of the points that may activate a unit of this block.

        A computed product <h, u> is within gamma |h| |u| of the exact one, which is at most <q, u> + |h - q| |u|; the
        factor 6 covers the rounding of the terms themselves. Points that no block has moved yet are near no q: their
        products in single precision, with its larger gamma, decide for double precision.
        """
        network, k = self.network, self.start.shape[1]
        if self.moved:
            error = 6 * gamma(k, self.start.dtype) * (1 + self.to_target)
            most = network.reach[layer - 1][self.labels[self.rows]] + network.longest * (self.to_target + error)
        elif self.start.dtype == torch.float64:
            products = network.single[self.rows] @ network.single[(layer - 1) * k : layer * k].T
            most = products.amax(dim=1) + 6 * gamma(k, torch.float32) * network.longest * self.length
        else:
            return torch.arange(len(self.start))
        return torch.nonzero(~(most <= network.threshold)).ravel()

    def move(self, layer: int, active: torch.Tensor, units: torch.Tensor) -> None:
        """Add V times the units to the points that activate any, and renew their distances."""
        if not len(active):
            return
        if not self.moved:
            self.hidden, self.moved = self.start.clone(), True
        self.hidden[active] += units @ self.network.outgoing(layer, self.labels)
        self.to_target[active] = (self.hidden[active] - self.targets[active]).norm(dim=1)
        self.to_start[active] = (self.hidden[active] - self.start[active]).norm(dim=1)

    def write(self, trace: np.ndarray, layer: int) -> None:
        """Add these points to the rows of a :class:`Passage`."""
        done = int((self.turns <= layer).sum())  # turns are sorted
        trace[0, layer] += int((~(self.to_target <= ARRIVED)).sum())
        for row, distances in ((1, self.to_target[:done]), (2, self.to_start[done:])):
            if len(distances):
                trace[row, layer] = np.fmax(trace[row, layer], float(distances.nan_to_num(inf, inf).max()))


def count_parameters(n: int, inputs: int, k: int, classes: int) -> int:
    """Weights and biases of the network: A_0, ceil(n/k) blocks, and the last block (section 3).

    >>> count_parameters(10, 5, 2, 3)  # 10, then 5 blocks of 4 + 4 + 2, then 6 + 9 + 3
    78
    """
    return k * inputs + ceil(n / k) * (2 * k * k + k) + k * classes + classes**2 + classes


def moved_bound(network: Network) -> float:
    """The largest distance of a moved point to q that rounding explains; inf where it explains any.

    The unit's activation and the gap that V divides by are both ||a||^2 - threshold, each with an error of at most
    gamma ||a||^2 + 2 u <= 2 gamma N, N = max(1, ||a||^2); so their ratio is within 4 gamma N / (gap - 2 gamma N) of 1.
    """
    k, dtype = network.moved.shape[1], network.moved.dtype
    squares = (network.moved.double() ** 2).sum(dim=1)
    largest = max(1.0, float(squares.max()))
    error = 2 * gamma(k, dtype) * largest
    gap = float(squares.min()) - network.threshold
    if gap <= error:
        return inf
    way = 1 + largest**0.5
    return float(way * (2 * error / (gap - error) + 8 * torch.finfo(dtype).eps))


def output_bound(network: Network) -> float:
    """The largest |output - e_label| that rounding explains, likewise: a moved point's error, then the last block's."""
    k, dtype = network.moved.shape[1], network.moved.dtype
    moved, error = moved_bound(network), 2 * gamma(k, dtype)
    return (moved + 2 * error) / (1 - LAST_THRESHOLD - error) + 8 * torch.finfo(dtype).eps
