"""Gradients of networks at initialisation by our own backward pass, all runs at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from residual.stable_scaling.network.layers import Basis, DrawnProducts, Source, basis_of, transposed
from residual.stable_scaling.network.propagation import first_states, squares, variances_of
from residual.stable_scaling.network.setting import BACKWARD, FORWARD, READOUT, Network, streams


class Pass(NamedTuple):
    """A forward pass: h_0 ... h_L; per layer 1 ... L the basis of h_{l-1} and the product W_l Q, (runs, m, k).

    Q R is h_{l-1} up to rounding, which would hide its zeros: where a ReLU is off.
    """

    states: list[np.ndarray]
    bases: list[Basis]
    products: list[np.ndarray]


def backpropagate(
    network: Network, inputs: np.ndarray, targets: np.ndarray, seed: int, runs: Sequence[int]
) -> np.ndarray:
    """Norms of single samples' gradients of W_1 ... W_L, relative to sqrt(loss * m/d); shape (runs, L, n).

    Args:
        network: sizes and tau.
        inputs: shape (runs, p, n).
        targets: shape (runs, d, n).
        seed: of all weights.
        runs: their numbers.
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
    passed = _forward(network, start, forward)
    difference = readout @ passed.states[-1] - targets
    by_state = np.swapaxes(readout, -1, -2) @ difference
    norms = []
    for layer in range(network.depth, 0, -1):
        before = passed.bases[layer - 1]
        by_sum = np.where(passed.states[layer] > 0, by_state, 0.0)
        residual = layer < network.depth and network.tau is not None
        factor = network.tau if residual and network.tau is not None else 1.0
        norms.append(factor * np.sqrt(squares(by_sum) * squares(passed.states[layer - 1])))
        gradient = basis_of(by_sum)
        scale = _scale(network, layer)
        through = transposed(before, passed.products[layer - 1], gradient, scale * backward(layer, gradient.q))
        by_state = by_sum + factor * through if residual else through
    return np.stack(norms[::-1], axis=1), squares(difference) / 2


def _scale(network: Network, layer: int) -> float:
    laws = variances_of(network)
    return float(((laws.last if layer == network.depth else laws.middle) / network.width) ** 0.5)


def _forward(network: Network, state: np.ndarray, source: Source) -> Pass:
    states, bases, products = [state], [], []
    for layer in range(1, network.depth + 1):
        basis = basis_of(state)
        bases.append(basis)
        products.append(_scale(network, layer) * source(layer, basis.q))
        branch = products[-1] @ basis.r
        residual = layer < network.depth and network.tau is not None
        state = np.maximum(state + network.tau * branch if residual else branch, 0.0)
        states.append(state)
    return Pass(states, bases, products)
