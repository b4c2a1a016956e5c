"""Norms and gradients at initialisation: all runs at once against run by run, and against explicit matrices.

All three give numbers of the same law. ``python benchmarks/initialisation.py [RUNS]``; one thread: OMP_NUM_THREADS=1.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from residual.stable_scaling.network.gradients import backpropagate
from residual.stable_scaling.network.propagation import inputs_of, propagate
from residual.stable_scaling.network.setting import Network, Samples

SIZES = [(64, 1), (64, 4), (256, 1), (256, 4), (1024, 4)]
DEPTH = 100


def explicit(network: Network, inputs: np.ndarray, seed: int) -> np.ndarray:
    """Squared norms of h_1 ... h_{L-1} of one run, its matrices drawn layer by layer."""
    rng, m = np.random.default_rng(seed), network.width
    state = np.maximum(rng.standard_normal((m, len(inputs))) @ inputs * (2 / m) ** 0.5, 0.0)
    norms = []
    for _ in range(1, network.depth):
        matrix = rng.standard_normal((m, m))
        state = np.maximum(state + (network.tau or 0.0) / m**0.5 * (matrix @ state), 0.0)
        norms.append((state**2).sum(axis=0).mean())
    return np.array(norms)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def times(m: int, n: int, runs: int) -> list[float]:
    """Seconds a run: norms at once, run by run, with explicit matrices; gradients at once, run by run."""
    network = Network(m, DEPTH, DEPTH**-0.5)
    inputs, targets = inputs_of(Samples("sphere", n, 64), None, 1, range(runs))
    each = [slice(run, run + 1) for run in range(runs)]
    few = max(1, runs // 16)
    return [
        seconds(lambda: propagate([network], inputs, 2, 1, range(runs))) / runs,
        seconds(lambda: [propagate([network], inputs[s], 2, 1, [s.start]) for s in each]) / runs,
        seconds(lambda: [explicit(network, inputs[run], run) for run in range(few)]) / few,
        seconds(lambda: backpropagate(network, inputs, targets, 1, range(runs))) / runs,
        seconds(lambda: [backpropagate(network, inputs[s], targets[s], 1, [s.start]) for s in each]) / runs,
    ]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print("| m | samples | norms at once, ms a run | run by run | explicit matrices | gradients at once | run by run |")
    print("|---|---|---|---|---|---|---|")
    for m, n in SIZES:
        once, alone, dense, gradients, one = times(m, n, runs)
        shown = f"{once * 1e3:.2f} | × {alone / once:.1f} | × {dense / once:.1f}"
        print(f"| {m} | {n} | {shown} | {gradients * 1e3:.2f} | × {one / gradients:.1f} |", flush=True)


if __name__ == "__main__":
    main()
