"""Architectures of convolutional networks, and counts of their weights. Imports only NumPy."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import Int, Shape, Text


@dataclass(frozen=True)
class Architecture:
    """An all-convolutional residual network."""

    inputs: int  # channels of an image
    first_outputs: int  # channels of the first convolution
    first_kernel: int  # its height and width
    first_stride: int
    kernel: int  # height and width of all others
    stages: tuple[tuple[int, int, int], ...]  # channels, blocks of two convolutions, stride of the first of them
    classes: int  # r


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
