"""How fast this machine trains on images, against the estimates."""

import time
from collections.abc import Callable
from statistics import geometric_mean

import numpy as np
import torch

from resaudit.paper import ImageSet, keep_memory
from residual.images import costs
from residual.images.engine import deterministic, load
from residual.images.networks.build import build
from residual.images.run import TrainingRun
from residual.images.schedule import Schedule
from residual.images.setting import AllConvolutional, Network, PreActivation, Recipe

BATCH = 128
SECONDS = 5.0
WARMING = 3
"""Steps before any is timed."""
TIMED: dict[str, tuple[Network, ...]] = {
    "cpu": (PreActivation(20), AllConvolutional(1)),
    "cuda": (PreActivation(38), AllConvolutional()),
}
"""Networks of the figures; on a CPU smaller ones, whose layers are as wide."""


def slowness(device: str) -> float:
    """How many times the estimated seconds a step takes, on one core or a GPU; the geometric mean over networks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    keep_memory()
    try:
        ratios = [_seconds_a_step(network, device) / _estimated(network, device) for network in TIMED[device]]
    finally:
        torch.set_num_threads(threads)
    return geometric_mean(ratios)


def paced(step: Callable[[], object], device: torch.device, seconds: float = SECONDS) -> float:
    """Seconds of a step, called for so long and at least three times, after :data:`WARMING` calls."""
    wait: Callable[[], None] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    for _ in range(WARMING):
        step()
    wait()
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < seconds:
        step()
        count += 1
    wait()
    return (time.perf_counter() - start) / count


def random_images(train: int, tests: int = BATCH) -> ImageSet:
    """Random images of CIFAR's shape: time does not depend on them."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (train + tests, 3, 32, 32), dtype=np.uint8)
    labels = rng.integers(0, 10, train + tests, dtype=np.uint8)
    return ImageSet(pixels[:train], labels[:train], pixels[train:], labels[train:], 10)


def endless(augmentation: str = "pad_last") -> Recipe:
    """A recipe long enough never to end, at a rate at which nothing diverges."""
    return Recipe(10_000, "epochs", 1e-3, (), BATCH, augmentation, evaluations=1)  # type: ignore[arg-type]


def _seconds_a_step(network: Network, name: str) -> float:
    device, recipe, images = torch.device(name), endless(), random_images(16 * BATCH)
    with deterministic(name):
        data = load(images, recipe.augmentation, False, device)
        run = TrainingRun(build(network, 3, 10, 1), data, Schedule(recipe, len(images.train_images)), 1, 0)
        if name == "cuda":
            run.use_graph()
        return paced(run.advance, device)


def _estimated(network: Network, device: str) -> float:
    return (costs.gpu_seconds if device == "cuda" else costs.cpu_seconds)(network, BATCH, 0)
