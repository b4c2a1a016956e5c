"""Architectures of convolutional networks, and counts of their weights. Imports only NumPy."""

from dataclasses import dataclass

import numpy as np


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
    """The convolutions of a network as columns, each of shape (convolutions,).

    Attributes:
        layer: its name.
        kernel: height and width.
        inputs: channels.
        outputs: channels.
        stride: in both directions.
        weights: trainable ones.
        trainable: of the whole network, shape ().
    """

    layer: np.ndarray
    kernel: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    stride: np.ndarray
    weights: np.ndarray
    trainable: np.ndarray
