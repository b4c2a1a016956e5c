"""Spectral norms of products of layers D_b (I + tau W_b) ... D_a (I + tau W_a), which are applied but never formed."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from residual.stable_scaling.network.model import draw, hidden

Apply = Callable[[Tensor], Tensor]
DOUBT = 1e-6
"""Probability with which the stated error of a norm may be exceeded."""


def relative_error(width: int, steps: int) -> float:
    """Relative error of the largest eigenvalue that Lanczos exceeds with a probability of at most :data:`DOUBT`.

    From a random start, k steps have a larger relative error than e with a probability of at most 1.648 sqrt(m)
    exp(-sqrt(e) (2k - 1)), whatever the other eigenvalues are (Kuczynski & Wozniakowski 1992, Theorem 4.2). With k = m
    steps nothing but rounding is left, which is far smaller.

    >>> round(relative_error(128, 60), 4), relative_error(8, 8)
    (0.0198, 0.0)
    """
    if steps >= width:
        return 0.0
    return float(min(1.0, (np.log(1.648 * width**0.5 / DOUBT) / (2 * steps - 1)) ** 2))


def largest_eigenvalues(apply: Apply, start: Tensor, steps: int) -> np.ndarray:
    """Lanczos with full reorthogonalisation on several symmetric matrices side by side, in at most m steps.

    ``apply`` maps (m, k), a column for each matrix, to the products of each with its column. The largest Ritz value of
    each, shape (k,), is a lower bound of its largest eigenvalue.
    """
    basis = [start / start.norm(dim=0)]
    diagonal, beside = [], []
    for _ in range(steps):
        image = apply(basis[-1])
        diagonal.append((image * basis[-1]).sum(dim=0))
        every = torch.stack(basis)
        for _ in range(2):
            image = image - ((every * image).sum(dim=1, keepdim=True) * every).sum(dim=0)
        length = image.norm(dim=0)
        # Within rounding the space is exhausted: what follows is decoupled from it, and zero.
        exhausted = length <= 1e-13 * diagonal[0].abs()
        beside.append(torch.where(exhausted, 0.0, length))
        basis.append(torch.where(exhausted, 0.0, image / torch.where(exhausted, 1.0, length)))
    matrices = torch.diag_embed(torch.stack(diagonal, dim=-1))
    if steps > 1:
        off = torch.diag_embed(torch.stack(beside[:-1], dim=-1), offset=1)
        matrices = matrices + off + off.mT
    return np.asarray(torch.linalg.eigvalsh(matrices)[:, -1])


def spectral_norms(
    middle: Tensor, patterns: Tensor, tau: float, pairs: Sequence[tuple[int, int]], start: Tensor, steps: int
) -> np.ndarray:
    """Lower bounds of the norms of the products from layer a to layer b, 1 <= a <= b < L, shape (pairs,).

    ``middle`` has W_1 ... W_{L-1}, shape (L-1, m, m), ``patterns`` the diagonals of D_1 ... D_{L-1}, shape (L-1, m);
    Lanczos starts from ``start``, shape (m, pairs).
    """
    first, last = torch.tensor(pairs).T
    active = [((first <= layer) & (layer <= last)).nonzero()[:, 0] for layer in range(1, len(middle) + 1)]
    layers = [layer for layer, columns in enumerate(active) if len(columns)]

    def gram(columns: Tensor) -> Tensor:
        columns = columns.clone()
        for layer in layers:
            state = columns[:, active[layer]]
            columns[:, active[layer]] = patterns[layer, :, None] * (state + tau * (middle[layer] @ state))
        for layer in reversed(layers):
            state = patterns[layer, :, None] * columns[:, active[layer]]
            columns[:, active[layer]] = state + tau * (middle[layer].T @ state)
        return columns

    return np.asarray(np.sqrt(np.maximum(largest_eigenvalues(gram, start, steps), 0.0)))


def of_network(
    inputs: np.ndarray, width: int, depth: int, tau: float, places: Sequence[int], steps: int, seed: int
) -> np.ndarray:
    """Norms of the products between layers a <= b among ``places`` of one network, the largest over samples (p, n).

    Each sample has its own activations. Shape (pairs,), in the order of :func:`pairs_of`.
    """
    generator = torch.Generator().manual_seed(seed)
    weights = draw(len(inputs), width, depth, 1, generator)
    states = torch.stack(list(hidden(weights, torch.from_numpy(inputs), tau))[1:depth])
    pairs = pairs_of(places)
    start = torch.randn(width, len(pairs), generator=generator, dtype=torch.float64)
    norms = [
        spectral_norms(weights.middle, (states[..., i] > 0).double(), tau, pairs, start, steps)
        for i in range(inputs.shape[1])
    ]
    return np.asarray(np.max(norms, axis=0))


def pairs_of(places: Sequence[int]) -> list[tuple[int, int]]:
    """Every a <= b.

    >>> pairs_of([1, 4])
    [(1, 1), (1, 4), (4, 4)]
    """
    return [(a, b) for a in places for b in places if a <= b]
