"""Layers that the networks for images share. Inputs have shape (images, channels, height, width)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, linear, pad


def memory_format(device: torch.device) -> torch.memory_format:
    """The format in which convolutions in single precision are fastest: on a CPU channels_last, on a GPU contiguous.

    cuDNN would turn channels_last into contiguous before its fastest algorithms, and back.
    """
    return torch.channels_last if device.type == "cpu" else torch.contiguous_format


MOMENTUM = 0.1
EPSILON = 1e-5


class RandomLayer(nn.Module, ABC):
    """A layer with random initial weights."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> None:
        """Overwrite the weights with new draws."""


def fill(tensor: torch.Tensor, values: np.ndarray) -> None:
    """Overwrite a tensor with values of its shape."""
    with torch.no_grad():
        tensor.copy_(torch.from_numpy(values))


class Convolution(RandomLayer):
    """A square convolution without bias; its initial weights are normal with the standard deviation ``deviation``."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, kernel: int = 3, deviation: float = 0.0) -> None:
        """``deviation`` 0 stands for sqrt(2/(kernel^2 outputs)), which keeps the gradients' size (He et al. 2015)."""
        super().__init__()
        self.stride = stride
        self.deviation = deviation or (2 / (kernel**2 * outputs)) ** 0.5
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel))

    def draw(self, rng: np.random.Generator) -> None:
        """Normal weights."""
        fill(self.weight, self.deviation * rng.standard_normal(tuple(self.weight.shape)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (images, outputs, height / stride, width / stride), rounded up; as many zeros on each side."""
        return conv2d(x, self.weight, stride=self.stride, padding=self.weight.shape[-1] // 2)


class BatchNorm(nn.Module):
    """Batch normalization.

    With ``statistics``, a batch is divided into the fewest equal groups of at most so many images, each with its own
    mean and variance, as on several GPUs; running statistics are the first group's. Variances are of the population, as
    the sample estimates it.
    """

    running_mean: torch.Tensor
    running_variance: torch.Tensor

    def __init__(self, channels: int, statistics: int | None = None) -> None:
        super().__init__()
        self.statistics = statistics
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_variance", torch.ones(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of x's shape; in evaluation mode with the running statistics."""
        running = self.running_mean, self.running_variance
        if not self.training:
            return batch_norm(x, *running, self.weight, self.bias, eps=EPSILON)
        groups = -(-len(x) // self.statistics) if self.statistics else 1
        if groups == 1:
            return batch_norm(x, *running, self.weight, self.bias, True, MOMENTUM, EPSILON)
        first, *others = x.chunk(groups)
        results = [batch_norm(first, *running, self.weight, self.bias, True, MOMENTUM, EPSILON)]
        results += [batch_norm(one, None, None, self.weight, self.bias, True, eps=EPSILON) for one in others]
        return torch.cat(results)


class Linear(RandomLayer):
    """X W^T + b; weights uniform in +-1/sqrt(inputs), the bias initially 0 or uniform as the weights."""

    def __init__(self, inputs: int, outputs: int, zero_bias: bool) -> None:
        super().__init__()
        self.zero_bias = zero_bias
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def draw(self, rng: np.random.Generator) -> None:
        """Uniform weights, then the bias."""
        bound = self.weight.shape[1] ** -0.5
        fill(self.weight, rng.uniform(-bound, bound, tuple(self.weight.shape)))
        if not self.zero_bias:
            fill(self.bias, rng.uniform(-bound, bound, len(self.bias)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (images, outputs), of x (images, inputs)."""
        return linear(x, self.weight, self.bias)


def subsample(x: torch.Tensor, stride: int) -> torch.Tensor:
    """Every ``stride``-th row and column, from the first; the gradient is channels_last if x is, as no slice's is."""
    return avg_pool2d(x, 1, stride) if stride > 1 else x


def average(x: torch.Tensor) -> torch.Tensor:
    """The mean over the image, shape (images, channels); the gradient has x's memory format.

    Left as it is spread out, it would have none, and all that it is added to would lose theirs.
    """
    if x.requires_grad:
        x.register_hook(lambda g: g.contiguous(memory_format=memory_format(g.device)))  # type: ignore[no-untyped-call]
    return x.mean((2, 3))


def widen(x: torch.Tensor, channels: int) -> torch.Tensor:
    """With channels of zeros after those of x, ``channels`` in all."""
    missing = channels - x.shape[1]
    return pad(x, (0, 0, 0, 0, 0, missing)) if missing else x


def add_stages(
    network: nn.Module,
    shape: Iterable[tuple[int, int, int]],
    inputs: int,
    block: Callable[[int, int, int, bool], nn.Module],
) -> list[str]:
    """Add stages of blocks: stage1.block1, …; returns the stages' names.

    Args:
        network: the network that gets them.
        shape: by stage: channels, number of blocks, stride of the first block.
        inputs: channels before the first stage.
        block: makes a block from its input channels, its output channels, its stride, and whether it is a stage's
            first.
    """
    names = []
    for number, (channels, blocks, stride) in enumerate(shape, 1):
        stage = nn.Sequential()
        for place in range(1, blocks + 1):
            first = place == 1
            stage.add_module(f"block{place}", block(inputs, channels, stride if first else 1, first))
            inputs = channels
        names.append(f"stage{number}")
        network.add_module(names[-1], stage)
    return names
