"""The objective of a network: moments if it is linear, else every sample, by the fused kernel if available."""

import torch

from resaudit.data.moments import Moments
from resaudit.data.whitening import Whitened
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import Objective
from residual.demystifying_resnet.training.kernels.library import kernel_of
from residual.demystifying_resnet.training.linear import LinearObjective
from residual.demystifying_resnet.training.sampled import SampledObjective


def linear_objective(network: Network, moments: Moments, device: torch.device) -> tuple[Objective, str]:
    """The objective of a linear network, and what computes it, in words."""
    return LinearObjective.of(network, moments, device), "moments of the data in torch"


def sampled_objective(network: Network, whitened: Whitened, device: torch.device, kernel: str) -> tuple[Objective, str]:
    """The objective of a network with activations, and what computes it, in words.

    Args:
        network: with any activations.
        whitened: the samples.
        device: to train on.
        kernel: ``fused``, ``torch``, or ``auto``: fused if available, which it is on a CPU alone.

    Raises:
        ResauditError: ``fused`` is wanted and not available.
    """
    chosen, why = kernel_of(network, kernel, device.type)
    if chosen == "fused":
        from residual.demystifying_resnet.training.kernels.native import NativeObjective

        return NativeObjective(network, whitened, torch.get_num_threads()), why
    return SampledObjective.of(network, whitened, device), why
