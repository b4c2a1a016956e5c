"""The training of one job on images: its data on the device, its runs, on a GPU several at once, and their records."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from resaudit.paper import Checkpoint, ImageSet, MachineError, Progress, Work
from residual.images import costs
from residual.images.augmentation import Images, normalisation_of
from residual.images.counter_hash import WEIGHTS, key_of
from residual.images.networks.build import build
from residual.images.records import Records
from residual.images.run import RECORDED, OnDevice, RunState, TrainingRun
from residual.images.schedule import Schedule

if TYPE_CHECKING:
    from residual.images.jobs import TrainImages

NORMALISED_AS_PUBLISHED = ("cifar10", "cifar10_jpeg")
"""Data sets that the constants in the papers' codes are of."""
GPU_FAULTS = "CUDA error", "CUDA driver error", "cuDNN error", "unable to find an engine"
"""In torch's messages; cuDNN has no engine where memory is short, or for a card that it does not know."""


def train(job: "TrainImages", work: Work) -> Records:
    """Train all runs; resume each from its checkpoint, which may be of another machine, if there is one."""
    images = job.images()
    count, tests = len(images.train_images), len(images.test_images)
    if work.device == "cpu":
        # Images may be larger than planned.
        needed = job.megabytes(count + tests, images.train_images.shape[1:])
        work.require_memory(needed, "take fewer layers, a smaller batch or another machine")
    schedule = Schedule(job.recipe, count)
    progress = Progress(len(job.runs) * schedule.samples(schedule.steps - 1)[1], "images", job.id)
    states, names = [], tuple[str, ...]()
    with work.delayed_signals() as signalled, deterministic(work.device):
        published = job.data.dataset.name in NORMALISED_AS_PUBLISHED
        data = load(images, job.recipe.augmentation, published, torch.device(work.device))

        def begun(number: int) -> _Going:
            weights = key_of(job.seed, WEIGHTS, 0 if job.shared_start else number)
            network = build(job.network, images.train_images.shape[1], images.classes, weights)
            run = TrainingRun(network, data, schedule, job.seed, number)
            return _Going(run, number, schedule, job, work, progress)

        at_once = runs_at_once(job, work.device)
        for first in range(0, len(job.runs), at_once):
            group = [begun(number) for number in job.runs[first : first + at_once]]
            _finish(group, progress, signalled)
            states += [one.state() for one in group]
            names = group[0].run.weight_names
            del group  # the next runs need their memory
    progress.end()
    return records_of(schedule, job.runs, states, names, tests)


def runs_at_once(job: "TrainImages", device: str) -> int:
    """How many runs of a job train side by side, each on a stream of its own: one on a CPU, as many as fit on a GPU."""
    if device == "cpu":
        return 1
    free = torch.cuda.mem_get_info()[0] / 1e6
    return max(1, min(max(costs.GPU_SECONDS_A_LAYER_AND_IMAGE), int(free / job.gpu_run_megabytes())))


class _Going:
    """A run with its checkpoint, if there is one resumed from that, and its stream."""

    def __init__(
        self, run: TrainingRun, number: int, schedule: Schedule, job: "TrainImages", work: Work, progress: Progress
    ) -> None:
        self.run = run
        self.checkpoint = Checkpoint.of(job, work, RunState, part=f"run{number}", anywhere=True)
        state = self.checkpoint.read()
        if state is not None:
            run.resume(state)
            work.record[f"run {number} resumed from step"] = int(state.step)
            work.record[f"run {number} seconds before"] = self.checkpoint.seconds_before
            progress.skip(run.images_done)
        if not run.finished:
            cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
            machine = {**work.platform, "threads": torch.get_num_threads(), "cuDNN": cudnn}
            self.checkpoint.begin_part({"from epoch": round(run.step / schedule.steps_an_epoch, 2)}, machine)
        work.record.setdefault("parts", {})[f"run {number}"] = self.checkpoint.parts
        self.stream: AbstractContextManager[None] = nullcontext()
        if work.device == "cuda":
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            torch.cuda.synchronize()  # what is on the device was put there by another stream
            self.stream = torch.cuda.stream(stream)
            if not run.finished:
                with self.stream:
                    work.record[f"run {number} steps"] = run.use_graph()

    def state(self) -> RunState:
        """The run's state, read on its stream."""
        with self.stream:
            return self.run.state()


def _finish(group: Sequence[_Going], progress: Progress, signalled: Callable[[], int | None]) -> None:
    """Take runs to their end, a step of each in turn; finished ones keep their checkpoints until all are done."""
    while going := [one for one in group if not one.run.finished]:
        for one in going:
            with one.stream:
                progress.add(one.run.advance())
            one.checkpoint.keep(one.state, due=one.run.finished)
        if (number := signalled()) is not None:
            *others, last = going
            for one in others:
                one.checkpoint.write(one.state())
            last.checkpoint.keep(last.state, number)


def load(images: ImageSet, augmentation: str, published: bool, device: torch.device) -> OnDevice:
    """Put a data set on a device.

    Args:
        images: the data set in memory.
        augmentation: the recipe's.
        published: whether to normalise with the constants of the recipe's code, which are CIFAR-10's.
        device: the device of the training.
    """
    constants = normalisation_of(augmentation, images.train_images, published)
    train, test = (
        Images(pixels, augmentation, constants, device) for pixels in (images.train_images, images.test_images)
    )
    train_labels, test_labels = (
        torch.from_numpy(labels.astype(np.int64)).to(device) for labels in (images.train_labels, images.test_labels)
    )
    return OnDevice(train, train_labels, test, test_labels)


def records_of(
    schedule: Schedule, runs: Sequence[int], states: Sequence[RunState], weights: Sequence[str], tests: int
) -> Records:
    """The records of finished runs, in their order; ``tests`` is the number of test images."""
    recorded = {name: np.stack([getattr(state, name) for state in states]) for name in RECORDED}
    halves = [tests - tests // 2, tests // 2]  # the first one has the odd image
    return Records(
        run=np.asarray(runs),
        step=schedule.evaluated,
        epoch=schedule.epochs,
        learning_rate=np.array([schedule.learning_rate(int(s) - 1) if s else np.nan for s in schedule.evaluated]),
        test_error=np.average(recorded["test_error_halves"], axis=2, weights=halves),
        weights=np.asarray(weights),
        **recorded,
    )


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Compute in single precision, by kernels that give the same bits every time; on a GPU on a stream of its own.

    New memory is not filled, which would change no bits. On ``cpu`` the kernels of a training always give the same
    bits, and the setting would load torch's compiler: 150 MB.
    """
    if device == "cpu":
        yield
        return
    # cuBLAS reads it when a process first uses it, and torch refuses products without it.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    memory: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # The default stream cannot be captured.
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize()
    try:
        # PyTorch allows TF32 in convolutions unless it is told otherwise.
        with torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False), torch.cuda.stream(stream):
            yield
        torch.cuda.synchronize()
    except torch.OutOfMemoryError as error:
        raise MachineError(
            "the GPU's memory is too small; let fewer jobs share the GPU (--resources gpu=N), take another one, or "
            "device=cpu"
        ) from error
    except RuntimeError as error:
        # torch has no class of its own for it before 2.8, and none for cuDNN's.
        if not any(words in str(error) for words in GPU_FAULTS):
            raise
        reason = str(error).partition("\n")[0]
        raise MachineError(
            f"the GPU failed ({reason}); the same command goes on from the last checkpoint; if that fails too, take "
            "another GPU or device=cpu"
        ) from error
    finally:
        torch.use_deterministic_algorithms(before[0])
        memory.fill_uninitialized_memory = before[1]
