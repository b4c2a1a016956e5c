"""Training scaled residual networks of one depth and one tau by SGD: every learning rate and seed at once."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from resaudit.base.errors import ResauditError
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.stable_scaling.network.losses import Losses
from residual.stable_scaling.network.setting import scaling_factor

if TYPE_CHECKING:
    from residual.stable_scaling.network.model import Weights
    from residual.stable_scaling.network.training import Batches

# Measured on one core; see benchmarks/RESULTS.md.
FLOPS_A_SECOND = 45e9
SECONDS_PER_LAYER_STEP = 3e-5
MEGABYTES_OF_IMAGES = 250.0
BYTES = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class TrainScaled(Job):
    """One ensemble's training."""

    kind = "train_scaled"
    files = {"losses.npz": Losses}

    data: Fetch  # images and labels
    depth: int  # L
    width: int  # m
    power: float | None  # a of tau = L^-a; None: the plain feedforward network
    learning_rates: tuple[float, ...]  # to try, in units of d/m with d classes, for the mean loss of a batch
    runs: int  # draws of weights and batches, each trained at every rate
    samples: int  # the first ones of the training set are used
    batch: int  # samples of a step
    steps: int  # of SGD
    precision: str  # of all numbers, float32 or float64
    seed: int  # of all random draws

    @property
    def stem(self) -> str:
        """Network and depth; ids have no points."""
        network = "feedforward" if self.power is None else f"power{self.power:g}".replace(".", "_")
        return f"{network}-depth{self.depth}"

    @property
    def tau(self) -> float | None:
        """L^-a; None in the plain feedforward network."""
        return None if self.power is None else scaling_factor(self.depth, self.power)

    @property
    def trainings(self) -> int:
        """Every draw at every rate."""
        return self.runs * len(self.learning_rates)

    def cost(self, execution: Execution) -> Cost:
        """The cost on a CPU if no run diverges: three products of matrices a layer, step and run."""
        runs = self.runs * len(self.learning_rates)
        flops = 6.0 * self.batch * self.width**2 * self.depth * runs * self.steps
        seconds = flops * BYTES[self.precision] / 4 / FLOPS_A_SECOND + SECONDS_PER_LAYER_STEP * self.depth * self.steps
        numbers = self.depth * self.trainings * (self.width**2 + self.width * self.batch)
        # Three times: when diverged runs leave, and while a checkpoint is written.
        megabytes = MEGABYTES_TO_START + MEGABYTES_OF_IMAGES + 3e-6 * BYTES[self.precision] * numbers
        return Cost(SECONDS_TO_START + seconds, megabytes, wants_gpu=True)

    def run(self, work: Work) -> dict[str, Any]:
        """Train; resume from a checkpoint if there is one.

        Raises:
            ResauditError: raw files are missing or damaged, or fewer than ``samples``.
        """
        from resaudit.jobs.checkpoints import delayed_signals
        from resaudit.runtime.progress import with_progress
        from residual.descent import resumed
        from residual.stable_scaling.network.training import train

        with delayed_signals() as signalled:
            weights, batches = self.start(work.device)
            start, keep = resumed(self, work, {}, "step", signalled)

            def loop(steps: range) -> Iterable[int]:
                return with_progress(steps, f"{self.id} steps")

            losses = train(weights, self.tau, self.learning_rates, batches, self.steps, loop, start, keep)
        return {"losses.npz": losses}

    def start(self, device: str) -> tuple["Weights", "Batches"]:
        """Initial weights and the batches, on a device; raises as :meth:`run`."""
        import torch

        from residual.stable_scaling.network.batches import ShuffledBatches, drawn
        from residual.stable_scaling.network.model import Weights

        images, labels = self.data.training_set()
        if len(images) < self.samples:
            raise ResauditError(
                "too-few-images",
                "{dataset} has {images} training images; {samples} are asked for",
                dataset=self.data.dataset.name,
                images=len(images),
                samples=self.samples,
            )
        images, labels = images[: self.samples], labels[: self.samples]
        classes, inputs = self.data.dataset.classes, int(np.prod(images.shape[1:]))
        drawn_weights = drawn(inputs, self.width, self.depth, classes, self.seed, self.runs, self.power is None)
        dtype = {"float32": torch.float32, "float64": torch.float64}[self.precision]
        weights = Weights(*(part.to(device, dtype) for part in drawn_weights))
        return weights, ShuffledBatches(images, labels, classes, self.batch, self.seed, self.runs, weights.last)
