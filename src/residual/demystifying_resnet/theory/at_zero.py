"""Theorem 2 of Demystifying ResNet: derivatives of an n-shortcut network's loss at the zero point.

Theorem 2.1: zero is an (n-1)th-order stationary point. By Lemma 3 a partial derivative at zero is nonzero only if it
has a weight of every layer of some unit. Hence all of order below n vanish, and of order n those with one weight
w^l_{i_l j_l} of each layer l of one unit. The chain rule gives them where the indices chain, j_{l+1} = i_l:

    sigma_post'(0) sigma_mid'(0)^(n-1) (S^{X pre(X)} - S^{Y pre(X)})_{i_n j_1}.

Theorems 2.2 and 2.3: the Hessian at zero of 2-shortcut and of 1-shortcut networks. Blocks and entries are in the order
of Definition 5: by unit, layer, column, row. With d the width, an entry (j, i) of a weight matrix has the position
j d + i in its block.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.functions import FUNCTIONS
from residual.demystifying_resnet.networks.hessians import hessians, lower_hessians, spectrum_statistics
from residual.demystifying_resnet.networks.network import ACTIVATIONS, Network
from residual.demystifying_resnet.theory.records import Finding, Samples

EPS = float(np.finfo(np.float64).eps)
LARGEST_TENSOR = 300_000
"""Larger derivatives are measured in random directions only, not entry by entry."""
DIRECTIONS = 8
LEAST_OF_HESSIAN = 3
"""The least n whose Hessian at zero vanishes."""
Loss = Callable[[torch.Tensor], torch.Tensor]


def loss_of(network: Network, samples: Samples) -> Loss:
    """The loss (1/2m) sum |y - f(x)|^2 (eq. 23) of an n-shortcut network (Definition 2).

    Each unit is x -> post(W^n mid(... mid(W^1 pre(x)))) + x.

    Returns:
        A function of a vector of ``network.parameters`` float64 numbers in the order of Definition 5: by unit,
        layer, column, row.
    """
    inputs, targets = torch.from_numpy(samples.inputs), torch.from_numpy(samples.targets)
    pre, mid, post = (FUNCTIONS[name] for name in (network.pre, network.mid, network.post))
    shape = (network.depth, network.width, network.width)

    def loss(flat: torch.Tensor) -> torch.Tensor:
        weights, state = flat.view(shape).mT, inputs
        for first in network.units:
            on_path = weights[first] @ pre(state)
            for layer in range(first + 1, first + network.unit_depth):
                on_path = weights[layer] @ mid(on_path)
            state = post(on_path) + state
        return 0.5 * ((state - targets) ** 2).sum() / samples.count

    return loss


def zero_of(network: Network) -> torch.Tensor:
    """The zero point, as :func:`loss_of` takes it."""
    return torch.zeros(network.parameters, dtype=torch.float64)


def zero_weights(network: Network) -> torch.Tensor:
    """The same as the weights of one run, shape (depth, 1, width, width)."""
    return zero_of(network).view(network.depth, 1, network.width, network.width)


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


def measure_two_shortcut(network: Network, samples: Samples) -> Iterator[Finding]:
    """Eqs. 8, 9 and 23 to 26 against the Hessian by automatic differentiation.

    Errors of entries are relative to the size of the terms that they are sums of; their tolerance is
    :func:`rounding`. Errors of eigenvalues are relative to the
    largest. An eigensolver of N rows may be off by eps N of it, and by Weyl's inequality errors of the d x d moments by
    at most d of theirs. The condition number's error is relative to itself; the least eigenvalue is known up to the
    condition number times that.
    """
    hessian = hessian_at_zero(network, samples)
    scale, tolerance = term_scale(network, samples), rounding(network, samples)
    a = block_of_eq_25(network, samples)
    measured = blocks(hessian, network.depth)
    units = range(len(network.units))
    below = np.stack([measured[2 * r + 1, 2 * r] for r in units])
    mirrored = np.stack([measured[2 * r, 2 * r + 1].T for r in units])
    outside = measured.copy()
    for r in units:
        outside[2 * r + 1, 2 * r] = outside[2 * r, 2 * r + 1] = 0.0
    yield _entries("eq. 8: entries outside the blocks A are zero", outside, np.zeros_like(outside), scale, tolerance)
    yield _entries("eq. 8: the blocks A of all units are equal", below, below[:1], scale, tolerance)
    yield _entries("eq. 8: the blocks above the diagonal are A transposed", mirrored, below, scale, tolerance)
    yield _entries("eqs. 23-25: the entries of A", below, a[None], scale, tolerance)
    yield from _eigenvalues(hessian, network, samples)
    if network.is_linear:
        yield _closed_form(hessian, network, samples)


def _eigenvalues(hessian: np.ndarray, network: Network, samples: Samples) -> Iterator[Finding]:
    singular = abs(slope_of(network)) * np.linalg.svd(residual_moments(network, samples), compute_uv=False)
    copies = network.width * len(network.units)
    expected = np.sort(np.concatenate([singular, -singular]).repeat(copies))
    eigenvalues = np.linalg.eigvalsh(hessian)
    largest, condition = float(singular[0]), float(singular[0] / singular[-1])
    tolerance = EPS * len(hessian) + rounding(network, samples) * network.width * term_scale(network, samples) / largest
    yield Finding("eq. 26: the eigenvalues, each with its multiplicity", float(eigenvalues[-1]), largest,
                  float(np.abs(eigenvalues - expected).max()) / largest, tolerance)  # fmt: skip
    yield Finding("strict saddle: the least eigenvalue is negative", float(eigenvalues[0]), -largest,
                  float(abs(eigenvalues[0] + largest)) / largest, tolerance)  # fmt: skip
    value = float(np.abs(eigenvalues).max() / np.abs(eigenvalues).min())
    yield Finding("eq. 9: the condition number", value, condition, abs(value - condition) / condition,
                  2 * condition * tolerance)  # fmt: skip


def measure_one_shortcut(network: Network, samples: Samples) -> Iterator[Finding]:
    """Eq. 10 and, without activations, eqs. 27 to 32 against the Hessian by automatic differentiation.

    Errors are relative to the size of the terms that the entries are sums of.
    """
    hessian = hessian_at_zero(network, samples)
    scale, tolerance = term_scale(network, samples), rounding(network, samples)
    measured, units = blocks(hessian, network.depth), network.depth
    diagonal = np.stack([measured[r, r] for r in range(units)])
    yield _entries("eq. 10: the blocks B on the diagonal are equal", diagonal, diagonal[:1], scale, tolerance)
    below = [measured[r, q] for r in range(units) for q in range(r)]
    above = [measured[q, r].T for r in range(units) for q in range(r)]
    if below:
        yield _entries("eq. 10: the blocks A below the diagonal are equal", np.stack(below), below[0][None], scale,
                       tolerance)  # fmt: skip
        yield _entries("eq. 10: the blocks above the diagonal are A transposed", np.stack(above), below[0][None],
                       scale, tolerance)  # fmt: skip
    if network.is_linear:
        a, b = blocks_of_eqs_29_and_32(samples)
        yield _entries("eqs. 27-29: the entries of B", diagonal, b[None], scale, tolerance)
        if below:
            yield _entries("eqs. 30-32: the entries of A", np.stack(below), a[None], scale, tolerance)
        yield _closed_form(hessian, network, samples)


def measure_condition(network: Network, moments: Moments) -> Iterator[Finding]:
    """The condition number at zero of a linear network, with the least and with the 10th percentile below.

    No value is expected. The error is the noise floor eps N |lambda|_max relative to the eigenvalue in the denominator:
    the value is resolved if the error is below the tolerance of 1.
    """
    eigenvalues = torch.linalg.eigvalsh(lower_hessians(zero_weights(network), network, moments)[0])
    statistics, magnitudes = spectrum_statistics(eigenvalues), eigenvalues.abs()
    largest, floor = float(statistics.lambda_max), float(statistics.noise_floor)
    for least, name in ((magnitudes.min().item(), "min"), (float(statistics.lambda_p10), "(0.1)")):
        condition = largest / least if least else np.inf
        noise = floor / least if least else np.inf
        yield Finding(f"condition number |l|max / |l|{name} of the Hessian at zero", condition, np.nan, noise, 1.0)


def hessian_at_zero(network: Network, samples: Samples) -> np.ndarray:
    """The Hessian of the loss at zero by automatic differentiation, shape (N, N), in the order of Definition 5."""
    hessian: torch.Tensor = torch.func.hessian(loss_of(network, samples))(zero_of(network))
    return hessian.numpy()


def blocks(hessian: np.ndarray, layers: int) -> np.ndarray:
    """The Hessian as blocks of one layer by another, shape (layers, layers, d^2, d^2)."""
    size = len(hessian) // layers
    return hessian.reshape(layers, size, layers, size).transpose(0, 2, 1, 3)


def permutation(width: int) -> np.ndarray:
    """P of eq. 24: with positions counted from 1, P_ij = 1 if and only if i = ((j-1) mod d) d + ceil(j/d)."""
    result = np.zeros((width**2, width**2))
    for j in range(1, width**2 + 1):
        result[((j - 1) % width) * width + -(-j // width) - 1, j - 1] = 1.0
    return result


def block_of_eq_25(network: Network, samples: Samples) -> np.ndarray:
    """A of a 2-shortcut network, shape (d^2, d^2)."""
    diagonal = np.kron(np.eye(network.width), slope_of(network) * residual_moments(network, samples))
    return np.asarray(diagonal @ permutation(network.width).T)


def blocks_of_eqs_29_and_32(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """A and B of a linear 1-shortcut network, each of shape (d^2, d^2)."""
    width = len(samples.inputs)
    moments, p = Moments.of(samples.inputs, samples.targets), permutation(width)
    b = p @ np.kron(np.eye(width), moments.xx) @ p.T
    a = np.kron(np.eye(width), moments.xx - moments.yx) @ p.T + b
    return a, b


def _entries(name: str, measured: np.ndarray, expected: np.ndarray, scale: float, tolerance: float) -> Finding:
    """The largest entries measured and expected, and the largest difference entry by entry."""
    largest, difference = float(np.abs(measured).max()), float(np.abs(measured - expected).max())
    return Finding(name, largest, float(np.abs(expected).max()), difference / scale, tolerance)


def _closed_form(hessian: np.ndarray, network: Network, samples: Samples) -> Finding:
    """Automatic differentiation against ``hessians``, which figures use."""
    closed = hessians(zero_weights(network), network, Moments.of(samples.inputs, samples.targets))[0].numpy()
    return _entries("the closed form of the Hessian equals automatic differentiation", hessian, closed,
                    term_scale(network, samples), rounding(network, samples))  # fmt: skip
