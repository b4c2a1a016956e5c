"""What the benchmarks share: real data, the obvious peer, and timing by turns."""

import platform
import statistics
import time
from collections.abc import Callable

import torch

import resaudit
from resaudit.data.whiten import Moments, Whitened, whiten


def whitened_mnist() -> tuple[Whitened, Moments]:
    """Return all of MNIST, whitened; fetched into the data folder if it is not there."""
    whitened = whiten(*resaudit.training_set("mnist"), components=10, centered=True)
    return whitened, Moments.of(whitened.inputs, whitened.targets)


def by_turns(rounds: int, **contestants: Callable[[], object]) -> dict[str, float]:
    """Time each in turn, ``rounds`` times after one warm-up, and return the median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            if counted >= 0:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def machine() -> str:
    """Return what the numbers were measured on."""
    return f"{platform.machine()}, torch {torch.__version__}, {torch.get_num_threads()} threads"
