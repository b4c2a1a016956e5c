"""The training of one job on images: its data on the device, its runs, on a GPU several at once, and their records.

On a GPU a step can be a CUDA graph: one launch instead of thousands. Called eagerly, the same step is its twin.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from resaudit.paper import Checkpoint, ImageSet, MachineError, Progress, Work, log
from residual.images import costs
from residual.images.networks.residual import build
from residual.images.optimiser import FlatParameters, MomentumSgd
from residual.images.samples import WEIGHTS, Images, Samples, key_of, normalisation_of
from residual.images.schedule import Records, Schedule

if TYPE_CHECKING:
    from residual.images.jobs import TrainImages

NORMALISED_AS_PUBLISHED = ("cifar10", "cifar10_jpeg")
"""Data sets that the constants in the papers' codes are of."""
GPU_FAULTS = "CUDA error", "CUDA driver error", "cuDNN error", "unable to find an engine"
"""In torch's messages; cuDNN has no engine where memory is short, or for a card that it does not know."""
# Steps after which the process waits for the GPU: a signal waits for what is in its queue.
STEPS_AHEAD = 32

Step = Callable[[Tensor], None]
"""Reads samples, shape (b, 4), and changes tensors in place; waits for no device, and depends on no value on the host
that changes.
"""


class Graph:
    """A step, captured on the current stream, which must not be the default one; each call replays it.

    The step is not kept: were it, graph and run would refer to each other, and the memory of a run that is done would
    wait for the garbage collector.

    Args:
        step: a step that was called before, since cuDNN and the allocator settle in first calls, which a graph must
            not contain.
        samples: samples of the shape that every call has.
    """

    def __init__(self, step: Step, samples: Tensor) -> None:
        self._inputs, self._graph = samples.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream()):
            step(self._inputs)

    def __call__(self, samples: Tensor) -> None:
        """Do the step on samples."""
        self._inputs.copy_(samples)
        self._graph.replay()


@dataclass(frozen=True)
class OnDevice:
    """A data set on a device, shared by all runs there."""

    train: Images
    train_labels: Tensor  # int64, shape (images,)
    test: Images
    test_labels: Tensor  # int64, shape (images,)


@dataclass(frozen=True)
class RunState:
    """A run between two steps, in one layout on every device; with its settings, all that the rest depends on.

    E evaluations, W weight tensors.
    """

    step: np.ndarray  # the next one, shape ()
    names: np.ndarray  # of the trainable parameters, in the order of weights and velocity
    weights: np.ndarray  # the parameters, each as torch lays out a contiguous tensor, float32, shape (n,)
    velocity: np.ndarray  # of momentum, likewise, float32, shape (n,)
    buffers: np.ndarray  # running statistics, float32, shape (m,)
    totals: np.ndarray  # loss and wrong answers, summed over images since the last evaluation, float64, shape (2,)
    # As in Records, of this run; nan where the evaluation is still to come.
    train_loss: np.ndarray  # shape (E,)
    train_error: np.ndarray  # shape (E,)
    test_loss: np.ndarray  # shape (E,)
    test_error_halves: np.ndarray  # shape (E, 2)
    norms: np.ndarray  # shape (E, W)


RECORDED = ("train_loss", "train_error", "test_loss", "test_error_halves", "norms")


class TrainingRun:
    """A run from its first step to its last.

    Args:
        network: the network with its initial weights, on the CPU, with the attribute ``rate_factors``.
        data: the data set, on the device of the training.
        schedule: the steps.
        seed: the seed of order and augmentation.
        number: the number of the run.

    Attributes:
        step: the next one.
    """

    def __init__(self, network: nn.Module, data: OnDevice, schedule: Schedule, seed: int, number: int) -> None:
        device, recipe = data.train_labels.device, schedule.recipe
        self._network, self._data, self._schedule = network.to(device), data, schedule
        self._parameters = FlatParameters(network)
        self._optimiser = MomentumSgd(
            self._parameters, recipe.momentum, recipe.nesterov, recipe.weight_decay, recipe.decayed,
            network.rate_factors,  # type: ignore[arg-type]
        )  # fmt: skip
        self._buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
        self._totals = torch.zeros(2, dtype=torch.float64, device=device)
        self._samples = Samples(len(data.train), data.train.padding, seed, number, device)
        self._weights = {name: p for name, p in self._parameters.tensors.items() if p.ndim >= 2}
        self._graph: Step | None = None
        self._rate: float | None = None
        self.step, self._evaluated = 0, schedule.evaluated
        shapes = {"test_error_halves": (2,), "norms": (len(self._weights),)}
        self._records = {name: np.full((len(self._evaluated), *shapes.get(name, ())), np.nan) for name in RECORDED}

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or the run diverged."""
        return self.step >= self._schedule.steps

    @property
    def images_done(self) -> int:
        """The number of training images seen."""
        return self._schedule.samples(self.step - 1)[1] if self.step else 0

    @property
    def weight_names(self) -> tuple[str, ...]:
        """The tensors whose norms are recorded."""
        return tuple(self._weights)

    def advance(self) -> int:
        """One step, and the evaluation that is due after it; before the first step one more.

        Returns:
            The images that were trained on.
        """
        if self.step == 0:
            self._evaluate()
        first, stop = self._schedule.samples(self.step)
        self._set_rate(self._schedule.learning_rate(self.step))
        take = self._graph if self._graph and stop - first == self._schedule.recipe.batch else self._take_step
        take(self._samples(first, stop))
        self.step += 1
        if self._totals.is_cuda and self.step % STEPS_AHEAD == 0:
            torch.cuda.synchronize()
        if self.step in self._evaluated:
            self._evaluate()
        return stop - first

    def use_graph(self, capture: Callable[[Step, Tensor], Step] = Graph) -> str:
        """Take steps of whole batches by a CUDA graph, if two steps by it have the bytes of two eager ones.

        Otherwise, or if the capture fails, steps stay eager, with a warning on standard error.

        Args:
            capture: makes a step that replays a given one, from that and samples of a batch.

        Returns:
            How steps are taken, for the provenance.
        """
        self._set_rate(self._schedule.learning_rate(self.step))
        batch = self._schedule.recipe.batch
        batches = [self._samples(first, first + batch) for first in (0, batch)]
        changing = [self._parameters.vector, self._optimiser.velocity, self._totals, *self._buffers]
        start = [tensor.clone() for tensor in changing]

        def restore() -> None:
            for tensor, value in zip(changing, start, strict=True):
                tensor.copy_(value)

        def bytes_after(step: Step) -> list[bytes]:
            restore()
            for samples in batches:
                step(samples)
            return [tensor.cpu().numpy().tobytes() for tensor in changing]

        try:
            eager, graph = bytes_after(self._take_step), capture(self._take_step, batches[0])
            if bytes_after(graph) != eager:
                raise RuntimeError("two of its steps differ from eager ones")
            self._graph = graph
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            how = f"eager, since the CUDA graph failed: {reason}"
            log(f"resaudit: warning: steps are {how}; this takes longer")
            return how
        finally:
            restore()
        return "CUDA graph"

    def state(self) -> RunState:
        """The state; waits for the device."""
        buffers = torch.cat([self._parameters.vector[:0], *(buffer.reshape(-1) for buffer in self._buffers)])
        parameters = self._parameters
        tensors = (*map(parameters.contiguous, (parameters.vector, self._optimiser.velocity)), buffers, self._totals)
        records = (self._records[name].copy() for name in RECORDED)
        arrays = (tensor.cpu().numpy().copy() for tensor in tensors)
        return RunState(np.asarray(self.step), np.asarray(parameters.names), *arrays, *records)

    def resume(self, state: RunState) -> None:
        """Continue from a state of the same run, whatever device it was on."""
        buffers = torch.from_numpy(state.buffers).split_with_sizes([buffer.numel() for buffer in self._buffers])
        with torch.no_grad():
            for vector, values in (
                (self._parameters.vector, state.weights),
                (self._optimiser.velocity, state.velocity),
            ):
                vector.copy_(self._parameters.laid_out(torch.from_numpy(values)))
            self._totals.copy_(torch.from_numpy(state.totals))
            for buffer, kept in zip(self._buffers, buffers, strict=True):
                buffer.copy_(kept.view(buffer.shape))
        self.step = int(state.step)
        self._records = {name: getattr(state, name).copy() for name in RECORDED}

    def _set_rate(self, rate: float) -> None:
        if rate != self._rate:
            self._rate = rate
            self._optimiser.learning_rate.fill_(rate)

    def _take_step(self, samples: Tensor) -> None:
        chosen, top, left, flip = samples.unbind(dim=1)
        labels = self._data.train_labels[chosen]
        scores = self._network(self._data.train.augmented(chosen, top, left, flip))
        loss = cross_entropy(scores, labels)
        self._optimiser.step(self._parameters.gradient(loss))
        wrong = (scores.detach().argmax(dim=1) != labels).sum()
        self._totals.add_(torch.stack([loss.detach().double() * len(samples), wrong.double()]))

    def _evaluate(self) -> None:
        place = int(np.searchsorted(self._evaluated, self.step))
        loss = error = np.nan
        if place:
            first = self._schedule.samples(int(self._evaluated[place - 1]))[0]
            loss, error = (self._totals / (self.images_done - first)).tolist()
            self._totals.zero_()
        test_loss, halves = self._test()
        if not (np.isfinite(test_loss) and (place == 0 or np.isfinite(loss))):
            # Nothing that comes later would be finite.
            for name, record in self._records.items():
                start = max(place, 1) if name.startswith("train") else place
                record[start:] = 1.0 if "error" in name else np.inf
            self.step = self._schedule.steps
            return
        norms = [torch.linalg.vector_norm(p.detach(), dtype=torch.float64) for p in self._weights.values()]
        values = loss, error, test_loss, halves, torch.stack(norms).cpu().numpy()
        for name, value in zip(RECORDED, values, strict=True):
            self._records[name][place] = value

    def _test(self) -> tuple[float, np.ndarray]:
        """Mean loss over the test images, and the error on each half of them."""
        images, labels = self._data.test, self._data.test_labels
        self._network.eval()
        losses, wrong = [], []
        with torch.inference_mode():
            for start in range(0, len(images), costs.TEST_BATCH):
                answers = labels[start : start + costs.TEST_BATCH]
                scores = self._network(images.plain(start, start + costs.TEST_BATCH))
                losses.append(cross_entropy(scores, answers, reduction="none").double())
                wrong.append(scores.argmax(dim=1) != answers)
            loss = torch.cat(losses).mean()
            errors = torch.stack([half.double().mean() for half in torch.cat(wrong).tensor_split(2)])
        self._network.train()
        return float(loss), errors.cpu().numpy()


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
