"""The all-convolutional residual network of "Identity Matters in Deep Learning", Table 1.

Blocks x + C2(relu(C1 x)) without normalization, dropout or biases; the last layer is a fixed random projection. Where a
block changes the shape, x is average-pooled and zero-padded, half of the new channels before and half after the old
ones. Shortcut and padding are those of the code the paper starts from, tensorflow/models' resnet.
"""

from functools import partial

import numpy as np
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, conv2d, leaky_relu_, pad

from residual.images.networks.layers import Convolution, RandomLayer, add_stages, average, fill
from residual.images.setting import AllConvolutional, Architecture


class SameConvolution(Convolution):
    """A convolution with TensorFlow's padding ``SAME``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (images, outputs, height / stride, width / stride), rounded up."""
        kernel = self.weight.shape[-1]
        sides = [max(0, (-(-size // self.stride) - 1) * self.stride + kernel - size) for size in x.shape[2:]]
        (top, left), odd = (side // 2 for side in sides), [side % 2 for side in sides]
        if any(odd):  # SAME puts the odd one of the zeros on the right and at the bottom.
            x = pad(x, (0, odd[1], 0, odd[0]))
        return conv2d(x, self.weight, stride=self.stride, padding=(top, left))


class ConvolutionBlock(nn.Module):
    """x + C2(relu(C1 x)), where the ReLU may have a slope below zero, ``leak``."""

    def __init__(
        self, inputs: int, outputs: int, stride: int, _: bool, *, kernel: int, setting: AllConvolutional
    ) -> None:
        super().__init__()
        self.leak = setting.leak
        deviation = 1 / (kernel**2 * outputs) if setting.small else 1 / (kernel * outputs**0.5)
        self.conv1 = SameConvolution(inputs, outputs, stride, kernel, deviation)
        self.conv2 = SameConvolution(outputs, outputs, 1, kernel, deviation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Pooled with window = stride and without padding, as the shortcut of the base code is.

        A window is cut off at the edge, where the base code would stop: images of any size can be trained on.
        """
        stride, more = self.conv1.stride, self.conv1.weight.shape[0] - x.shape[1]
        shortcut = avg_pool2d(x, stride, ceil_mode=True) if stride > 1 else x
        if more:
            shortcut = pad(shortcut, (0, 0, 0, 0, more // 2, more - more // 2))
        changed: torch.Tensor = self.conv2(activated_(self.conv1(x), self.leak))
        return changed.add_(shortcut)


def activated_(x: torch.Tensor, leak: float) -> torch.Tensor:
    """The ReLU, in place."""
    return leaky_relu_(x, leak) if leak else x.relu_()


class Projection(RandomLayer):
    """x P without bias, where P is a parameter if it is trained, else a buffer.

    Its entries are N(0, 1/channels) if it is ``normal``, else uniform in +-sqrt(3/channels).
    """

    weight: torch.Tensor

    def __init__(self, channels: int, classes: int, kind: str) -> None:
        super().__init__()
        self.normal = kind == "normal"
        weight = torch.empty(channels, classes)
        if kind == "trained":
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)

    def draw(self, rng: np.random.Generator) -> None:
        """Entries of variance 1/channels."""
        shape = tuple(self.weight.shape)
        draws = rng.standard_normal(shape) if self.normal else rng.uniform(-(3**0.5), 3**0.5, shape)
        fill(self.weight, draws * shape[0] ** -0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (images, classes), of x (images, channels)."""
        return x @ self.weight


class AllConvolutionalNetwork(nn.Module):
    """The network; its first convolution has deviation sqrt(2/(kernel^2 outputs)), as in the base code.

    Attributes:
        rate_factors: factors of the learning rate of single parameters: none.
    """

    def __init__(self, plan: Architecture, setting: AllConvolutional) -> None:
        super().__init__()
        self.rate_factors: dict[str, float] = {}
        self.first = SameConvolution(plan.inputs, plan.first_outputs, plan.first_stride, plan.first_kernel)
        self.stages = add_stages(
            self, plan.stages, plan.first_outputs, partial(ConvolutionBlock, kernel=plan.kernel, setting=setting)
        )
        self.last = Projection(plan.stages[-1][0], plan.classes, setting.projection)
        self.last_relu, self.leak = setting.last_relu, setting.leak

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores, shape (images, classes), of images (images, inputs, height, width)."""
        hidden = self.first(x)
        for stage in self.stages:
            hidden = getattr(self, stage)(hidden)
        if self.last_relu:
            hidden = activated_(hidden, self.leak)
        scores: torch.Tensor = self.last(average(hidden))
        return scores


def architecture(setting: AllConvolutional, channels: int, classes: int) -> Architecture:
    """Table 1's network for CIFAR, with any number of blocks in a stage."""
    blocks = setting.blocks
    return Architecture(channels, 16, 3, 1, 3, ((64, blocks, 1), (128, blocks, 2), (256, blocks, 2)), classes)
