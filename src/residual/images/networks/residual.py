"""The residual networks for images with pre- or post-activation, and the network of any setting.

Pre-activation: fb.resnet.torch's for images of 32 x 32, with shortcuts of any depth. Post-activation: He et al.'s, as
the code of "Sharp scaling factor" trains it. There, with batch norm, the subsampled shortcut of a stage's first block
is normalised too, before the channels of zeros; without, each block has four scalar biases, as Fixup's (Zhang et al.
2019).
"""

from functools import partial

import numpy as np
import torch
from torch import nn

from residual.images.networks.all_convolutional import AllConvolutionalNetwork, architecture
from residual.images.networks.layers import (
    BatchNorm,
    Convolution,
    Linear,
    RandomLayer,
    add_stages,
    average,
    subsample,
    widen,
)
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation


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


Tau = float | torch.Tensor


class NormalisedBlock(nn.Module):
    """relu(x + tau B(x)), where B is convolution, batch norm, ReLU, convolution, batch norm."""

    def __init__(self, inputs: int, outputs: int, stride: int, _: bool) -> None:
        super().__init__()
        self.conv1, self.norm1 = Convolution(inputs, outputs, stride), BatchNorm(outputs)
        self.conv2, self.norm2 = Convolution(outputs, outputs), BatchNorm(outputs)
        self.norm_shortcut = BatchNorm(inputs) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor, tau: Tau) -> torch.Tensor:
        """Of half x's height and width if the stride is 2."""
        shortcut = self.norm_shortcut(subsample(x, self.conv1.stride))
        change = self.norm2(self.conv2(self.norm1(self.conv1(x)).relu_()))
        return scaled_sum(shortcut, change, tau).relu_()


class BiasedBlock(nn.Module):
    """relu(x + tau B(x)), where B is convolution, ReLU, convolution, with a scalar bias before and after each."""

    def __init__(self, inputs: int, outputs: int, stride: int, _: bool) -> None:
        super().__init__()
        self.conv1, self.conv2 = Convolution(inputs, outputs, stride), Convolution(outputs, outputs)
        self.before1, self.after1 = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))
        self.before2, self.after2 = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def forward(self, x: torch.Tensor, tau: Tau) -> torch.Tensor:
        """Of half x's height and width if the stride is 2."""
        hidden = self.conv1(x + self.before1).add_(self.after1).relu_()
        change = self.conv2(hidden + self.before2).add_(self.after2)
        return scaled_sum(subsample(x, self.conv1.stride), change, tau).relu_()


def scaled_sum(shortcut: torch.Tensor, change: torch.Tensor, tau: Tau) -> torch.Tensor:
    """Shortcut + tau change, where the channels that the shortcut lacks are zeros after its own."""
    shortcut = widen(shortcut, change.shape[1])
    if isinstance(tau, float):
        return torch.add(shortcut, change, alpha=tau)
    return torch.addcmul(shortcut, change, tau)


class PostActivationNetwork(nn.Module):
    """A convolution, batch norm (or none), ReLU, three stages of blocks, the mean over the image, a linear layer.

    Attributes:
        tau: the factor of all blocks; a parameter of shape () if it is learnable.
        blocks: their number L.
        rate_factors: factors of the learning rate of single parameters: 0.1 for tau and the scalar biases.
    """

    stage1: nn.Sequential
    stage2: nn.Sequential
    stage3: nn.Sequential

    def __init__(self, setting: PostActivation, channels: int, classes: int) -> None:
        super().__init__()
        self.blocks = (setting.depth - 2) // 2
        tau = 1.0 if setting.power is None else float(self.blocks**-setting.power)
        self.tau = nn.Parameter(torch.tensor(tau)) if setting.learnable else tau
        self.first = Convolution(channels, 16)
        self.norm = BatchNorm(16) if setting.batch_norm else nn.Identity()
        block, blocks = NormalisedBlock if setting.batch_norm else BiasedBlock, self.blocks // 3
        add_stages(self, ((16, blocks, 1), (32, blocks, 2), (64, blocks, 2)), 16, block)
        self.last = Linear(64, classes, zero_bias=False)
        self.rate_factors = {name: 0.1 for name, value in self.named_parameters() if value.ndim == 0}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Class scores, shape (images, classes), of images (images, channels, height, width)."""
        tau = self.shared_tau()
        x = self.norm(self.first(x)).relu_()
        for stage in (self.stage1, self.stage2, self.stage3):
            for block in stage:
                x = block(x, tau)
        scores: torch.Tensor = self.last(average(x))
        return scores

    def shared_tau(self) -> Tau:
        """Tau; its gradient is the mean of the blocks' gradients, where autograd would give their sum."""
        if isinstance(self.tau, float):
            return self.tau
        value = self.tau.detach()
        return value + (self.tau - value) / self.blocks


def build(network: Network, channels: int, classes: int, seed: int) -> nn.Module:
    """The network with its initial weights, on the CPU, float32.

    The weights depend on the arguments alone. NumPy draws them: torch's generator on the CPU reads only the lower 32
    bits of a seed.

    Args:
        network: the network's setting, for which :func:`residual.images.setting.check` passes.
        channels: number of channels of an image.
        classes: number of classes.
        seed: at least 0.

    Returns:
        A module with an attribute ``rate_factors``: the factors of the learning rate of parameters whose rate is
        another, by name.
    """
    built: nn.Module
    if isinstance(network, AllConvolutional):
        built = AllConvolutionalNetwork(architecture(network, channels, classes), network)
    elif isinstance(network, PostActivation):
        built = PostActivationNetwork(network, channels, classes)
    else:
        built = PreActivationNetwork(network, channels, classes)
    draw(built, seed)
    return built


def draw(network: nn.Module, seed: int) -> None:
    """Overwrite the initial weights, layer by layer, with draws that depend on the seed alone."""
    rng = np.random.default_rng(seed)
    for layer in network.modules():
        if isinstance(layer, RandomLayer):
            layer.draw(rng)
