"""What trains on images and how: networks and recipes as values. Imports no torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field


@dataclass(frozen=True)
class PreActivation:
    """fb.resnet.torch's pre-activation residual network with shortcuts of any depth; stages of 16, 32, 64 channels."""

    depth: int  # layers, two more than a multiple of three times shortcut_depth
    shortcut_depth: int = 2  # convolutions of a block, each after batch norm and ReLU; parameters do not depend on it
    statistics: int = 128  # samples of a batch over which batch norm takes its statistics
    family: Literal["preactivation"] = "preactivation"


@dataclass(frozen=True)
class PostActivation:
    """He et al.'s post-activation residual network, relu(x + tau B(x)), as in stable_scaling's code."""

    depth: int  # layers, two more than a multiple of six; L = (depth - 2)/2 blocks
    batch_norm: bool  # whether the branch is normalised; without, each block has four scalar biases
    power: float | None  # a of tau = L^-a; None: no tau
    learnable: bool = False  # whether tau, shared by all blocks, is trained
    family: Literal["postactivation"] = "postactivation"


@dataclass(frozen=True)
class AllConvolutional:
    """The all-convolutional residual network of identity_matters, Table 1: no normalisation."""

    blocks: int = 9  # of each of the three stages of 64, 128, 256 channels
    small: bool = True  # residual convolutions are drawn with deviation 1/(k^2 c), else 1/(k sqrt(c))
    projection: Literal["uniform", "normal", "trained"] = "uniform"  # last layer: fixed U(+-sqrt(3/256)), N(0, 1/256)
    leak: float = 0.0  # slope of the ReLUs below zero
    last_relu: bool = False  # whether a ReLU comes before the average pool
    family: Literal["all_convolutional"] = "all_convolutional"


@dataclass(frozen=True)
class Architecture:
    """Any all-convolutional residual network, layer by layer."""

    inputs: int  # channels of an image
    first_outputs: int  # channels of the first convolution
    first_kernel: int  # its height and width
    first_stride: int
    kernel: int  # height and width of all others
    stages: tuple[tuple[int, int, int], ...]  # channels, blocks of two convolutions, stride of the first of them
    classes: int  # r


Network = Annotated[PreActivation | PostActivation | AllConvolutional, Field(discriminator="family")]


def check(network: Network) -> None:
    """Refuse, with a ValueError of one line that says what fits, a network that does not exist."""
    rules = []
    if isinstance(network, AllConvolutional):
        rules = [
            (network.blocks >= 1, f"blocks is {network.blocks}; allowed: 1 or more"),
            (0 <= network.leak < 1, f"leak is {network.leak}; allowed: from 0 to below 1"),
        ]
    else:
        layers = 2
        if isinstance(network, PreActivation):
            layers = network.shortcut_depth
            rules = [
                (layers >= 1, f"shortcut_depth is {layers}; allowed: 1 or more"),
                (network.statistics >= 1, f"statistics is {network.statistics}; allowed: 1 or more"),
            ]
        else:
            rules = [
                (not network.learnable or network.power is not None, "learnable needs a power, from which tau starts")
            ]
        more = 3 * max(layers, 1)  # layers of one block in each stage
        blocks = max(0, (network.depth - 2) // more)
        around = " or ".join(str(2 + more * number) for number in (blocks, blocks + 1) if number)
        rules.append(
            (
                blocks > 0 and network.depth == 2 + more * blocks,
                f"depth {network.depth} does not fit blocks of {layers} convolutions in three stages; "
                f"allowed: 2 + {more} k, such as {around}",
            )
        )
    for holds, message in rules:
        if not holds:
            raise ValueError(message)


@dataclass(frozen=True)
class Recipe:
    """SGD with momentum on augmented images."""

    length: int  # of the training, in units
    unit: Literal["epochs", "steps"]  # the last batch of an epoch may be smaller; steps run on across epochs
    learning_rate: float  # at the start
    milestones: tuple[int, ...]  # first epochs (from 1) or steps (from 0) at the rate divided by ten, by a hundred, …
    batch: int  # images of a step
    # pad_last: normalise, flip, zero-pad 4, crop (fb.resnet.torch); pad_first: zero-pad 4, crop, flip, normalise
    # (stable_scaling); standardise: pad 2, crop, flip, standardise each image (tensorflow/models).
    augmentation: Literal["pad_last", "pad_first", "standardise"]
    warm_up: int = 0  # steps at a tenth of the learning rate at the start
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 1e-4  # of the decayed parameters
    decayed: Literal["all", "convolutions"] = "all"
    precision: Literal["fp32"] = "fp32"  # of all arithmetic
    evaluations: int | None = None  # records of the run, evenly spaced; in epochs, at the end of epochs; None: all
