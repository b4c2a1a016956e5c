"""Gradients of networks at initialisation by our own backward pass, all runs at once."""

from collections.abc import Sequence

import numpy as np

from residual.stable_scaling.network.propagation import (
    DrawnProducts,
    Source,
    basis_of,
    first_states,
    squares,
    transposed,
    variances_of,
)
from residual.stable_scaling.network.setting import BACKWARD, FORWARD, READOUT, Network, streams


def backpropagate(
    network: Network, inputs: np.ndarray, targets: np.ndarray, seed: int, runs: Sequence[int]
) -> np.ndarray:
    """Norms of single samples' gradients of W_1 ... W_L, relative to sqrt(loss * m/d); shape (runs, L, n).

    Inputs have the shape (runs, p, n), targets (runs, d, n).
    """
    shape = (network.width, min(network.width, inputs.shape[2]))
    outputs = targets.shape[1]
    readout = np.stack([
        rng.standard_normal((outputs, network.width)) * (variances_of(network).readout / outputs) ** 0.5
        for rng in streams(seed, READOUT, runs)
    ])  # fmt: skip
    start = first_states(network, inputs, seed, runs)
    forward, backward = (
        DrawnProducts(streams(seed, purpose, runs), shape, network.depth) for purpose in (FORWARD, BACKWARD)
    )
    norms, losses = gradient_norms(network, start, readout, targets, forward, backward)
    return np.asarray(norms / np.sqrt(losses * network.width / outputs)[:, None])


def gradient_norms(
    network: Network, start: np.ndarray, readout: np.ndarray, targets: np.ndarray, forward: Source, backward: Source
) -> tuple[np.ndarray, np.ndarray]:
    """Frobenius norms of the gradients of ||B h_L - y||^2 / 2 by W_1 ... W_L, (runs, L, n); and the losses, (runs, n).

    The gradient of one sample has rank one: tau g_l h_{l-1}', with g_l that by the layer's pre-activation.
    """
    laws, residual = variances_of(network), network.tau is not None
    taus = [network.tau or 1.0] * (network.depth - 1) + [1.0]
    scales = [(laws.middle / network.width) ** 0.5] * (network.depth - 1) + [(laws.last / network.width) ** 0.5]

    # Q R is h_{l-1} up to rounding, which would hide the zeros of its ReLUs: states are kept beside their bases.
    states, bases, products = [start], [], []
    for layer in range(1, network.depth + 1):
        bases.append(basis_of(states[-1]))
        products.append(scales[layer - 1] * forward(layer, bases[-1].q))
        branch = products[-1] @ bases[-1].r
        shortcut = residual and layer < network.depth
        states.append(np.maximum(states[-1] + taus[layer - 1] * branch if shortcut else branch, 0.0))

    difference = readout @ states[-1] - targets
    by_state = np.swapaxes(readout, -1, -2) @ difference
    norms = []
    for layer in range(network.depth, 0, -1):
        by_sum = np.where(states[layer] > 0, by_state, 0.0)
        norms.append(taus[layer - 1] * np.sqrt(squares(by_sum) * squares(states[layer - 1])))
        gradient = basis_of(by_sum)
        drawn = scales[layer - 1] * backward(layer, gradient.q)
        through = transposed(bases[layer - 1], products[layer - 1], gradient, drawn)
        by_state = by_sum + taus[layer - 1] * through if residual and layer < network.depth else through
    return np.stack(norms[::-1], axis=1), squares(difference) / 2
