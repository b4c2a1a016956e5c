"""Weights of the networks of section 2 of arXiv 1903.07120; :mod:`residual.stable_scaling.plain` has the networks."""

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
