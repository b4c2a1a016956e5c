"""The network of "Stabilize deep ResNet with a sharp scaling factor tau" (arXiv 1903.07120, section 2).

With relu phi, width m, L layers and samples in columns::

    h_0 = phi(A x),   h_l = phi((I + tau W_l) h_{l-1}) for l < L,   h_L = phi(W_L h_{L-1}),   output B h_L.

The plain feedforward network has h_l = phi(W_l h_{l-1}) in every layer.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from residual.stable_scaling.network.setting import Variances


class Weights(NamedTuple):
    """A, W_1 ... W_{L-1}, W_L and B; all may share leading dimensions, of runs.

    Shapes: first (..., m, inputs), middle (..., L-1, m, m), last (..., m, m), readout (..., outputs, m).
    """

    first: Tensor
    middle: Tensor
    last: Tensor
    readout: Tensor


def draw(
    inputs: int,
    width: int,
    depth: int,
    outputs: int,
    generator: torch.Generator,
    variances: Variances = Variances(),  # noqa: B008  (an immutable constant)
    dtype: torch.dtype = torch.float64,
) -> Weights:
    """Gaussian weights of one network with ``depth`` = L, on the generator's device; drawn as A, W_1 ... W_L, B."""

    def gaussian(*shape: int, variance: float) -> Tensor:
        entries = torch.randn(*shape, generator=generator, dtype=dtype, device=generator.device)
        return entries.mul_(variance**0.5)

    return Weights(
        gaussian(width, inputs, variance=variances.first / width),
        gaussian(depth - 1, width, width, variance=variances.middle / width),
        gaussian(width, width, variance=variances.last / width),
        gaussian(outputs, width, variance=variances.readout / outputs),
    )


def hidden(weights: Weights, inputs: Tensor, tau: float | Tensor | None) -> Iterator[Tensor]:
    """h_0, ..., h_L, each (..., m, n), of inputs (..., inputs, n); ``tau`` is None in the plain feedforward network."""
    state = torch.relu(weights.first @ inputs)
    yield state
    for matrix in weights.middle.unbind(-3):
        branch = matrix @ state
        state = torch.relu(branch if tau is None else state + tau * branch)
        yield state
    yield torch.relu(weights.last @ state)


def output(weights: Weights, inputs: Tensor, tau: float | Tensor | None) -> Tensor:
    """B h_L, (..., outputs, n)."""
    for state in hidden(weights, inputs, tau):  # noqa: B007  (the last one is h_L)
        pass
    return weights.readout @ state
