"""What a training on images costs: multiplications, memory and time, from a network's setting. Imports no torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation, Recipe

# Measured on one core, and on one H100 in single precision; see benchmarks/RESULTS.md.
CPU_FLOPS_A_SECOND = 60e9
GPU_FLOPS_A_SECOND = 25e12
GPU_SECONDS_A_LAYER_AND_IMAGE = {1: 2.3e-6, 2: 1.8e-6, 3: 1.6e-6, 4: 1.5e-6}
"""By the runs that train at once, each on a stream: small layers leave a GPU idle."""
# Forward, and the gradients by inputs and by weights.
PRODUCTS = 3
# Tensors of the largest layer's size, beside saved ones: gradients on their way, and an algorithm's workspace.
PASSING = 4
# Likewise, what cuDNN's transforms take in eager steps and again in a graph.
GPU_TRANSFORMS = 36
# Images of one batch of the test, and hidden layers of theirs that exist at once.
TEST_BATCH, TESTING = 250, 4
# Copies of the weights: themselves, momentum, gradients one by one and joined, and those kept while a graph is checked.
COPIES = 6
FLOAT = 4


@dataclass(frozen=True)
class OperationCounts:
    """A network's counts for one image."""

    macs: float  # multiplications of its convolutions, forward
    saved: float  # numbers that the backward pass needs
    largest: float  # numbers of its largest hidden layer
    layers: int  # convolutions and the last layer
    weights: int  # parameters of convolutions


@dataclass(frozen=True)
class _Layer:
    """A convolution."""

    inputs: int  # channels
    outputs: int  # channels
    kernel: int  # height and width
    pixels_in: int
    pixels: int  # of the result

    @property
    def before(self) -> int:
        return self.inputs * self.pixels_in

    @property
    def after(self) -> int:
        return self.outputs * self.pixels


def counts(network: Network, channels: int = 3, side: int = 32) -> OperationCounts:
    """The counts of a network for square images.

    >>> [round(counts(PreActivation(depth)).macs / 1e9, 3) for depth in (38, 110, 434, 1202)]
    [0.083, 0.253, 1.017, 2.829]
    >>> round(counts(AllConvolutional()).macs / 1e9, 3), counts(AllConvolutional()).weights
    (1.973, 13538736)
    """
    first, *others = _layers(network, channels, side)
    together = [first, *others]
    return OperationCounts(
        macs=sum(layer.kernel**2 * layer.inputs * layer.after for layer in together),
        saved=first.before + _saved(network, first, others),
        largest=max(layer.after for layer in together),
        layers=len(together) + 1,
        weights=sum(layer.kernel**2 * layer.inputs * layer.outputs for layer in together),
    )


def run_megabytes(network: Network, recipe: Recipe, channels: int = 3, side: int = 32) -> float:
    """Memory of one run, without the data set and the test."""
    count = counts(network, channels, side)
    return FLOAT * (recipe.batch * (count.saved + PASSING * count.largest) + COPIES * count.weights) / 1e6


def gpu_run_megabytes(network: Network, recipe: Recipe, channels: int = 3, side: int = 32) -> float:
    """As :func:`run_megabytes`, on a GPU, whose steps are a graph."""
    transforms = FLOAT * recipe.batch * GPU_TRANSFORMS * counts(network, channels, side).largest / 1e6
    return run_megabytes(network, recipe, channels, side) + transforms


def test_megabytes(network: Network, channels: int, side: int) -> float:
    """Memory of a batch of test images; a CPU takes it from that of the run, a GPU's graph keeps its own."""
    return FLOAT * TEST_BATCH * TESTING * counts(network, channels, side).largest / 1e6


def cpu_seconds(network: Network, images: int, tests: int) -> float:
    """On one core: training on so many images, and testing so many."""
    return 2 * counts(network).macs * (PRODUCTS * images + tests) / CPU_FLOPS_A_SECOND


def gpu_seconds(network: Network, images: int, tests: int, at_once: int = 1) -> float:
    """On one GPU with so many runs at once, by arithmetic, or by layers if they are small, whichever takes longer."""
    count = counts(network)
    arithmetic = 2 * count.macs * (PRODUCTS * images + tests) / GPU_FLOPS_A_SECOND
    return max(arithmetic, count.layers * images * GPU_SECONDS_A_LAYER_AND_IMAGE[at_once])


def _layers(network: Network, channels: int, side: int) -> Iterator[_Layer]:
    """The convolutions, in order."""
    widths, layers = (16, 32, 64), 0
    if isinstance(network, AllConvolutional):
        widths, layers = (64, 128, 256), 2 * network.blocks
    else:
        layers = (network.depth - 2) // 3
    yield _Layer(channels, 16, 3, side**2, side**2)
    inputs = 16
    for stage, outputs in enumerate(widths):
        for place in range(layers):
            before = side
            if place == 0 and stage > 0:
                side = -(-side // 2)
            yield _Layer(inputs, outputs, 3, before**2, side**2)
            inputs = outputs


def _saved(network: Network, first: _Layer, others: list[_Layer]) -> float:
    if isinstance(network, PreActivation):
        # Inputs of each batch norm and, after the ReLU, of each convolution; the last batch norm has no convolution.
        return 2 * sum(layer.before for layer in others) + 2 * others[-1].after
    pairs = list(zip(others[::2], others[1::2], strict=True))
    if isinstance(network, PostActivation):
        scaled = network.learnable
        if network.batch_norm:
            # First: batch norm's input, ReLU's output. A block: inputs of two batch norms, outputs of two ReLUs.
            return 2 * first.after + sum((4 + scaled) * one.after for one, _ in pairs)
        # First: ReLU's output. A block: inputs of two convolutions, outputs of two ReLUs.
        return first.after + sum(one.before + (3 + scaled) * one.after for one, _ in pairs)
    # A block: inputs of two convolutions; where it halves the image, the padded input beside the pooled one.
    return sum(one.before + one.after + (one.pixels < one.pixels_in) * one.before for one, _ in pairs)
