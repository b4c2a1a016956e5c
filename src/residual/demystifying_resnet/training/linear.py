"""Exact loss and gradient of linear networks from the moments of the data, without a loop over samples."""

from dataclasses import dataclass

import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.linear import backward, forward
from residual.demystifying_resnet.networks.network import Network


@dataclass(frozen=True)
class LinearObjective:
    """The loss (1/2m) sum |y - f(x)|^2 of a linear network (Demystifying ResNet, eq. 23), from moments.

    With P* the least-squares map and D = P - P*, the loss is its optimum + <D, D S_XX>/2. The second term, the
    *excess loss*, is computed as such: subtracting the optimum from the loss would lose the digits that
    Figure 7 is about.
    """

    network: Network
    optimal_map: torch.Tensor
    xx: torch.Tensor
    baseline_loss: float

    @classmethod
    def of(cls, network: Network, moments: Moments, device: torch.device) -> "LinearObjective":
        """Put the moments on a device."""
        return cls(
            network,
            torch.from_numpy(moments.optimal_map).to(device),
            torch.from_numpy(moments.xx).to(device),
            moments.optimal_loss,
        )

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Excess loss, shape (runs,), and gradient, shape of ``weights`` = (depth, runs, width, width)."""
        *inputs, product = forward(weights, self.network)
        distance = product - self.optimal_map
        residual = distance @ self.xx
        excess = 0.5 * (distance * residual).sum(dim=(1, 2))
        gradient = torch.empty_like(weights)
        for layer, behind in enumerate(backward(weights, self.network, residual)):
            torch.bmm(behind, inputs[layer].mT, out=gradient[layer])
        return excess, gradient
