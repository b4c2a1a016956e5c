"""Training ResNet-20 on images: our engine against the usual loop, by turns in one run; images/s and their ratio.

python -m benchmarks.images [--rounds N] [--steps N] [--cores N] [--data FILE.npz]

Each trains one run with all cores' threads, and as many runs as there are cores, with a thread each: the workflow does
the latter, since the bits of a run depend on its threads. Runs have processes of their own; contestants take turns of
many steps, so that the few batches that loaders prepare during the others' turns do not count.

The usual loop: a DataLoader with two workers in all over PIL images with torchvision's transforms (crop, flip, tensor,
normalise), contiguous NCHW batches, a plain ResNet-20 of torch's own layers, torch.optim.SGD, the loss read each step.
Batch 128, float32. Images are random bytes, or ``train_images`` and ``train_labels`` of a file. The last column is the
share of the speed of a product of two 2048 x 2048 matrices that our convolutions alone reach.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from statistics import median

import numpy as np
import torch
from benchmarks.common import machine
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from resaudit.data.images import ImageSet
from resaudit.runtime.limits import keep_memory
from residual.images.costs import PRODUCTS, counts
from residual.images.networks.residual import build
from residual.images.schedule import Schedule
from residual.images.setting import PostActivation, Recipe
from residual.images.training import TrainingRun, load

BATCH, WORKERS, SIDE = 128, 2, 2048
RECIPE = Recipe(200, "epochs", 0.1, (100, 150), BATCH, "pad_first")
NETWORK = PostActivation(20, batch_norm=True, power=None)
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


class Block(nn.Module):
    """relu(x + B(x)) with batch norm."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.stride, self.more = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        """Of half x's height and width if the stride is 2."""
        branch = self.norm2(self.conv2(torch.relu(self.norm1(self.conv1(x)))))
        shortcut = pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.more))
        return torch.relu(branch + shortcut)


def resnet20() -> nn.Module:
    """As it is usually written down."""
    layers: list[nn.Module] = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    inputs = 16
    for outputs in (16, 32, 64):
        for place in range(3):
            layers.append(Block(inputs, outputs, 2 if place == 0 and outputs > 16 else 1))
            inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Pictures(Dataset[tuple[Tensor, int]]):
    """Images as torchvision's CIFAR10 gives them."""

    def __init__(self, images: ImageSet) -> None:
        self._pixels, self._labels = images.train_images.transpose(0, 2, 3, 1), images.train_labels
        steps = [transforms.RandomCrop(32, 4), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
        self._transform = transforms.Compose([*steps, transforms.Normalize(MEAN, DEVIATION)])

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        return self._transform(Image.fromarray(self._pixels[place])), int(self._labels[place])


def usual(images: ImageSet, device: torch.device | None = None, workers: int = WORKERS) -> Iterator[None]:
    """The usual loop, by default on the CPU; each item is a step."""
    network = resnet20().to(device)
    optimiser = torch.optim.SGD(network.parameters(), 0.1, 0.9, weight_decay=1e-4)
    loader = DataLoader(Pictures(images), BATCH, shuffle=True, num_workers=workers)
    while True:
        for batch, labels in loader:
            loss = cross_entropy(network(batch.to(device)), labels.to(device))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            loss.item()
            yield


def ours(images: ImageSet) -> Iterator[None]:
    """The engine; each item is a step."""
    keep_memory()
    data = load(images, RECIPE.augmentation, True, torch.device("cpu"))
    schedule = Schedule(RECIPE, len(images.train_images))
    run = TrainingRun(build(NETWORK, 3, 10, 1), data, schedule, 1, 0)
    while True:
        run.advance()
        yield


def peak(repeats: int = 3) -> float:
    """The speed of a product of matrices, in FLOP/s."""
    a, b = torch.rand(2, SIDE, SIDE)
    return 2 * SIDE**3 / min(seconds(lambda: a @ b) for _ in range(repeats))


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def images_of(path: str | None) -> ImageSet:
    """5 120 images and few for the test: the engine evaluates before its first step."""
    if path is not None:
        with np.load(path) as file:
            train = file["train_images"], file["train_labels"]
            return ImageSet(*train, file["test_images"][:10], file["test_labels"][:10], 10)
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (5120, 3, 32, 32), dtype=np.uint8)
    labels = rng.integers(0, 10, 5120, dtype=np.uint8)
    return ImageSet(pixels, labels, pixels[:10], labels[:10], 10)


def contestant(name: str, path: str | None, processes: int, threads: int, orders: Connection) -> None:
    """Do as many steps as each order says, and answer when they are done."""
    torch.set_num_threads(threads)
    images = images_of(path)
    steps = ours(images) if name == "engine" else usual(images, workers=WORKERS // processes)
    while number := orders.recv():
        for _ in range(number):
            next(steps)
        orders.send(number)


def started(name: str, path: str | None, processes: int, threads: int) -> list[Connection]:
    """The ends of pipes to so many processes, each with a run of its own."""
    context, ends = multiprocessing.get_context("spawn"), []
    for _ in range(processes):
        ours, theirs = context.Pipe()
        context.Process(target=contestant, args=(name, path, processes, threads, theirs)).start()
        ends.append(ours)
    return ends


def images_per_second(runs: list[Connection], steps: int) -> float:
    """The speed of these runs together, side by side."""

    def take_steps() -> None:
        for run in runs:
            run.send(steps)
        for run in runs:
            run.recv()

    return len(runs) * steps * BATCH / seconds(take_steps)


def by_turns(rounds: int, steps: int, path: str | None, cores: int) -> tuple[dict[str, list[float]], list[float]]:
    """Images a second of each contestant in each round, and the speed of a product beside them."""
    runs = {
        f"{name}, {one}": started(name, path, *how)
        for name in ("usual loop", "engine")
        for one, how in {"one run on all cores": (1, cores), "a run a core": (cores, 1)}.items()
    }
    found: dict[str, list[float]] = {name: [] for name in runs}
    peaks = []
    for number in [2, *[steps] * rounds]:  # two steps to warm up
        peaks.append(peak())
        for name, each in runs.items():
            found[name].append(images_per_second(each, number))
    for run in (run for each in runs.values() for run in each):
        run.send(0)
    return {name: speeds[1:] for name, speeds in found.items()}, peaks


def main() -> None:
    """Print a table of speeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--data")
    options = parser.parse_args()
    torch.set_num_threads(options.cores)
    found, peaks = by_turns(options.rounds, options.steps, options.data, options.cores)
    flops = 2 * PRODUCTS * counts(NETWORK).macs
    best_usual = [max(pair) for pair in zip(*(found[name] for name in found if "usual" in name), strict=True)]
    print(f"{machine()}, {options.cores} cores; a product of matrices reaches {max(peaks) / 1e9:.0f} GFLOP/s\n")
    print("| who | images/s | over the faster usual loop | convolutions' share of a product's speed |")
    print("|---|---|---|---|")
    for name, speeds in found.items():
        ratio = median(a / b for a, b in zip(speeds, best_usual, strict=True))
        print(f"| {name} | {median(speeds):.0f} | {ratio:.2f} | {flops * max(speeds) / max(peaks):.0%} |")


if __name__ == "__main__":
    main()
