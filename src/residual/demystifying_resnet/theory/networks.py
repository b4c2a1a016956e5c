"""The loss of an n-shortcut network with activations, as a function of its weights."""

from collections.abc import Callable

import torch

from residual.demystifying_resnet.networks.functions import FUNCTIONS
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.theory.samples import Samples

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
