"""What docs/findings calls measured by this: ``python -m benchmarks.findings``, after a laptop-scale run.

Not a benchmark: trainings that were looked at to find out why claims fail. ``docs/values.py`` has the numbers that the
committed tables give.
"""

import sys
from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch

from resaudit.data.whiten import Moments
from resaudit.figures.rates import BestRate
from resaudit.figures.sweeps import best_rates
from resaudit.plan.bounded import Key
from resaudit.plan.composition import load
from resaudit.plan.models import Layout
from resaudit.plan.plan import make_plan
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.hessians import hessians
from residual.demystifying_resnet.networks.linear import LinearObjective, forward
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import initial_weights

RATE = 3.16227766017
THRESHOLDS = (0.0, 3.6e-13, 1e-4, 1e-2, 1e-1)


def main() -> None:
    """Print every table."""
    plan = make_plan(load(sys.argv[1:]))
    layout = Layout(plan.config.paths)
    (data,) = plan.jobs_of("whiten").values()
    moments = data.read(layout.results)
    index_by_threshold(moments)
    one_run_to_the_end(moments)
    many_runs(moments, best_rates(pd.read_csv(layout.figure("demystifying_resnet/fig07", "csv")), "excess_loss"))


def index_by_threshold(moments: Moments) -> None:
    """Share of eigenvalues below minus a share of the largest, along one run of the 2-shortcut network."""
    network, epochs = Network(2, 16, 10), (0, 2, 3, 4, 10, 50)
    trajectory = _train(network, moments, runs=1, epochs=50, snapshots=epochs)
    print("epoch  " + "".join(f"{-share:>10g}" for share in THRESHOLDS))
    for epoch, weights in zip(epochs, trajectory.snapshots, strict=True):
        eigenvalues = torch.linalg.eigvalsh(hessians(torch.from_numpy(weights), network, moments)[0]).numpy()
        largest = np.abs(eigenvalues).max()
        shares = [(eigenvalues < -share * largest).mean() for share in THRESHOLDS]
        print(f"{epoch:5}  " + "".join(f"{share:10.3f}" for share in shares))


def one_run_to_the_end(moments: Moments) -> None:
    """Figure 7's 2-shortcut runs of depth 96, five times as long; what the slowest is missing at epoch 1000."""
    network = Network(2, 96, 10)
    trajectory = _train(network, moments, runs=10, epochs=5000, snapshots=(1000,))
    slowest = int(np.argmax(trajectory.excess_loss[1000]))
    print("excess at epoch 1000:", np.array2string(np.sort(trajectory.excess_loss[1000]), precision=2))
    later = {epoch: float(f"{trajectory.excess_loss[epoch, slowest]:.2g}") for epoch in (1000, 1500, 2000, 3000, 5000)}
    print(f"run {slowest} by epoch:", later)
    product = forward(torch.from_numpy(trajectory.snapshots[0]), network)[-1][slowest].numpy()
    missing = np.linalg.svd(product - moments.optimal_map, compute_uv=False)
    print(f"share of its largest singular direction in the distance: {missing[0] ** 2 / np.sum(missing**2):.4f}")
    for name, matrix in (("optimal map", moments.optimal_map), ("its map", product)):
        print(f"singular values of the {name}:", np.linalg.svd(matrix, compute_uv=False).round(4))


def many_runs(moments: Moments, best: Mapping[Key, BestRate], runs: int = 200) -> None:
    """Figure 7's deepest networks at their best rates, in so many runs that rare ones are among them."""
    for depth in (64, 96):
        means = {}
        for name, shortcut, scale in (("2-shortcut", 2, 0.01), ("orthogonal", 0, 1.0), ("xavier", 0, 1.0)):
            network, rate = Network(shortcut, depth, 10), best[name, depth].shown
            initialization = "orthogonal" if name == "orthogonal" else "xavier"
            weights = initial_weights(network, initialization, scale, seed=1, runs=runs)
            objective = LinearObjective.of(network, moments, torch.device("cpu"))
            rates = torch.full((runs,), rate, dtype=weights.dtype)
            excess = descend(objective, weights, rates, 1000, ()).excess_loss[-1]
            means[name] = excess.mean()
            print(
                f"{name}, depth {depth}, rate {rate:g}, {runs} runs: mean excess {means[name]:.2g}, median "
                f"{np.median(excess):.2g}, {100 * np.mean(excess > 1e-4):g} % above 1e-4, largest {excess.max():.2g}"
            )
        print({name: f"{mean / means['2-shortcut']:.3g} times" for name, mean in means.items()})


def _train(network: Network, moments: Moments, runs: int, epochs: int, snapshots: tuple[int, ...]) -> Trajectory:
    """Runs of Figure 7's 2-shortcut network at its best rate at depths 16 and 96."""
    weights = initial_weights(network, "xavier", 0.01, seed=1, runs=runs)
    objective = LinearObjective.of(network, moments, torch.device("cpu"))
    return descend(objective, weights, torch.full((runs,), RATE, dtype=weights.dtype), epochs, snapshots)


if __name__ == "__main__":
    main()
