"""Activations as torch functions, and the output of a network with activations."""

from collections.abc import Callable

import torch

from residual.demystifying_resnet.networks.network import Network


def _softplus(x: torch.Tensor) -> torch.Tensor:
    # torch's own softplus has no forward derivatives of high order.
    return torch.log1p(torch.exp(x))


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "symmetric_sigmoid": lambda x: torch.tanh(x / 2),
    "softplus": _softplus,
    "shifted_softplus": lambda x: _softplus(x) - torch.log(torch.tensor(2.0, dtype=x.dtype)),
}
"""By the names of ``ACTIVATIONS``, and ReLU; symmetric sigmoid is 2/(1+e^-x) - 1."""


def output(weights: torch.Tensor, network: Network, inputs: torch.Tensor) -> torch.Tensor:
    """f(x) of every run and sample (Demystifying ResNet, eq. 2 and Definition 2).

    Args:
        weights: shape (depth, runs, width, width).
        network: with or without activations.
        inputs: samples in columns, shape (width, samples), in the type and on the device of the weights.

    Returns:
        Shape (runs, width, samples).
    """
    state = inputs.expand(weights.shape[1], *inputs.shape)
    entry = state
    for layer, step in enumerate(network.steps):
        if step.enters:
            entry = state
        state = FUNCTIONS[step.after](torch.bmm(weights[layer], FUNCTIONS[step.before](state)))
        if step.leaves:
            state = state + entry
    return state
