"""What trains on images and how: networks and recipes as values. Imports no torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field


@dataclass(frozen=True)
class PreActivation:
    """fb.resnet.torch's pre-activation residual network with shortcuts of any depth; stages of 16, 32, 64 channels.

    Attributes:
        depth: layers, two more than a multiple of three times ``shortcut_depth``.
        shortcut_depth: convolutions of a block, each after batch norm and ReLU; parameters do not depend on it.
        statistics: samples of a batch over which batch norm takes its statistics.
    """

    depth: int
    shortcut_depth: int = 2
    statistics: int = 128
    family: Literal["preactivation"] = "preactivation"


@dataclass(frozen=True)
class PostActivation:
    """He et al.'s post-activation residual network, relu(x + tau B(x)), as in stable_scaling's code.

    Attributes:
        depth: layers, two more than a multiple of six; L = (depth - 2)/2 blocks.
        batch_norm: whether the branch is normalised; without, each block has four scalar biases.
        power: a of tau = L^-a; None: no tau.
        learnable: whether tau, shared by all blocks, is trained.
    """

    depth: int
    batch_norm: bool
    power: float | None
    learnable: bool = False
    family: Literal["postactivation"] = "postactivation"


@dataclass(frozen=True)
class AllConvolutional:
    """The all-convolutional residual network of identity_matters, Table 1: no normalisation.

    Attributes:
        blocks: of each of the three stages of 64, 128, 256 channels.
        small: whether residual convolutions are drawn with deviation 1/(k^2 c), else 1/(k sqrt(c)).
        projection: the last layer: fixed with entries U(+-sqrt(3/256)) or N(0, 1/256), or trained.
        leak: slope of the ReLUs below zero.
        last_relu: whether a ReLU comes before the average pool.
    """

    blocks: int = 9
    small: bool = True
    projection: Literal["uniform", "normal", "trained"] = "uniform"
    leak: float = 0.0
    last_relu: bool = False
    family: Literal["all_convolutional"] = "all_convolutional"


Network = Annotated[PreActivation | PostActivation | AllConvolutional, Field(discriminator="family")]


def check(network: Network) -> None:
    """Whether there is such a network.

    Raises:
        ValueError: depth or shortcut depth do not fit, or a value is out of its range; in one line, with what fits.
    """
    if isinstance(network, AllConvolutional):
        _demand(network.blocks >= 1, f"blocks is {network.blocks}; allowed: 1 or more")
        _demand(0 <= network.leak < 1, f"leak is {network.leak}; allowed: from 0 to below 1")
        return
    layers = 2
    if isinstance(network, PreActivation):
        layers = network.shortcut_depth
        _demand(layers >= 1, f"shortcut_depth is {layers}; allowed: 1 or more")
        _demand(network.statistics >= 1, f"statistics is {network.statistics}; allowed: 1 or more")
    elif network.power is None:
        _demand(not network.learnable, "learnable needs a power: without, there is no tau")
    more = 3 * layers  # layers of one block in each stage
    blocks = max(0, (network.depth - 2) // more)
    around = " or ".join(str(2 + more * number) for number in (blocks, blocks + 1) if number)
    _demand(
        blocks > 0 and network.depth == 2 + more * blocks,
        f"depth {network.depth} does not fit blocks of {layers} convolutions in three stages; "
        f"allowed: 2 + {more} k, such as {around}",
    )


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


@dataclass(frozen=True)
class Recipe:
    """SGD with momentum on augmented images.

    Attributes:
        length: of the training, in ``unit``.
        unit: ``epochs`` (the last batch of an epoch may be smaller) or ``steps`` (batches run on across epochs).
        learning_rate: at the start.
        milestones: the first epochs (counted from 1) or steps (from 0) at the rate divided by ten, by a hundred, ….
        warm_up: steps at a tenth of the learning rate at the start.
        batch: images of a step.
        momentum: of SGD.
        nesterov: whether momentum is Nesterov's.
        weight_decay: on ``decayed``.
        decayed: ``all`` parameters, or ``convolutions``.
        augmentation: ``pad_last``: normalise, flip, zero-pad 4, crop (fb.resnet.torch); ``pad_first``: zero-pad 4,
            crop, flip, normalise (stable_scaling); ``standardise``: pad 2, crop, flip, standardise each image
            (tensorflow/models).
        precision: of all arithmetic: single precision.
        evaluations: records of the run, evenly spaced; in ``epochs`` at the end of epochs.
    """

    length: int
    unit: Literal["epochs", "steps"]
    learning_rate: float
    milestones: tuple[int, ...]
    batch: int
    augmentation: Literal["pad_last", "pad_first", "standardise"]
    warm_up: int = 0
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float = 1e-4
    decayed: Literal["all", "convolutions"] = "all"
    precision: Literal["fp32"] = "fp32"
    evaluations: int | None = None
