"""Theorem 2.1 of Demystifying ResNet: zero is an (n-1)th-order stationary point of an n-shortcut network's loss.

By Lemma 3 a partial derivative at zero is nonzero only if it has a weight of every layer of some unit. Hence all of
order below n vanish, and of order n those with one weight w^l_{i_l j_l} of each layer l of one unit. The chain
rule gives them where the indices chain, j_{l+1} = i_l:

    sigma_post'(0) sigma_mid'(0)^(n-1) (S^{X pre(X)} - S^{Y pre(X)})_{i_n j_1}.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from residual.demystifying_resnet.networks.functions import FUNCTIONS
from residual.demystifying_resnet.networks.network import ACTIVATIONS, Network
from residual.demystifying_resnet.theory.networks import Loss, loss_of, zero_of
from residual.demystifying_resnet.theory.records import Finding
from residual.demystifying_resnet.theory.samples import Samples

EPS = float(np.finfo(np.float64).eps)
LARGEST_TENSOR = 300_000
"""Larger derivatives are measured in random directions only, not entry by entry."""
DIRECTIONS = 8
LEAST_OF_HESSIAN = 3
"""The least n whose Hessian at zero vanishes."""


def measure_stationarity(network: Network, samples: Samples, rng: np.random.Generator) -> Iterator[Finding]:
    """Derivatives at zero of every order up to n.

    Errors are relative to ``scale``, the size of the terms whose sum is a derivative of the loss. A sum over m samples
    through n R layers of width d has a relative rounding error of at most (m + 4 n R d) eps.
    """
    loss, n = loss_of(network, samples), network.shortcut_depth
    scale, tolerance = term_scale(network, samples), rounding(network, samples)
    for order in range(1, n):
        if network.parameters**order <= LARGEST_TENSOR:
            largest = derivatives(loss, network, order).abs().max().item()
            yield Finding(f"theorem 2.1: every partial derivative of order {order} < n is zero", largest, 0.0,
                          largest / scale, tolerance)  # fmt: skip
    for order in range(1, n):
        largest = directional_derivatives(loss, network, order, rng).abs().max().item()
        yield Finding(f"theorem 2.1: derivatives of order {order} < n in random directions are zero", largest, 0.0,
                      largest / scale, tolerance)  # fmt: skip
    if n >= LEAST_OF_HESSIAN and network.parameters**2 <= LARGEST_TENSOR:
        largest = torch.func.hessian(loss)(zero_of(network)).abs().max().item()
        yield Finding("theorem 2.1: the Hessian is zero for n >= 3", largest, 0.0, largest / scale, tolerance)
    # Of order n, the partial derivative that is largest by the chain rule.
    predicted = slope_of(network) * residual_moments(network, samples)
    row, column = np.unravel_index(np.abs(predicted).argmax(), predicted.shape)
    value = chained_derivative(loss, network, int(row), int(column)).item()
    expected = float(predicted[row, column])
    yield Finding("theorem 2.1: a derivative of order n is not zero", value, expected, abs(value - expected) / scale,
                  tolerance)  # fmt: skip


def derivatives(loss: Loss, network: Network, order: int) -> torch.Tensor:
    """All partial derivatives of an order at zero, shape (N,) * order; nested forward differentiation."""
    derivative = torch.func.grad(loss)
    for _ in range(order - 1):
        derivative = torch.func.jacfwd(derivative)
    at_zero: torch.Tensor = derivative(zero_of(network))
    return at_zero


def directional_derivatives(loss: Loss, network: Network, order: int, rng: np.random.Generator) -> torch.Tensor:
    """Derivatives D^k L(v_1, ..., v_k) at zero for random v_1, ..., v_k, each entry 1 or -1; shape (DIRECTIONS,).

    A nonzero tensor vanishes on random vectors only with small probability: this tests tensors too large to form.
    """
    signs = rng.choice([-1.0, 1.0], (DIRECTIONS, order, network.parameters))
    along: torch.Tensor = torch.func.vmap(lambda vectors: _along(loss, zero_of(network), vectors))(
        torch.from_numpy(signs)
    )
    return along


def _along(loss: Loss, point: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """D^k L(v_1, ..., v_k) as the mixed derivative of t -> L(point + sum t_k v_k)."""
    if not len(vectors):
        return loss(point)
    result: torch.Tensor = torch.func.jvp(lambda at: _along(loss, at, vectors[:-1]), (point,), (vectors[-1],))[1]
    return result


def chained_derivative(loss: Loss, network: Network, row: int, column: int) -> torch.Tensor:
    """The derivative by W^1_{0 column}, W^2_{00}, ..., W^n_{row 0} of the first unit, at zero."""
    n, width = network.shortcut_depth, network.width
    axes = torch.zeros(n, n, width, width, dtype=torch.float64)
    for layer in range(n):
        i, j = (row if layer == n - 1 else 0), (column if layer == 0 else 0)
        axes[layer, layer, j, i] = 1.0
    vectors = torch.zeros(n, network.depth, width, width, dtype=torch.float64)
    vectors[:, :n] = axes
    return _along(loss, zero_of(network), vectors.reshape(n, -1))


def slope_of(network: Network) -> float:
    """sigma_post'(0) sigma_mid'(0)^(n-1)."""
    return ACTIVATIONS[network.post].slope * ACTIVATIONS[network.mid].slope ** (network.shortcut_depth - 1)


def before(network: Network, samples: Samples) -> np.ndarray:
    """pre(X), shape (width, samples)."""
    return FUNCTIONS[network.pre](torch.from_numpy(samples.inputs)).numpy()


def residual_moments(network: Network, samples: Samples) -> np.ndarray:
    """S^{X pre(X)} - S^{Y pre(X)} of eqs. 9, 25 and 26, shape (width, width)."""
    return np.asarray((samples.inputs - samples.targets) @ before(network, samples).T / samples.count)


def term_scale(network: Network, samples: Samples) -> float:
    """The size of the terms that derivatives of the loss at zero are sums of.

    The largest entry of (1/m) sum (|x| + |y|)(|pre(x)| + |x|)^T, which is free of cancellation.
    """
    outer = np.abs(samples.inputs) + np.abs(samples.targets)
    inner = np.abs(before(network, samples)) + np.abs(samples.inputs)
    return float((outer @ inner.T / samples.count).max())


def rounding(network: Network, samples: Samples) -> float:
    """Bound on the rounding error of such a sum relative to :func:`term_scale`."""
    return float(rounding_of(samples.count, network.depth, network.width))


def rounding_of(samples: Any, layers: Any, width: Any) -> Any:
    """That bound by the sizes m, n R and d, numbers or columns: eps (m + 4 n R d)."""
    return EPS * (samples + 4 * layers * width)
