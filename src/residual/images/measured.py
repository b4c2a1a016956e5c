"""Architectures of convolutional networks, and counts of their weights. Imports only NumPy."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.jobs.fields import Int, Shape, Text


@dataclass(frozen=True)
class Architecture:
    """An all-convolutional residual network.

    Attributes:
        inputs: channels of an image.
        first_outputs: channels of the first convolution.
        first_kernel: its height and width.
        first_stride: its stride.
        kernel: of all others.
        stages: channels, number of blocks of two convolutions, stride of the first of them.
        classes: r.
    """

    inputs: int
    first_outputs: int
    first_kernel: int
    first_stride: int
    kernel: int
    stages: tuple[tuple[int, int, int], ...]
    classes: int


@dataclass(frozen=True)
class LayerCounts:
    """The convolutions of a network as columns, each of shape (rows,)."""

    layer: Text  # its name
    kernel: Int  # height and width
    inputs: Int  # channels
    outputs: Int  # channels
    stride: Int  # in both directions
    weights: Int  # trainable ones
    trainable: Annotated[Int, Shape()]  # of the whole network
