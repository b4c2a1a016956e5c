"""Theorem 2.2 and 2.3 of Demystifying ResNet: the Hessian at zero of 2-shortcut and of 1-shortcut networks.

Blocks and entries are in the order of Definition 5: by unit, layer, column, row. With d the width, an entry
(j, i) of a weight matrix has the position j d + i in its block.
"""

from collections.abc import Iterator

import numpy as np
import torch

from resaudit.paper import Moments, moments_of
from residual.demystifying_resnet.curvature.linear import hessians, lower_hessians
from residual.demystifying_resnet.curvature.spectrum import spectrum_statistics
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.theory.networks import loss_of, zero_of
from residual.demystifying_resnet.theory.records import Finding
from residual.demystifying_resnet.theory.samples import Samples
from residual.demystifying_resnet.theory.stationarity import EPS, residual_moments, rounding, slope_of, term_scale


def measure_two_shortcut(network: Network, samples: Samples) -> Iterator[Finding]:
    """Eqs. 8, 9 and 23 to 26 against the Hessian by automatic differentiation.

    Errors of entries are relative to the size of the terms that they are sums of; their tolerance is
    :func:`~residual.demystifying_resnet.theory.stationarity.rounding`. Errors of eigenvalues are relative to the
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
    zero = torch.zeros(network.depth, 1, network.width, network.width, dtype=torch.float64)
    eigenvalues = torch.linalg.eigvalsh(lower_hessians(zero, network, moments)[0])
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
    moments, p = moments_of(samples.inputs, samples.targets), permutation(width)
    b = p @ np.kron(np.eye(width), moments.xx) @ p.T
    a = np.kron(np.eye(width), moments.xx - moments.yx) @ p.T + b
    return a, b


def _entries(name: str, measured: np.ndarray, expected: np.ndarray, scale: float, tolerance: float) -> Finding:
    """The largest entries measured and expected, and the largest difference entry by entry."""
    largest, difference = float(np.abs(measured).max()), float(np.abs(measured - expected).max())
    return Finding(name, largest, float(np.abs(expected).max()), difference / scale, tolerance)


def _closed_form(hessian: np.ndarray, network: Network, samples: Samples) -> Finding:
    """Automatic differentiation against ``hessians``, which figures use."""
    zero = torch.zeros(network.depth, 1, network.width, network.width, dtype=torch.float64)
    closed = hessians(zero, network, moments_of(samples.inputs, samples.targets))[0].numpy()
    return _entries("the closed form of the Hessian equals automatic differentiation", hessian, closed,
                    term_scale(network, samples), rounding(network, samples))  # fmt: skip
