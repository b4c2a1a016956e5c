"""Training ResNet-20 on images: our engine against the usual loop, by turns in one run; images/s and their ratio.

python -m benchmarks.images [--rounds N] [--steps N] [--threads N] [--data FILE.npz]

Each has a process of its own, since the engine changes how its process allocates memory; they take turns of many steps,
so that the few batches that the loader prepares during the other's turn do not count.

The usual loop: a DataLoader with two workers over PIL images with torchvision's transforms (crop, flip, tensor,
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

from resaudit.datasets.images import ImageSet
from resaudit.images.costs import PRODUCTS, counts
from resaudit.images.engine import load
from resaudit.images.memory import keep_memory
from resaudit.images.networks.build import build
from resaudit.images.precision import computing
from resaudit.images.schedule import Schedule
from resaudit.images.setting import PostActivation, Recipe
from resaudit.images.trainee import Trainee

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


def usual(images: ImageSet, device: torch.device | None = None) -> Iterator[None]:
    """The usual loop, by default on the CPU; each item is a step."""
    network = resnet20().to(device)
    optimiser = torch.optim.SGD(network.parameters(), 0.1, 0.9, weight_decay=1e-4)
    loader = DataLoader(Pictures(images), BATCH, shuffle=True, num_workers=WORKERS)
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
    trainee = Trainee(build(NETWORK, 3, 10, 1), data, schedule, 1, 0, captured=False)
    while True:
        with computing("fp32"):
            trainee.advance()
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


def contestant(name: str, path: str | None, threads: int, orders: Connection) -> None:
    """Do as many steps as each order says, and answer with the seconds that they took."""
    torch.set_num_threads(threads)
    steps = {"usual loop": usual, "engine": ours}[name](images_of(path))
    while number := orders.recv():
        orders.send(seconds(lambda number=number: [next(steps) for _ in range(number)]))  # type: ignore[misc]


def by_turns(rounds: int, steps: int, path: str | None, threads: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds a step of the usual loop and of the engine in each round, and the speed of a product beside them."""
    processes, orders = multiprocessing.get_context("spawn"), {}
    for name in ("usual loop", "engine"):
        orders[name], theirs = processes.Pipe()
        processes.Process(target=contestant, args=(name, path, threads, theirs)).start()
    took: dict[str, list[float]] = {name: [] for name in orders}
    peaks = []
    for number in [2, *[steps] * rounds]:  # two steps to warm up
        peaks.append(peak())
        for name, order in orders.items():
            order.send(number)
            took[name].append(order.recv() / number)
    for order in orders.values():
        order.send(0)
    return took["usual loop"][1:], took["engine"][1:], peaks


def main() -> None:
    """Print a table of speeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    plain, engine, peaks = by_turns(options.rounds, options.steps, options.data, options.threads)
    flops = 2 * PRODUCTS * counts(NETWORK).macs * BATCH
    ratio = median(a / b for a, b in zip(plain, engine, strict=True))
    print(f"{machine()}\n\n| threads | usual loop, images/s | engine, images/s | ratio ", end="")
    print("| product, GFLOP/s | engine's share |")
    print("|---|---|---|---|---|---|")
    speeds = f"{BATCH / median(plain):.0f} | {BATCH / median(engine):.0f} | {ratio:.2f} | {max(peaks) / 1e9:.0f}"
    print(f"| {options.threads} | {speeds} | {flops / min(engine) / max(peaks):.0%} |")


if __name__ == "__main__":
    main()
