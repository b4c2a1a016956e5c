"""Loss and gradient of networks with activations, sample by sample, by automatic differentiation."""

from dataclasses import dataclass

import torch

from resaudit.paper import Whitened
from residual.demystifying_resnet.networks.functions import output
from residual.demystifying_resnet.networks.gradient_descent import Objective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.fused import kernel_of

BYTES_AT_ONCE = 256 * 2**20
"""Memory for the activations of one batch of samples, of :data:`RUNS_AT_ONCE` runs."""
RUNS_AT_ONCE = 64
"""The batch does not depend on the number of runs: each has the same bytes in any ensemble."""


@dataclass(frozen=True)
class SampledObjective:
    """The loss (1/2m) sum |y - f(x)|^2 of any network (Demystifying ResNet, eq. 23), over all samples.

    The reference implementation of the fused kernel, and its fallback. Samples are computed in the precision of
    ``inputs``; losses and gradients of batches are summed in double precision.
    """

    network: Network  # shape and activations
    inputs: torch.Tensor  # samples in columns, shape (width, m)
    targets: torch.Tensor  # likewise
    baseline_loss: float = 0.0  # the optimum is unknown

    @classmethod
    def of(
        cls, network: Network, whitened: Whitened, device: torch.device, dtype: torch.dtype = torch.float32
    ) -> "SampledObjective":
        """Put the samples on a device."""
        inputs, targets = (torch.from_numpy(a).to(device, dtype) for a in (whitened.inputs, whitened.targets))
        return cls(network, inputs, targets)

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss, shape (runs,), and gradient, shape of ``weights`` = (depth, runs, width, width); both float64."""
        depth, runs, width, _ = weights.shape
        at_once = max(1, BYTES_AT_ONCE // (3 * self.inputs.element_size() * depth * RUNS_AT_ONCE * width))
        rounded = weights.detach().to(self.inputs.dtype).requires_grad_()
        loss, gradient = weights.new_zeros(runs, dtype=torch.float64), torch.zeros_like(weights, dtype=torch.float64)
        batches = zip(torch.split(self.inputs, at_once, dim=1), torch.split(self.targets, at_once, dim=1), strict=True)
        for inputs, targets in batches:
            losses = 0.5 * ((output(rounded, self.network, inputs) - targets) ** 2).sum(dim=(1, 2))
            gradient += torch.autograd.grad(losses.sum(), rounded)[0]
            loss += losses.detach()
        return loss / self.inputs.shape[1], gradient / self.inputs.shape[1]


def sampled_objective(network: Network, whitened: Whitened, device: torch.device, kernel: str) -> tuple[Objective, str]:
    """The objective of a network with activations, and what computes it, in words.

    The ``kernel`` is as for :func:`residual.demystifying_resnet.training.fused.kernel_of`.
    """
    name, reason = kernel_of(network, kernel, device.type)
    if name == "fused":
        from residual.demystifying_resnet.training.fused import NativeObjective

        return NativeObjective(network, whitened, torch.get_num_threads()), reason
    return SampledObjective.of(network, whitened, device), reason
