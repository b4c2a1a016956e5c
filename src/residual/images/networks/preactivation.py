"""The pre-activation residual network of fb.resnet.torch for images of 32 x 32, with shortcuts of any depth."""

from functools import partial

import torch
from torch import nn

from residual.images.networks.layers import BatchNorm, Convolution, Linear, add_stages, average, subsample, widen
from residual.images.setting import PreActivation


class Block(nn.Module):
    """x + B(x), where B is batch norm, ReLU and convolution, repeated.

    In a stage's ``first`` block, the first batch norm and ReLU come before the shortcut.
    """

    norm1: BatchNorm
    conv1: Convolution

    def __init__(self, inputs: int, outputs: int, stride: int, first: bool, *, setting: PreActivation) -> None:
        super().__init__()
        self.first, self.depth, self.stride, self.outputs = first, setting.shortcut_depth, stride, outputs
        for place in range(1, self.depth + 1):
            self.add_module(f"norm{place}", BatchNorm(inputs, setting.statistics))
            self.add_module(f"conv{place}", Convolution(inputs, outputs, stride))
            inputs, stride = outputs, 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The shortcut subsamples x and adds channels of zeros."""
        if self.first:
            x = self.norm1(x).relu_()
        shortcut = widen(subsample(x, self.stride), self.outputs)
        x = self.conv1(x if self.first else self.norm1(x).relu_())
        for place in range(2, self.depth + 1):
            x = getattr(self, f"conv{place}")(getattr(self, f"norm{place}")(x).relu_())
        return x.add_(shortcut)


class PreActivationNetwork(nn.Module):
    """A convolution, three stages of blocks, batch norm, ReLU, the mean over the image, a linear layer.

    Attributes:
        rate_factors: factors of the learning rate of single parameters: none.
    """

    stage1: nn.Sequential
    stage2: nn.Sequential
    stage3: nn.Sequential

    def __init__(self, setting: PreActivation, channels: int, classes: int) -> None:
        super().__init__()
        self.rate_factors: dict[str, float] = {}
        self.first = Convolution(channels, 16)
        blocks = (setting.depth - 2) // (3 * setting.shortcut_depth)
        add_stages(self, ((16, blocks, 1), (32, blocks, 2), (64, blocks, 2)), 16, partial(Block, setting=setting))
        self.norm = BatchNorm(64, setting.statistics)
        self.last = Linear(64, classes, zero_bias=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores, shape (images, classes), of images (images, channels, height, width)."""
        x = self.stage3(self.stage2(self.stage1(self.first(x))))
        scores: torch.Tensor = self.last(average(self.norm(x).relu_()))
        return scores
