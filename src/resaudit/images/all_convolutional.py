"""The all-convolutional residual network of "Identity Matters in Deep Learning", Table 1.

Blocks x + C2(relu(C1 x)) without normalization, dropout or biases; the last layer is a fixed random projection. Where a
block changes the shape, x is average-pooled and zero-padded, half of the new channels before and half after the old
ones. Shortcut and padding are those of the code the paper starts from, tensorflow/models' resnet.
"""

import numpy as np
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, conv2d, pad

from resaudit.images.measured import Architecture, LayerCounts


class Convolution(nn.Module):
    """A square convolution without bias, with TensorFlow's padding ``SAME``.

    Attributes:
        stride: in both directions.
        weight: shape (outputs, inputs, kernel, kernel), drawn normal.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, deviation: float) -> None:
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel).normal_(std=deviation))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (images, outputs, height / stride, width / stride), rounded up."""
        kernel = self.weight.shape[-1]
        # SAME puts the odd one of the zeros on the right and at the bottom.
        sides = [max(0, (-(-size // self.stride) - 1) * self.stride + kernel - size) for size in x.shape[:1:-1]]
        return conv2d(pad(x, [n for side in sides for n in (side // 2, side - side // 2)]), self.weight,
                      stride=self.stride)  # fmt: skip


class Block(nn.Module):
    """x + C2(relu(C1 x)); weights normal with standard deviation 1/(kernel^2 outputs)."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        deviation = 1 / (kernel**2 * outputs)
        self.first = Convolution(inputs, outputs, kernel, stride, deviation)
        self.second = Convolution(outputs, outputs, kernel, 1, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Pooled with window = stride and without padding, as the shortcut of the base code is."""
        stride, more = self.first.stride, self.second.weight.shape[0] - x.shape[1]
        shortcut = avg_pool2d(x, stride) if stride > 1 else x
        shortcut = pad(shortcut, (0, 0, 0, 0, more // 2, more - more // 2))
        changed: torch.Tensor = self.second(torch.relu(self.first(x)))
        return shortcut + changed


class AllConvolutional(nn.Module):
    """The network.

    Attributes:
        first: a convolution, normal with standard deviation sqrt(2/(kernel^2 outputs)), as in the base code.
        blocks: in order.
        projection: fixed, shape (channels, classes), entries N(0, 1/channels): the paper does not say which.
    """

    projection: torch.Tensor

    def __init__(self, plan: Architecture) -> None:
        super().__init__()
        kernel = plan.first_kernel
        deviation = (2 / (kernel**2 * plan.first_outputs)) ** 0.5
        self.first = Convolution(plan.inputs, plan.first_outputs, kernel, plan.first_stride, deviation)
        blocks, channels = [], plan.first_outputs
        for outputs, number, stride in plan.stages:
            for place in range(number):
                blocks.append(Block(channels, outputs, plan.kernel, stride if place == 0 else 1))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.register_buffer("projection", torch.empty(channels, plan.classes).normal_(std=channels**-0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores, shape (images, classes), of images (images, inputs, height, width)."""
        hidden: torch.Tensor = self.blocks(self.first(x))
        return hidden.mean(dim=(2, 3)) @ self.projection


def count_layers(plan: Architecture) -> LayerCounts:
    """Every convolution of the network, built without memory, and its number of trainable weights."""
    with torch.device("meta"):
        network = AllConvolutional(plan)
    rows = []
    for name, layer in network.named_modules():
        if isinstance(layer, Convolution):
            outputs, inputs, kernel, _ = layer.weight.shape
            rows.append((name, kernel, inputs, outputs, layer.stride, sum(p.numel() for p in layer.parameters())))
    names, *numbers = zip(*rows, strict=True)
    kernels, inputs_, outputs_, strides, weights = map(np.array, numbers)
    trainable = np.array(sum(p.numel() for p in network.parameters()))
    return LayerCounts(np.array(names), kernels, inputs_, outputs_, strides, weights, trainable)
