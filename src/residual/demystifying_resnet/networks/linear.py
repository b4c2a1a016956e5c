"""Linear networks: their maps before and behind each layer, and their exact loss from the moments of the data.

Weights have the shape (depth, runs, width, width), so that one layer of all runs is contiguous.
"""

from dataclasses import dataclass

import torch

from resaudit.paper import Moments
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


@dataclass(frozen=True)
class LinearObjective:
    """The loss (1/2m) sum |y - f(x)|^2 of a linear network (Demystifying ResNet, eq. 23), from moments.

    With P* the least-squares map and D = P - P*, the loss is its optimum + <D, D S_XX>/2. The second term, the
    *excess loss*, is computed as such: subtracting the optimum from the loss would lose the digits that
    Figure 7 is about.
    """

    network: Network
    optimal_map: torch.Tensor  # P*, shape (width, width)
    xx: torch.Tensor  # S_XX, likewise
    baseline_loss: float  # the optimum

    @classmethod
    def of(
        cls, network: Network, moments: Moments, device: torch.device, dtype: torch.dtype = torch.float64
    ) -> "LinearObjective":
        """Put the moments on a device."""
        optimal_map, xx = (torch.from_numpy(each).to(device, dtype) for each in (moments.optimal_map, moments.xx))
        return cls(network, optimal_map, xx, moments.optimal_loss)

    def residual(self, weights: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor, torch.Tensor]:
        """The matrices from the network's input to every layer's, D, and D S_XX, the derivative of the loss by P."""
        *inputs, product = forward(weights, self.network)
        distance = product - self.optimal_map
        return inputs, distance, distance @ self.xx

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Excess loss, shape (runs,), and gradient, shape of ``weights`` = (depth, runs, width, width)."""
        inputs, distance, residual = self.residual(weights)
        excess = 0.5 * (distance * residual).sum(dim=(1, 2))
        gradient = torch.empty_like(weights)
        for layer, behind in enumerate(backward(weights, self.network, residual)):
            torch.bmm(behind, inputs[layer].mT, out=gradient[layer])
        return excess, gradient
