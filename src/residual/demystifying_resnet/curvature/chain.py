"""The layer-by-layer factors of a linear network's Hessian at one point."""

from dataclasses import dataclass

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.linear import backward, forward
from residual.demystifying_resnet.networks.network import Network


@dataclass(frozen=True)
class Chain:
    """The factors of a linear network's Hessian at one point, each of shape (depth, width, width), float64."""

    network: Network  # shape and shortcuts
    weights: np.ndarray  # W_l
    before: np.ndarray  # B_l, the matrix from the network's input to layer l's input
    slopes: np.ndarray  # Lambda_l, the derivative of the loss by layer l's output map
    second: np.ndarray  # S_XX, shape (width, width)


def chains_of(weights: torch.Tensor, network: Network, moments: Moments) -> list[Chain]:
    """A chain for every run of weights (depth, runs, width, width), float64, of a linear network."""
    weights = weights.cpu()
    second = torch.from_numpy(moments.xx).to(weights)
    *inputs, product = forward(weights, network)
    residual = (product - torch.from_numpy(moments.optimal_map).to(weights)) @ second
    stacks = weights, torch.stack(inputs), torch.stack(backward(weights, network, residual))
    by_run = [np.ascontiguousarray(stack.transpose(0, 1).numpy()) for stack in stacks]
    return [Chain(network, w, b, s, second.numpy()) for w, b, s in zip(*by_run, strict=True)]
