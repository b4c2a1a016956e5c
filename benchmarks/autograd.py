"""The peers of the fused kernels: autograd on a whole ensemble, eager and compiled. Imports torch and numerics only."""

from collections.abc import Callable, Sequence

import torch

from residual.demystifying_resnet.networks.functions import output
from residual.demystifying_resnet.training.sampled import SampledObjective

Gradient = Callable[[torch.Tensor], torch.Tensor]
Loss = Callable[..., torch.Tensor]


def peers(
    objective: SampledObjective, samples_at_once: Sequence[int], compiler: Callable[[Loss], Loss] | None
) -> dict[str, Gradient]:
    """Gradients of an ensemble by ``eager N`` and, with a compiler, ``compiled N``, N samples at once."""

    def summed_loss(weights: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return 0.5 * ((output(weights, objective.network, inputs) - targets) ** 2).sum()

    losses: dict[str, Loss] = {"eager": summed_loss} | ({"compiled": compiler(summed_loss)} if compiler else {})
    return {f"{kind} {n}": _gradient_of(loss, objective, n) for kind, loss in losses.items() for n in samples_at_once}


def _gradient_of(loss: Loss, objective: SampledObjective, at_once: int) -> Gradient:
    count = objective.inputs.shape[1]

    def gradient(weights: torch.Tensor) -> torch.Tensor:
        variable, total = weights.float().requires_grad_(), torch.zeros_like(weights)
        for start in range(0, count, at_once):
            part = slice(start, start + at_once)
            value = loss(variable, objective.inputs[:, part], objective.targets[:, part])
            total += torch.autograd.grad(value, variable)[0]
        return total / count

    return gradient
