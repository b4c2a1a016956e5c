"""SGD on scaled residual networks: all runs at once with a hand-written backward pass, against autograd run by run.

python -m benchmarks.scaled_training [--rounds N] [--width M] [--batch N]

Width 64, batches of 32, as at scale laptop (128, 64: in full), 5 learning rates x 4 draws, tau = 1/sqrt(L). The peer is
timed on two of the 20 runs.
"""

import argparse

import torch
from benchmarks.common import by_turns, machine
from torch import Tensor

from residual.stable_scaling import plain
from residual.stable_scaling.network.training import Weights, drawn, train

RATES, DRAWS, STEPS, PEER_RUNS = (0.3, 1.0, 3.0, 5.0, 10.0), 4, 3, 2


def main() -> None:
    """Print the seconds of both and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=32)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{machine()}\n\n| L | autograd, ms a run and step | ensemble, ms | ratio |\n|---|---|---|---|")
    generator = torch.Generator().manual_seed(1)
    inputs = torch.rand(DRAWS, 784, asked.batch, generator=generator)
    inputs /= torch.linalg.vector_norm(inputs, dim=1, keepdim=True)
    targets = torch.eye(10)[torch.randint(10, (DRAWS, asked.batch), generator=generator)].mT
    for depth in (10, 100, 1000):
        weights, tau = drawn(784, asked.width, depth, 10, 1, range(DRAWS), plain=False), depth**-0.5
        seconds = by_turns(
            asked.rounds,
            autograd=lambda w=weights, t=tau: [
                one_run(w, t, inputs[run], targets[run], run) for run in range(PEER_RUNS)
            ],
            ensemble=lambda w=weights, t=tau: train(w, t, RATES, lambda _: (inputs, targets), STEPS),
        )
        peer, ours = (
            1e3 * seconds[name] / runs / STEPS
            for name, runs in (("autograd", PEER_RUNS), ("ensemble", DRAWS * len(RATES)))
        )
        print(f"| {depth} | {peer:.2f} | {ours:.2f} | {peer / ours:.1f} |")


def one_run(weights: Weights, tau: float, inputs: Tensor, targets: Tensor, run: int) -> None:
    """SGD of one run by automatic differentiation, as one would write it."""
    first, middle, last, readout = (part[run] for part in weights)
    for _ in plain.train((first, [*middle, last], readout), tau, RATES[0], [(inputs, targets)] * STEPS):
        pass


if __name__ == "__main__":
    main()
