"""Training one network on images: several runs, each with its own weights, order and augmentation."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
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
        needs = self.needs(schedule, TRAIN_IMAGES + TEST_IMAGES, IMAGE_SHAPE)
        return Cost(
            SECONDS_TO_START + costs.cpu_seconds(self.network, images, tests),
            needs.megabytes,
            wants_gpu=True,
            gpu_seconds=SECONDS_TO_START + costs.gpu_seconds(self.network, self.recipe, images, tests),
            gpu_megabytes=needs.gpu_held + min(execution.pack, len(self.runs)) * needs.gpu_each,
        )

    def needs(self, schedule: Schedule, images: int, shape: tuple[int, ...]) -> "MemoryNeeds":
        """The memory that it needs with so many images in all, of a shape (channels, height, width)."""
        channels, height, width = shape
        # A square of as many pixels.
        size = channels, isqrt(height * width - 1) + 1
        of_images = images * channels * height * width / 1e6
        of_run = costs.run_megabytes(self.network, self.recipe, *size)
        of_test = costs.test_megabytes(self.network, *size)
        # Before an epoch's smaller last batch is captured, one run takes steps on it without a graph.
        of_smaller = of_run * schedule.smaller_batch / self.recipe.batch
        return MemoryNeeds(
            # The images twice: as they are read, and colours last.
            MEGABYTES_TO_START + MEGABYTES_HELD + 2 * of_images + FRAGMENTS * max(of_run, of_test),
            GPU_MEGABYTES_TO_START + of_images + of_smaller,
            of_run + of_test,
        )

    def run(self, work: Work) -> dict[str, Any]:
        """Train; resume each run from its checkpoint if there is one.

        Raises:
            ResauditError: the data is missing or damaged, or has fewer images than ``samples``, or the GPU's memory is
                too small for ``pack`` runs, or without a GPU the machine's for one.
        """
        import torch

        from resaudit.jobs.checkpoints import delayed_signals
        from resaudit.runtime.progress import Progress
        from residual.images.engine import load, records_of, train
        from residual.images.memory import keep_memory
        from residual.images.precision import computing
        from residual.images.trainee import deterministic

        keep_memory()
        images = self.images()
        with delayed_signals() as signalled, deterministic(work.device), computing(self.recipe.precision):
            self.check_memory(work, images)
            published = self.data.dataset.name in NORMALISED_AS_PUBLISHED
            data = load(images, self.recipe.augmentation, published, torch.device(work.device))
            schedule = Schedule(self.recipe, len(data.train))
            progress = Progress(len(self.runs) * schedule.samples(schedule.steps - 1)[1], "images", self.id)
            states: list[RunState] = []
            names: tuple[str, ...] = ()

            def train_together(runs: tuple[int, ...]) -> None:
                """A function of its own: its networks are gone before the next pack has memory."""
                nonlocal names
                trainees = {run: self.trainee(run, data, schedule, images) for run in runs}
                kept = _Kept(trainees, {run: self.checkpoint(work, run) for run in runs}, signalled)
                progress.skip(kept.resume(work.record))
                train(list(trainees.values()), kept.after_round(progress.add))
                states.extend(trainee.state() for trainee in trainees.values())
                names = trainees[runs[0]].weight_names

            at_once = work.execution.pack if work.device == "cuda" else 1
            for start in range(0, len(self.runs), at_once):
                train_together(self.runs[start : start + at_once])
        progress.end()
        return {"records.npz": records_of(schedule, self.runs, states, names, len(data.test))}

    def images(self) -> "ImageSet":
        """The images to use; raises as :meth:`run`."""
        from resaudit.data.images import ImageSet

        whole: ImageSet = self.data.image_set()
        if self.samples is None:
            return whole
        if len(whole.train_images) < self.samples:
            name = self.data.dataset.name
            raise ResauditError(f"{name} has {len(whole.train_images)} training images; {self.samples} are asked for")
        first = whole.train_images[: self.samples], whole.train_labels[: self.samples]
        return ImageSet(*first, whole.test_images, whole.test_labels, whole.classes)

    def trainee(self, run: int, data: "OnDevice", schedule: Schedule, images: "ImageSet") -> "Trainee":
        """One run before its first step."""
        from residual.images.counter_hash import WEIGHTS, key_of
        from residual.images.networks.build import build
        from residual.images.trainee import Trainee

        weights = key_of(self.seed, WEIGHTS, 0 if self.shared_start else run)
        network = build(self.network, images.train_images.shape[1], images.classes, weights)
        return Trainee(network, data, schedule, self.seed, run, captured=True)

    def checkpoint(self, work: Work, run: int) -> "Checkpoint[RunState]":
        """That of one run; finished runs keep theirs until all are done."""
        import torch

        from resaudit.jobs.checkpoints import Checkpoint, made_by
        from residual.images.trainee import RunState

        folder, seconds = work.checkpoints / f"run{run}", work.execution.checkpoint_seconds
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        own = {"threads": torch.get_num_threads(), "cuDNN version": cudnn}
        return Checkpoint(folder, RunState, made_by(self, work, own), seconds)

    def check_memory(self, work: Work, images: "ImageSet") -> None:
        """Refuse what does not fit into the GPU, or without one into the machine; raises ResauditError."""
        import torch

        from residual.images.engine import check_host_memory, check_memory

        train, tests = images.train_images, images.test_images
        needs = self.needs(Schedule(self.recipe, len(train)), len(train) + len(tests), train.shape[1:])
        if work.device == "cuda":
            at_once = min(work.execution.pack, len(self.runs))
            check_memory(needs.gpu_held, needs.gpu_each, torch.cuda.mem_get_info()[0] / 1e6, at_once)
        else:
            check_host_memory(needs.megabytes, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6)


@dataclass(frozen=True)
class MemoryNeeds:
    """Memory in MB."""

    megabytes: float  # of the machine, for one run on a CPU
    gpu_held: float  # of a GPU, for the images and the program
    gpu_each: float  # of a GPU, for each run at once


@dataclass(frozen=True)
class _Kept:
    """The checkpoints of runs that train at once, by run."""

    trainees: dict[int, "Trainee"]
    checkpoints: dict[int, "Checkpoint[RunState]"]
    signalled: Callable[[], int | None]

    def resume(self, record: dict[str, Any]) -> int:
        """Put each run where its checkpoint left it, and give the images that are done."""
        images = 0
        for run, trainee in self.trainees.items():
            state = self.checkpoints[run].read()
            if state is not None:
                trainee.resume(state)
                record[f"run {run} resumed from step"] = int(state.step)
                record[f"run {run} seconds before"] = self.checkpoints[run].seconds_before
                images += trainee.images_done
        return images

    def after_round(self, count: Callable[[int], None]) -> Callable[[int], None]:
        """What is called after each round of steps; it keeps states, all of them after a signal."""
        left = {run for run, trainee in self.trainees.items() if not trainee.finished}

        def after(images: int) -> None:
            count(images)
            signal = self.signalled()
            done = {run for run in left if self.trainees[run].finished}
            if signal is None:
                for run in done:
                    self.checkpoints[run].keep(self.trainees[run].state, due=True)
            else:
                for run in left:
                    self.checkpoints[run].write(self.trainees[run].state())
            for run in left - done:
                self.checkpoints[run].keep(self.trainees[run].state, signal)
            left.difference_update(done)

        return after
