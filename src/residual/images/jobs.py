"""Training one network on images: several runs, each with its own weights, order and augmentation."""

import os
from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING, Any

from resaudit.base.errors import ResauditError
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.images import costs
from residual.images.records import Records
from residual.images.schedule import Schedule
from residual.images.setting import Network, Recipe

if TYPE_CHECKING:
    from resaudit.data.images import ImageSet
    from resaudit.jobs.checkpoints import Checkpoint
    from residual.images.trainee import OnDevice, RunState, Trainee

# CIFAR's, for estimates: the plan does not read the data.
TRAIN_IMAGES, TEST_IMAGES, IMAGE_SHAPE = 50_000, 10_000, (3, 32, 32)
# Measured on a CPU: what does not grow with the batch, and the process's memory for each byte that is in use.
MEGABYTES_HELD, FRAGMENTS = 100.0, 1.2
# CUDA with its libraries.
GPU_MEGABYTES_TO_START = 600.0
NORMALISED_AS_PUBLISHED = ("cifar10", "cifar10_jpeg")
"""Data sets that the constants in the papers' codes are of."""


@dataclass(frozen=True)
class TrainImages(Job):
    """Runs of one network and one recipe."""

    kind = "train_images"
    files = {"records.npz": Records}

    data: Fetch  # the images
    network: Network  # its settings
    recipe: Recipe  # of the training
    runs: tuple[int, ...]  # their numbers; a run depends on its number and the seed, not on the others
    seed: int  # of all random draws
    shared_start: bool = False  # whether all runs start from the same weights
    samples: int | None = None  # the first training images are used; None: all

    @property
    def stem(self) -> str:
        """The network's family."""
        return self.network.family

    def cost(self, execution: Execution) -> Cost:
        """The cost with images as many and as large as CIFAR's, if no run diverges."""
        schedule = Schedule(self.recipe, self.samples or TRAIN_IMAGES)
        images = len(self.runs) * schedule.samples(schedule.steps - 1)[1]
        tests = len(self.runs) * len(schedule.evaluated) * TEST_IMAGES
        of_run = costs.run_megabytes(self.network, self.recipe)
        # On a GPU the smaller last batch of an epoch is no part of the graph, which keeps its memory.
        held = of_run * (1 + schedule.smaller_batch / self.recipe.batch)
        held += costs.test_megabytes(self.network, *IMAGE_SHAPE[:2])
        of_images = (TRAIN_IMAGES + TEST_IMAGES) * prod(IMAGE_SHAPE) / 1e6
        return Cost(
            SECONDS_TO_START + costs.cpu_seconds(self.network, images, tests),
            self.megabytes(TRAIN_IMAGES + TEST_IMAGES, IMAGE_SHAPE),
            wants_gpu=True,
            gpu_seconds=SECONDS_TO_START + costs.gpu_seconds(self.network, self.recipe, images, tests),
            gpu_megabytes=GPU_MEGABYTES_TO_START + of_images + held,
        )

    def megabytes(self, images: int, shape: tuple[int, ...]) -> float:
        """Memory on a CPU in MB, with so many images in all, of a shape (channels, height, width)."""
        channels, height, width = shape
        # A square of as many pixels.
        size = channels, isqrt(height * width - 1) + 1
        largest = max(costs.run_megabytes(self.network, self.recipe, *size), costs.test_megabytes(self.network, *size))
        # The images twice: as they are read, and colours last.
        return MEGABYTES_TO_START + MEGABYTES_HELD + 2 * images * prod(shape) / 1e6 + FRAGMENTS * largest

    def run(self, work: Work) -> dict[str, Any]:
        """Train one run after the other; resume each from its checkpoint if there is one.

        Raises:
            ResauditError: the data is missing or damaged, or has fewer images than ``samples``, or the memory of the
                GPU, or without one of the machine, is too small.
        """
        import torch

        from resaudit.jobs.checkpoints import delayed_signals
        from resaudit.runtime.progress import Progress
        from residual.images.engine import check_host_memory, load, records_of
        from residual.images.memory import keep_memory
        from residual.images.trainee import deterministic

        keep_memory()
        images = self.images()
        train, tests = images.train_images, images.test_images
        if work.device == "cpu":
            needed = self.megabytes(len(train) + len(tests), train.shape[1:])
            check_host_memory(needed, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6)
        schedule = Schedule(self.recipe, len(train))
        progress = Progress(len(self.runs) * schedule.samples(schedule.steps - 1)[1], "images", self.id)
        states: list[RunState] = []
        with delayed_signals() as signalled, deterministic(work.device):
            published = self.data.dataset.name in NORMALISED_AS_PUBLISHED
            data = load(images, self.recipe.augmentation, published, torch.device(work.device))
            for run in self.runs:
                trainee, checkpoint = self.trainee(run, data, schedule, images), self.checkpoint(work, run)
                state = checkpoint.read()
                if state is not None:
                    trainee.resume(state)
                    work.record[f"run {run} resumed from step"] = int(state.step)
                    work.record[f"run {run} seconds before"] = checkpoint.seconds_before
                    progress.skip(trainee.images_done)
                if work.device == "cuda" and not trainee.finished:
                    work.record[f"run {run} steps"] = trainee.use_graph()
                while not trainee.finished:
                    progress.add(trainee.advance())
                    checkpoint.keep(trainee.state, signalled(), due=trainee.finished)
                states.append(trainee.state())
                names = trainee.weight_names
                del trainee  # the next run needs its memory
        progress.end()
        return {"records.npz": records_of(schedule, self.runs, states, names, len(tests))}

    def images(self) -> "ImageSet":
        """The images to use; raises as :meth:`run`."""
        from resaudit.data.images import ImageSet

        whole: ImageSet = self.data.image_set()
        if self.samples is None:
            return whole
        if len(whole.train_images) < self.samples:
            raise ResauditError(
                "too-few-images",
                "{dataset} has {images} training images; {samples} are asked for",
                dataset=self.data.dataset.name,
                images=len(whole.train_images),
                samples=self.samples,
            )
        first = whole.train_images[: self.samples], whole.train_labels[: self.samples]
        return ImageSet(*first, whole.test_images, whole.test_labels, whole.classes)

    def trainee(self, run: int, data: "OnDevice", schedule: Schedule, images: "ImageSet") -> "Trainee":
        """One run before its first step."""
        from residual.images.counter_hash import WEIGHTS, key_of
        from residual.images.networks.build import build
        from residual.images.trainee import Trainee

        weights = key_of(self.seed, WEIGHTS, 0 if self.shared_start else run)
        network = build(self.network, images.train_images.shape[1], images.classes, weights)
        return Trainee(network, data, schedule, self.seed, run)

    def checkpoint(self, work: Work, run: int) -> "Checkpoint[RunState]":
        """That of one run; finished runs keep theirs until all are done."""
        import torch

        from resaudit.jobs.checkpoints import Checkpoint, made_by
        from residual.images.trainee import RunState

        folder, seconds = work.checkpoints / f"run{run}", work.execution.checkpoint_seconds
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        own = {"threads": torch.get_num_threads(), "cuDNN version": cudnn}
        return Checkpoint(folder, RunState, made_by(self, work, own), seconds)
