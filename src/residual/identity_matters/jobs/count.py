"""The convolutions of a network and their trainable weights, counted in the network itself."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from resaudit.paper import Cost, Job, Work, arrays
from residual.images.setting import AllConvolutional, Architecture


@dataclass(frozen=True)
class LayerCounts:
    """The convolutions of a network as columns, each of shape (rows,)."""

    layer: arrays.Text  # its name
    kernel: arrays.Int  # height and width
    inputs: arrays.Int  # channels
    outputs: arrays.Int  # channels
    stride: arrays.Int  # in both directions
    weights: arrays.Int  # trainable ones
    trainable: Annotated[arrays.Int, arrays.Shape()]  # of the whole network


@dataclass(frozen=True)
class Count(Job):
    """One network."""

    kind = "count"
    files = {"counts.npz": LayerCounts}
    typical = Cost(4.0, 560.0)

    network: str  # name of the network
    architecture: Architecture  # what it is built from

    @property
    def stem(self) -> str:
        return self.network

    def run(self, work: Work) -> dict[str, Any]:
        return {"counts.npz": count_layers(self.architecture)}


def count_layers(plan: Architecture) -> LayerCounts:
    """Every convolution of the network, built without memory, and its number of trainable weights."""
    import torch

    from residual.images.networks.all_convolutional import AllConvolutionalNetwork
    from residual.images.networks.layers import Convolution

    with torch.device("meta"):
        network = AllConvolutionalNetwork(plan, AllConvolutional())
    rows = []
    for name, layer in network.named_modules():
        if isinstance(layer, Convolution):
            outputs, inputs, kernel, _ = layer.weight.shape
            rows.append((name, kernel, inputs, outputs, layer.stride, sum(p.numel() for p in layer.parameters())))
    names, *numbers = zip(*rows, strict=True)
    kernels, inputs_, outputs_, strides, weights = map(np.array, numbers)
    trainable = np.array(sum(p.numel() for p in network.parameters()))
    return LayerCounts(np.array(names), kernels, inputs_, outputs_, strides, weights, trainable)
