"""He et al.'s post-activation residual network, as the code of "Sharp scaling factor" trains it.

With batch norm, the subsampled shortcut of a stage's first block is normalised too, before the channels of zeros.
Without, each block has four scalar biases, as Fixup's (Zhang et al. 2019).
"""

import torch
from torch import nn

from residual.images.networks.layers import BatchNorm, Convolution, Linear, add_stages, average, subsample, widen
from residual.images.setting import PostActivation

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
