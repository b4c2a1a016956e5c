"""Training scaled residual networks of one depth and one tau by SGD: every learning rate and seed at once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import numpy as np

from resaudit.paper import BestRate, Cost, DataError, Execution, Fetch, Job, Tolerance, Work, arrays, refuse_black
from residual.stable_scaling.network.setting import scaling_factor

if TYPE_CHECKING:
    from residual.stable_scaling.network.training import Batches, Weights

# Measured on one core of the Xeon of benchmarks/RESULTS.md, at widths 64 and 128.
FLOPS_A_SECOND = 145e9
SECONDS_PER_NUMBER = 1.6e-9
SECONDS_PER_LAYER_STEP = 3e-5
MEGABYTES_OF_IMAGES = 250.0
RATES_LEFT = 3
"""Typical number of rates that a screening leaves."""
RATE_LIMIT = 40.0
"""Residual networks diverge within a few steps at rates above this times exp(-tau^2 L), as Theorem 4's norms grow.

At scale laptop the share of a sweep's steps that are taken is within 0.23 of what follows, at all powers and depths.
"""
BYTES = {"float32": 4, "float64": 8}
BYTES_AT_ONCE = 800_000_000
"""Weights and states of the rates that train side by side, if there are several; thrice that is held at times."""


@dataclass(frozen=True)
class Losses:
    """The record of runs: every draw at every rate."""

    learning_rate: Annotated[arrays.Float, arrays.Shape("trainings")]  # in units of d/m with d outputs and width m
    run: Annotated[
        arrays.Int, arrays.Shape("trainings")
    ]  # number of its random draws; runs of one number share weights and batches
    # Of the batch of each step, before the step; infinite once a run has diverged. Measured with other instructions: a
    # fifth of the runs at depth 10, those at large rates, differ by up to 4 %.
    loss: Annotated[arrays.Float, arrays.Shape("steps", "trainings"), Tolerance(relative=1e-3, differing=0.3, runs=1)]


@dataclass(frozen=True)
class TrainScaled(Job):
    """One ensemble's training."""

    kind = "train_scaled"
    files = {"losses.npz": Losses}

    data: Fetch  # images and labels
    depth: int  # L
    width: int  # m
    power: float | None  # a of tau = L^-a; None: the plain feedforward network
    learning_rates: tuple[float, ...]  # to try, in units of d/m with d classes, for a batch's mean loss; see sweep
    runs: int  # draws of weights and batches, each trained at every rate
    samples: int  # the first ones of the training set are used
    batch: int  # samples of a step
    steps: int  # of SGD
    precision: str  # of all numbers, float32 or float64
    seed: int  # of all random draws
    first: int = 0  # number of the first draw: runs may be a block of more
    sweep: Optional["TrainScaled"] = None  # the screening whose remaining rates are used, if there are none to try
    window: int = 1  # steps at its end whose mean loss ranks them

    @property
    def stem(self) -> str:
        """Network and depth; ids have no points."""
        network = "feedforward" if self.power is None else f"power{self.power:g}".replace(".", "_")
        return f"{network}-depth{self.depth}" + (f"-from{self.first}" if self.first else "")

    @property
    def tau(self) -> float | None:
        """L^-a; None in the plain feedforward network."""
        return None if self.power is None else scaling_factor(self.depth, self.power)

    @property
    def trainings(self) -> int:
        """Every draw at every rate, an estimate if these come from a sweep."""
        return self.runs * (len(self.learning_rates) or RATES_LEFT)

    def size(self, name: str) -> int | None:
        """All but the number of trainings at the rates that a sweep leaves."""
        return None if name == "trainings" and self.sweep else super().size(name)

    def cost(self, execution: Execution) -> Cost:
        """The cost on a CPU: three products a layer, step and run that does not diverge, and its weights and states."""
        flops = 6.0 * self.batch * self.width**2
        of_run = BYTES[self.precision] / 4 * (flops / FLOPS_A_SECOND + SECONDS_PER_NUMBER * self._numbers_of_layer)
        seconds = self.depth * self.steps * (self.lasting * of_run + SECONDS_PER_LAYER_STEP)
        held = self._bytes_of_rate * min(self._rates_at_once, len(self.learning_rates) or RATES_LEFT)
        # Three times: when diverged runs leave, and while a checkpoint is written.
        megabytes = Cost.START.megabytes + MEGABYTES_OF_IMAGES + 3e-6 * held
        return Cost(Cost.START.seconds + seconds, megabytes, wants_gpu=True)

    @property
    def lasting(self) -> int:
        """The trainings that go to the end, an estimate."""
        if self.tau is None or not self.learning_rates:
            return self.trainings
        limit = RATE_LIMIT * exp(-(self.tau**2) * self.depth)
        return self.runs * max(1, sum(rate <= limit for rate in self.learning_rates))

    @property
    def _numbers_of_layer(self) -> int:
        """A run's weights and states."""
        return self.width * (self.width + self.batch)

    @property
    def _bytes_of_rate(self) -> int:
        return BYTES[self.precision] * self.depth * self.runs * self._numbers_of_layer

    @property
    def _rates_at_once(self) -> int:
        return max(1, BYTES_AT_ONCE // self._bytes_of_rate)

    def run(self, work: Work) -> dict[str, Any]:
        rates, size = self.rates(work.results), self._rates_at_once
        with work.delayed_signals() as signalled:
            train_at = self._trainer(work, signalled)
            parts = [train_at(rates[first : first + size], first) for first in range(0, len(rates), size)]
        return {"losses.npz": arrays.joined(parts, axis=-1)}

    def _trainer(self, work: Work, signalled: Callable[[], int | None]) -> Callable[[tuple[float, ...], int], Losses]:
        """Trains at some rates, of which the first has a number; their losses are kept until the job is done."""
        from resaudit.paper import Checkpoint, Progress
        from residual.descent import resumed
        from residual.stable_scaling.network.training import train

        weights, batches = self.start(work.device)

        def loop(steps: range) -> Iterable[int]:
            return Progress.over(steps, f"{self.id} steps")

        def trained(rates: tuple[float, ...], first: int) -> Losses:
            settings = {"learning rates": list(rates)}
            done = Checkpoint.of(self, work, Losses, settings, f"rate{first}.losses")
            if (kept := done.read()) is not None:
                return kept
            start, keep = resumed(self, work, settings, "step", signalled, f"rate{first}")
            loss = train(weights, self.tau, rates, batches, self.steps, loop, start, keep)
            losses = Losses(np.repeat(rates, self.runs), np.tile(self.run_numbers, len(rates)), loss)
            done.keep(lambda: losses, due=True)
            return losses

        return trained

    def rates(self, results: Path) -> tuple[float, ...]:
        """The learning rates to train at: its own, or those that the screening leaves."""
        return BestRate.to_confirm(*self.sweep.ends(results, self.window)) if self.sweep else self.learning_rates

    def ends(self, results: Path, window: int) -> tuple[np.ndarray, np.ndarray]:
        """Its rates, ascending (k,), and each run's mean loss over the last steps, shape (runs, k)."""
        losses = self.read(results)
        rates = np.unique(losses.learning_rate)
        last = losses.loss[-window:].astype(float).mean(axis=0)
        return rates, np.stack([last[losses.learning_rate == rate] for rate in rates], axis=1)

    def start(self, device: str) -> tuple["Weights", "Batches"]:
        """Initial weights and the batches, on a device; raises as :meth:`run`."""
        import torch

        from residual.stable_scaling.network.training import ShuffledBatches, Weights, drawn

        images, labels = self.data.training_set()
        if len(images) < self.samples:
            raise DataError(f"{self.data.dataset.name} has {len(images)} training images; {self.samples} are asked for")
        images, labels = images[: self.samples], labels[: self.samples]
        refuse_black(images, self.data.dataset.name)
        classes, inputs = self.data.dataset.classes, int(np.prod(images.shape[1:]))
        runs = range(self.first, self.first + self.runs)
        drawn_weights = drawn(inputs, self.width, self.depth, classes, self.seed, runs, self.power is None)
        dtype = {"float32": torch.float32, "float64": torch.float64}[self.precision]
        weights = Weights(*(part.to(device, dtype) for part in drawn_weights))
        return weights, ShuffledBatches(images, labels, classes, self.batch, self.seed, runs, weights.last)
