"""Architectures of convolutional networks, and counts of their weights. Imports only NumPy."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import arrays


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

    layer: arrays.Text  # its name
    kernel: arrays.Int  # height and width
    inputs: arrays.Int  # channels
    outputs: arrays.Int  # channels
    stride: arrays.Int  # in both directions
    weights: arrays.Int  # trainable ones
    trainable: Annotated[arrays.Int, arrays.Shape()]  # of the whole network
