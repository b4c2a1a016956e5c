"""The reference implementation of the moments: the loss (1/2m) sum |y - f(x)|^2 written out over the samples."""

from collections.abc import Callable

import torch

from residual.demystifying_resnet.networks.network import Network

Loss = Callable[[torch.Tensor], torch.Tensor]


def sample_loss(network: Network, inputs: torch.Tensor, targets: torch.Tensor) -> Loss:
    """Loss as a function of one run's weights, shape (depth, width, width); samples in columns."""

    def loss(weights: torch.Tensor) -> torch.Tensor:
        hidden = inputs
        for first in network.units:
            entry = hidden
            for layer in range(first, first + network.unit_depth):
                hidden = weights[layer] @ hidden
            if network.has_shortcuts:
                hidden = hidden + entry
        return 0.5 * ((hidden - targets) ** 2).sum() / inputs.shape[1]

    return loss


def column_major(loss: Loss, network: Network) -> Loss:
    """The loss as a function of a flat vector, ordered by layer, column, row as Definition 5 has it."""
    shape = (network.depth, network.width, network.width)
    return lambda flat: loss(flat.view(shape).mT)


def flatten(weights: torch.Tensor) -> torch.Tensor:
    """One run's weights as the vector that :func:`column_major` takes."""
    return weights.mT.reshape(-1)
