"""Build a network for images from its setting."""

import numpy as np
from torch import nn

from residual.images.networks.all_convolutional import AllConvolutionalNetwork, architecture
from residual.images.networks.layers import RandomLayer
from residual.images.networks.postactivation import PostActivationNetwork
from residual.images.networks.preactivation import PreActivationNetwork
from residual.images.setting import AllConvolutional, Network, PostActivation


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
