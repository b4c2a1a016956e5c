"""Which objective a network trains on: moments where it is linear, else every sample, fused where that can be had."""

import torch

from resaudit.datasets.moments import Moments
from resaudit.datasets.whitening import Whitened
from resaudit.networks.network import Network
from resaudit.training.ensemble import Objective
from resaudit.training.kernels.library import kernel_of
from resaudit.training.linear import LinearObjective
from resaudit.training.sampled import SampledObjective


def linear_objective(network: Network, moments: Moments, device: torch.device) -> tuple[Objective, str]:
    """The objective of a linear network, and what computes it, in words."""
    return LinearObjective.of(network, moments, device), "moments of the data in torch"


def sampled_objective(network: Network, whitened: Whitened, device: torch.device, kernel: str) -> tuple[Objective, str]:
    """The objective of a network with activations, and what computes it, in words.

    Args:
        network: any.
        whitened: the samples.
        device: where it trains.
        kernel: ``fused``, ``torch``, or ``auto``, which is fused if that can be had on a CPU, and torch on CUDA.

    Raises:
        ResauditError: ``fused`` is wanted and cannot be had.
    """
    if device.type == "cuda":
        from resaudit.training.kernels.cuda import TritonObjective, cuda_kernel_of

        chosen, why = cuda_kernel_of(network, kernel)
        if chosen == "fused":
            return TritonObjective(network, whitened, device), why
    else:
        chosen, why = kernel_of(network, kernel)
        if chosen == "fused":
            from resaudit.training.kernels.native import NativeObjective

            return NativeObjective(network, whitened, torch.get_num_threads()), why
    return SampledObjective.of(network, whitened, device), why
