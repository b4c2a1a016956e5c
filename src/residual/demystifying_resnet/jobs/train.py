"""Training an ensemble by gradient descent on all samples: every learning rate and seed at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from resaudit.paper import BestRate, Cost, Execution, Job, Tolerance, Whiten, Work
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import Ensemble
from residual.demystifying_resnet.training.fused import kernel_of, library, unfit

if TYPE_CHECKING:
    import torch

    from residual.demystifying_resnet.networks.gradient_descent import Objective
    from residual.descent import AfterStep, Descent


# Measured on one core at 2.6 GHz with MKL, with a job on the other core; see benchmarks/RESULTS.md.
SECONDS_PER_LAYER_STEP = 8e-6
SECONDS_PER_LAYER_STEP_AND_RUN = 1.2e-6
SECONDS_PER_SAMPLE_AND_PARAMETER = {"fused": 6 / 165e9, "torch": 6 / 30e9}
SAMPLES = 60_000
MEGABYTES_OF_SAMPLES = {"fused": 50.0, "torch": 1000.0}
# A longer training would leave the other core idle at the end of a run.
SECONDS_FOR_TWO_THREADS = 120.0
RATES_TIED = 3
"""Typical number of learning rates tied for the best."""


@dataclass(frozen=True)
class Train(Job):
    """One ensemble's training."""

    kind = "train"
    files = {"trajectory.npz": Trajectory}

    data: Whiten  # training data
    ensemble: Ensemble  # the runs
    epochs: int  # steps of gradient descent
    learning_rates: tuple[float, ...] = ()  # to try; empty if they come from a sweep
    sweep: Optional["Train"] = None  # the training whose best rates are used
    rate: str | None = None  # which of them, a choice of training.rates.followed_rates
    snapshot_epochs: tuple[int, ...] = ()  # epochs whose weights are kept

    @property
    def stem(self) -> str:
        """The ensemble's stem."""
        return self.ensemble.stem

    @property
    def trajectories(self) -> int:
        """Number of runs: seeds times learning rates, an estimate if the rates come from a sweep."""
        return self.ensemble.runs * (len(self.learning_rates) or RATES_TIED)

    def size(self, name: str) -> int | None:
        """All but the number of runs at the best rates of a sweep, which only the sweep's losses decide."""
        network = self.ensemble.network
        sizes = {"points": self.epochs + 1, "depth": network.depth, "width": network.width}
        sizes |= {"snapshots": len(self.snapshot_epochs)} | ({} if self.sweep else {"runs": self.trajectories})
        return sizes.get(name)

    def cost(self, execution: Execution) -> Cost:
        """The cost on a CPU, if no run diverges."""
        runs, network = self.trajectories, self.ensemble.network
        weights = 8e-6 * runs * network.parameters
        recorded = 24e-6 * runs * (self.epochs + 1)
        megabytes = Cost.START.megabytes + recorded + weights * (6 + 2 * len(self.snapshot_epochs))
        if network.is_linear:
            # Measured for widths 10, 20, 49 and 100: 1, 4, 13 and 81 times the seconds.
            per_run = SECONDS_PER_LAYER_STEP_AND_RUN * (network.width / 10) ** 2
            step = SECONDS_PER_LAYER_STEP + per_run * runs
            return Cost(Cost.START.seconds + step * network.depth * self.epochs, megabytes)
        kernel = "torch" if execution.kernel == "torch" or unfit(network) or not library() else "fused"
        each = SECONDS_PER_SAMPLE_AND_PARAMETER[kernel]
        seconds = Cost.START.seconds + each * SAMPLES * network.parameters * runs * self.epochs
        # The fused kernel's bits do not depend on the number of threads.
        threads = 2 if kernel == "fused" and seconds > SECONDS_FOR_TWO_THREADS else 1
        return Cost(seconds, megabytes + MEGABYTES_OF_SAMPLES[kernel] + 6 * weights, threads, wants_gpu=True)

    def reads(self, results: Path) -> list[Path]:
        """The sweep, and the data: moments for a linear network, else every sample."""
        of_data = "moments.npz" if self.ensemble.network.is_linear else "samples.npz"
        of_sweep = self.sweep.written(results) if self.sweep else []
        return [*self.data.written(results, of_data), *of_sweep]

    def warnings(self, execution: Execution) -> tuple[str, ...]:
        """That networks with activations train slowly without the compiled kernel; refuses one that cannot be used."""
        if self.ensemble.network.is_linear:
            return ()
        kernel, reason = kernel_of(self.ensemble.network, execution.kernel, execution.device)
        if kernel == "fused" or execution.device == "cuda" or execution.kernel == "torch":
            return ()
        return (f"on a CPU networks with ReLUs train some five times slower here: {reason}",)

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        if not self.ensemble.network.is_linear:
            # float32, and ReLUs' kinks amplify a last digit. Measured with vectors of half the width, at depths 4 and
            # 16: up to 11 of 18 runs part, those at large rates, after 3 to 966 epochs. In the first three they are at
            # most 2e-5, 5e-4 and 3e-7 apart, where another seed's are at least 1e-2 in the loss or 1e-3 in the norm.
            return {
                "excess_loss": Tolerance(relative=1e-3, differing=0.7, runs=1, first=(3, 1e-3)),
                "gradient_norm": Tolerance(relative=1e-2, absolute=1e-6, differing=0.7, runs=1, first=(3, 1e-2)),
                "mean_frobenius_norm": Tolerance(relative=1e-2, differing=0.5, runs=1, first=(3, 1e-5)),
                "snapshots": Tolerance(relative=1e-2, absolute=1e-3, differing=0.7, runs=2),
            }
        # float64 and no kink keep linear networks close.
        return {
            "baseline_loss": Tolerance(relative=1e-9),
            # Near the edge of stability gradient descent amplifies rounding in some runs.
            "excess_loss": Tolerance(relative=1e-6, absolute=1e-12, differing=0.05, runs=1),
            # It vanishes at the optimum, where its relative error grows.
            "gradient_norm": Tolerance(relative=1e-3, absolute=1e-9, differing=0.05, runs=1),
            "mean_frobenius_norm": Tolerance(relative=1e-2, differing=0.05, runs=1),
            # Directions that change the loss little are known less well than the loss.
            "snapshots": Tolerance(relative=1e-3, absolute=1e-4, differing=0.05, runs=2),
        }

    def run(self, work: Work) -> dict[str, Any]:
        """Train; resume from a checkpoint if there is one."""
        import torch

        from residual.descent import resumed

        device = torch.device(work.device)
        with work.delayed_signals() as signalled:
            objective, work.record["kernel"] = self.objective(work, device)
            rates = self.rates(work.results)
            settings = {"learning rates": list(rates), "kernel": work.record["kernel"]}
            trajectory = train(self, objective, rates, device, *resumed(self, work, settings, "epoch", signalled))
        return {"trajectory.npz": trajectory}

    def objective(self, work: Work, device: "torch.device") -> tuple["Objective", str]:
        """The objective, and what computes it, in words."""
        from residual.demystifying_resnet.networks.linear import LinearObjective
        from residual.demystifying_resnet.training.sampled import sampled_objective

        network = self.ensemble.network
        if network.is_linear:
            moments = self.data.moments(work.results)
            return LinearObjective.of(network, moments, device), "moments of the data in torch"
        return sampled_objective(network, self.data.samples(work.results), device, work.execution.kernel)

    def kernels(self, device: str, lanes: Mapping[str, int]) -> tuple[str, ...]:
        """As :meth:`objective` names them."""
        network = self.ensemble.network
        if network.is_linear:
            return ("moments of the data in torch",)
        if unfit(network) or device == "cuda" or "training" not in lanes:
            return ("torch, *",)
        return "torch, *", f"fused kernel, vectors of {lanes['training']} floats"

    def rates(self, results: Path) -> Sequence[float]:
        """The learning rates to train at."""
        if self.sweep is None or self.rate is None:
            return self.learning_rates
        return followed_rates(self.sweep.read(results), self.rate)

    def read(self, results: Path, with_snapshots: bool = False) -> Trajectory:
        """The trajectory; its weights are read only ``with_snapshots``."""
        trajectory: Trajectory = self.read_first(results, () if with_snapshots else ("snapshots",))
        return trajectory


def train(
    job: Train,
    objective: "Objective",
    learning_rates: Sequence[float],
    device: "torch.device",
    start: "Descent[np.ndarray] | None" = None,
    after_epoch: "AfterStep | None" = None,
) -> Trajectory:
    """Train every seed of the ensemble at every learning rate, rates outermost.

    Arguments and result as in :func:`residual.demystifying_resnet.networks.gradient_descent.descend`.
    """
    import torch

    from resaudit.paper import Progress
    from residual.demystifying_resnet.networks.gradient_descent import descend
    from residual.descent import keep_nothing

    weights = job.ensemble.initial_weights().to(device).repeat(1, len(learning_rates), 1, 1)
    return descend(
        objective,
        weights,
        torch.tensor(learning_rates, dtype=weights.dtype).repeat_interleave(job.ensemble.runs).to(device),
        job.epochs,
        job.snapshot_epochs,
        lambda epochs: Progress.over(epochs, f"{job.id} epochs"),
        start,
        after_epoch or keep_nothing,
    )


def final_losses(*blocks: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Learning rates, ascending, shape (k,), and final excess losses of all blocks' runs, shape (runs, k)."""
    rates = np.unique(blocks[0].learning_rate)
    return rates, np.concatenate(
        [np.stack([each.excess_loss[-1][each.learning_rate == rate] for rate in rates], axis=1) for each in blocks]
    )


def followed_rates(trajectory: Trajectory, choice: str) -> tuple[float, ...]:
    """The learning rates to follow after a sweep, the shown one first.

    Args:
        trajectory: record of the sweep.
        choice: ``tied_for_best``, or the rate with the fewest diverged runs if there are some at each;
            ``tenth_of_best``, the tried rate nearest to a tenth of the shown one, or of that one.
    """
    rates, losses = final_losses(trajectory)
    left = BestRate.to_confirm(rates, losses)
    if choice == "tied_for_best":
        return left
    if choice == "tenth_of_best":
        return (float(rates[np.argmin(np.abs(np.log(rates) - np.log(left[0] / 10)))]),)
    raise ValueError(f"unknown choice of a learning rate {choice!r}; allowed: tied_for_best, tenth_of_best")
