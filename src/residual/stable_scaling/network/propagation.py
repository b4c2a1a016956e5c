"""Norms of hidden states along the layers of networks at initialisation, all runs at once."""

from collections.abc import Iterator, Sequence

import numpy as np

from residual.stable_scaling.network.layers import DrawnProducts, Source, triangle_of
from residual.stable_scaling.network.setting import FORWARD, PLAIN, UNITS, Network, Variances, streams


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


def states(network: Network, state: np.ndarray, source: Source) -> Iterator[np.ndarray]:
    """h_1, ..., h_{L-1}, each (runs, m, n), of h_0; a state is overwritten when the next is asked for."""
    scale = (variances_of(network).middle / network.width) ** 0.5
    for layer in range(1, network.depth):
        branch = source(layer, None) @ (triangle_of(state) * scale)
        state = branch if network.tau is None else state + network.tau * normalized(branch, state, network.branch)
        state = np.maximum(state, 0.0, out=state)
        yield state


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
    network: Network, inputs: np.ndarray, kept: Sequence[int], seed: int, runs: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Norms of networks that differ in their weights.

    Args:
        network: sizes, tau and laws.
        inputs: of each run, shape (runs, p, n).
        kept: layers, ascending, from 1 to L - 1.
        seed: of all weights.
        runs: their numbers.

    Returns:
        The fields of :class:`~residual.stable_scaling.network.setting.Propagated` of one network: shapes (runs, kept)
        and three times (runs,).
    """
    state = first_states(network, inputs, seed, runs)
    start = squares(state).mean(axis=1)
    found = []
    least, largest = np.full(len(runs), np.inf), np.zeros(len(runs))
    shape = (network.width, min(network.width, inputs.shape[2]))
    source = DrawnProducts(streams(seed, FORWARD, runs), shape, network.depth - 1)
    for layer, here in enumerate(states(network, state, source), 1):
        squared = squares(here)
        least, largest = np.minimum(least, squared.min(axis=1)), np.maximum(largest, squared.max(axis=1))
        if layer in kept:
            found.append(squared.mean(axis=1))
    return np.stack(found, axis=1), start, np.sqrt(least), np.sqrt(largest)


def squares(states: np.ndarray) -> np.ndarray:
    """Squared norms of columns (runs, m, n), shape (runs, n)."""
    return np.asarray(np.einsum("rmn,rmn->rn", states, states))
