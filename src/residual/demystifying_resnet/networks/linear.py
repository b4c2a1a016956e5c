"""Maps through a linear network: the end-to-end matrix and the matrices before and behind each layer.

Weights have the shape (depth, runs, width, width), so that one layer of all runs is contiguous.
"""

import torch

from residual.demystifying_resnet.networks.network import Network


def forward(weights: torch.Tensor, network: Network) -> list[torch.Tensor]:
    """For every layer the matrix from the network's input to its input, then the end-to-end matrix.

    These are depth + 1 tensors of shape (runs, width, width).
    """
    state = identity_of(weights)
    states = []
    for first in network.units:
        entry = state
        for layer in range(first, first + network.unit_depth):
            states.append(state)
            state = torch.bmm(weights[layer], state)
        if network.has_shortcuts:
            state = state + entry
    return [*states, state]


def backward(weights: torch.Tensor, network: Network, output: torch.Tensor) -> list[torch.Tensor]:
    """Carry ``output`` (runs, width, k) from the network's output back to every layer's output.

    With the derivative dL/dP as ``output``, element l is the derivative by layer l's output map; with the
    identity it is the transposed matrix from layer l's output to the network's output; each of shape (runs, width, k).
    """
    behind: list[torch.Tensor] = []
    for first in reversed(network.units):
        exit_ = output
        for layer in reversed(range(first, first + network.unit_depth)):
            behind.append(output)
            output = torch.bmm(weights[layer].mT, output)
        if network.has_shortcuts:
            output = output + exit_
    return behind[::-1]


def identity_of(weights: torch.Tensor) -> torch.Tensor:
    """An identity matrix for every run, shape (runs, width, width), like the weights in type and device."""
    _, runs, _, width = weights.shape
    return torch.eye(width, dtype=weights.dtype, device=weights.device).expand(runs, width, width)
