"""Training an ensemble on moments against one autograd run after the other on the 60 000 samples.

python -m benchmarks.train_ensemble [--threads N]

The ensemble: 2-shortcut, depth 16, 20 learning rates x 10 runs, 1000 epochs. The peer is timed on 5 epochs of one run
and scaled to 200 runs of 1000 epochs; it is linear in both, and diverging runs are given to neither side for free:
ours is timed twice, with the protocol's rates (some diverge) and with rates at which all runs stay.
"""

import argparse

import torch
from benchmarks.common import by_turns, machine, whitened_mnist

from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from residual.demystifying_resnet import plain
from residual.demystifying_resnet.jobs.train import Train, train
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import Ensemble, initial_weights

RUNS, EPOCHS, PEER_EPOCHS, ROUNDS = 10, 1000, 5, 3


def main() -> None:
    """Print the seconds of both and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    whitened, moments = whitened_mnist()
    inputs, targets = torch.from_numpy(whitened.inputs), torch.from_numpy(whitened.targets)
    network = Network(2, 16, 10)
    plan = make_plan(load(["scale=paper"], only=["demystifying_resnet/fig07"]))
    sweep = next(job for job in plan.jobs.values() if isinstance(job, Train))
    rates, job = sweep.learning_rates, Train(sweep.data, Ensemble(network, "xavier", 0.01, 1, RUNS), EPOCHS)

    start = initial_weights(network, "xavier", 0.01, 1, 1)[:, 0]

    def peer() -> None:
        for _ in plain.train(start, inputs, targets, 2, 0.1, PEER_EPOCHS - 1):
            pass

    cpu = torch.device("cpu")
    objective = LinearObjective.of(network, moments, cpu)
    seconds = by_turns(
        ROUNDS,
        protocol=lambda: train(job, objective, rates, cpu),
        all_stay=lambda: train(job, objective, [0.1] * len(rates), cpu),
        peer=peer,
    )
    peer_seconds = seconds["peer"] * EPOCHS / PEER_EPOCHS * RUNS * len(rates)
    print(machine())
    print(f"peer, scaled from {PEER_EPOCHS} epochs of one run: {peer_seconds:.0f} s")
    for name in ("protocol", "all_stay"):
        print(f"ensemble, {name}: {seconds[name]:.2f} s; peer/ensemble {peer_seconds / seconds[name]:.0f}")


if __name__ == "__main__":
    main()
