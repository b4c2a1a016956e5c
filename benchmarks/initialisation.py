"""Norms and gradients at initialisation: all runs at once against run by run, and against explicit matrices.

All three give numbers of the same law. Then networks that share their draws against one by one, and norms of products
that share their layers against each pair by itself.

``python benchmarks/initialisation.py [RUNS]``; one thread: OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1.
"""

import sys
import time
from collections.abc import Callable
from functools import reduce

import numpy as np

from residual.stable_scaling.network.gradients import backpropagate
from residual.stable_scaling.network.products import largest_norms, pairs_of
from residual.stable_scaling.network.propagation import inputs_of, propagate
from residual.stable_scaling.network.setting import Network, Samples, layers_kept

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


def of_several_networks(m: int, n: int, runs: int) -> tuple[float, float]:
    """Nanoseconds a number of a state: twelve tau at three depths side by side, and one by one."""
    networks = [Network(m, depth, depth**-power) for power in np.linspace(0.25, 1, 12) for depth in (10, 32, DEPTH)]
    inputs, _ = inputs_of(Samples("sphere", n, 64), None, 1, range(runs))
    numbers = n * runs * m * sum(network.depth for network in networks)
    together = seconds(lambda: propagate(networks, inputs, 2, 1, range(runs)))
    alone = seconds(lambda: [propagate([network], inputs, 2, 1, range(runs)) for network in networks])
    return 1e9 * together / numbers, 1e9 * alone / numbers


def of_products(m: int, depth: int) -> tuple[float, float]:
    """Seconds for the norms of all pairs of twelve layers: ours, and each product formed by itself with all its SVD."""
    rng, tau, places = np.random.default_rng(1), depth**-0.5, layers_kept(depth, 12)
    start = np.maximum(rng.standard_normal((m, 1)) * (2 / m) ** 0.5, 0.0)
    weights = [rng.standard_normal((m, m)) / m**0.5 for _ in range(1, depth)]

    def pair_by_pair() -> list[float]:
        state, layers = start, []
        for weight in weights:
            factor = np.eye(m) + tau * weight
            state = np.maximum(factor @ state, 0.0)
            layers.append((state > 0) * factor)
        return [float(np.linalg.norm(reduce(lambda p, d: d @ p, layers[a - 1 : b]), 2)) for a, b in pairs_of(places)]

    return seconds(lambda: largest_norms(start, weights, tau, places)), seconds(pair_by_pair)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    print("| m | samples | norms at once, ms a run | run by run | explicit matrices | gradients at once | run by run |")
    print("|---|---|---|---|---|---|---|")
    for m, n in SIZES:
        once, alone, dense, gradients, one = times(m, n, runs)
        shown = f"{once * 1e3:.2f} | × {alone / once:.1f} | × {dense / once:.1f}"
        print(f"| {m} | {n} | {shown} | {gradients * 1e3:.2f} | × {one / gradients:.1f} |", flush=True)
    for m in (64, 1024):
        together, alone = of_several_networks(m, 10, max(1, (1 << 18) // (10 * m)))
        print(f"36 networks, m = {m}: {together:.1f} ns a number, × {alone / together:.1f} one by one", flush=True)
    for m, depth in ((128, 100), (512, 100)):
        ours, plain = of_products(m, depth)
        print(f"products, m = {m}, {depth} layers: {ours:.2f} s, × {plain / ours:.1f} pair by pair", flush=True)


if __name__ == "__main__":
    main()
