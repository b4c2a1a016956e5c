"""One run of a training on images: its network, its place in the schedule and what was recorded of it so far."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from residual.images.augmentation import Images
from residual.images.costs import TEST_BATCH
from residual.images.graphs import Graphs
from residual.images.optimiser import FlatParameters, MomentumSgd
from residual.images.samples import Samples
from residual.images.schedule import Schedule

# Steps that may wait in a GPU's queue: a signal or an evaluation waits for them.
STEPS_AHEAD = 8


@dataclass(frozen=True)
class OnDevice:
    """A data set on a device, shared by all runs there.

    Attributes:
        train: training images.
        train_labels: int64, shape (images,).
        test: test images.
        test_labels: int64, shape (images,).
    """

    train: Images
    train_labels: Tensor
    test: Images
    test_labels: Tensor


@dataclass(frozen=True)
class RunState:
    """A run between two steps; with its settings, all that the rest depends on. E evaluations, W weight tensors.

    Attributes:
        step: the next one, shape ().
        weights: all trainable parameters, float32, shape (n,).
        velocity: of momentum, float32, shape (n,).
        buffers: running statistics, float32, shape (m,).
        totals: loss and wrong answers, summed over images since the last evaluation, float64, shape (2,).
        train_loss: as in ``Records``, of this run, shape (E,); nan where the evaluation is still to come.
        train_error: the same.
        test_loss: the same.
        test_error_halves: the same, shape (E, 2).
        norms: the same, shape (E, W).
    """

    step: np.ndarray
    weights: np.ndarray
    velocity: np.ndarray
    buffers: np.ndarray
    totals: np.ndarray
    train_loss: np.ndarray
    train_error: np.ndarray
    test_loss: np.ndarray
    test_error_halves: np.ndarray
    norms: np.ndarray


class Trainee:
    """A run.

    Args:
        network: with its initial weights, on the CPU, with the attribute ``rate_factors``.
        data: on the device of the training.
        schedule: of the steps.
        seed: of order and augmentation.
        run: its number.
        captured: whether steps are replayed as CUDA graphs, on a stream of their own.

    Attributes:
        step: the next one.
    """

    def __init__(
        self, network: nn.Module, data: OnDevice, schedule: Schedule, seed: int, run: int, captured: bool
    ) -> None:
        device = data.train_labels.device
        self._network, self._data, self._schedule = network.to(device), data, schedule
        recipe = schedule.recipe
        self._parameters = FlatParameters(network)
        self._optimiser = MomentumSgd(
            self._parameters, recipe.momentum, recipe.nesterov, recipe.weight_decay, recipe.decayed,
            network.rate_factors,  # type: ignore[arg-type]
        )  # fmt: skip
        self._buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
        self._totals = torch.zeros(2, dtype=torch.float64, device=device)
        self._samples = Samples(len(data.train), data.train.padding, seed, run, device)
        self._weights = {name: p for name, p in self._parameters.tensors.items() if p.ndim >= 2}
        self._stream = _new_stream(device) if device.type == "cuda" else None
        self._graphs = Graphs(self._changing, self._stream) if captured and self._stream is not None else None
        self._ahead: torch.cuda.Event | None = None
        self._rate: float | None = None
        self.step, self._evaluated = 0, schedule.evaluated
        evaluations = len(self._evaluated)
        self._train_loss, self._train_error, self._test_loss = (np.full(evaluations, np.nan) for _ in range(3))
        self._halves = np.full((evaluations, 2), np.nan)
        self._norms = np.full((evaluations, len(self._weights)), np.nan)

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or the run diverged."""
        return self.step >= self._schedule.steps

    @property
    def images_done(self) -> int:
        """Training images that were seen."""
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
        with self._on_stream():
            if self.step == 0:
                self._evaluate()
            first, stop = self._schedule.samples(self.step)
            self._set_rate(self._schedule.learning_rate(self.step))
            samples = self._samples(first, stop)
            if self._graphs is None:
                self._take_step(samples)
            else:
                self._graphs(self._take_step, samples)
            self.step += 1
            self._wait()
            if self.step in self._evaluated:
                self._evaluate()
        return stop - first

    def state(self) -> RunState:
        """The state; waits for the device."""
        with self._on_stream():
            tensors = (self._parameters.vector, self._optimiser.velocity, _joined(self._buffers), self._totals)
            weights, velocity, buffers, totals = (tensor.cpu().numpy().copy() for tensor in tensors)
        records = self._train_loss, self._train_error, self._test_loss, self._halves, self._norms
        return RunState(np.asarray(self.step), weights, velocity, buffers, totals, *(part.copy() for part in records))

    def resume(self, state: RunState) -> None:
        """Continue from a state of the same run."""
        with self._on_stream(), torch.no_grad():
            self._parameters.vector.copy_(torch.from_numpy(state.weights))
            self._optimiser.velocity.copy_(torch.from_numpy(state.velocity))
            self._totals.copy_(torch.from_numpy(state.totals))
            parts = torch.from_numpy(state.buffers).split_with_sizes([buffer.numel() for buffer in self._buffers])
            for buffer, part in zip(self._buffers, parts, strict=True):
                buffer.copy_(part.view(buffer.shape))
        self.step = int(state.step)
        self._train_loss, self._train_error = state.train_loss.copy(), state.train_error.copy()
        self._test_loss, self._halves = state.test_loss.copy(), state.test_error_halves.copy()
        self._norms = state.norms.copy()

    @property
    def _changing(self) -> list[Tensor]:
        return [self._parameters.vector, self._optimiser.velocity, self._totals, *self._buffers]

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
        loss, error = self._means_since(place)
        test_loss, halves = self._test()
        if not (np.isfinite(test_loss) and (place == 0 or np.isfinite(loss))):
            self._diverge(place)
            return
        self._train_loss[place], self._train_error[place] = loss, error
        self._test_loss[place], self._halves[place] = test_loss, halves
        norms = [torch.linalg.vector_norm(p.detach(), dtype=torch.float64) for p in self._weights.values()]
        self._norms[place] = torch.stack(norms).cpu().numpy()

    def _means_since(self, place: int) -> tuple[float, float]:
        if place == 0:
            return np.nan, np.nan
        before = self._schedule.samples(int(self._evaluated[place - 1]))[0]
        images = self._schedule.samples(self.step - 1)[1] - before
        loss, wrong = (self._totals / images).tolist()
        self._totals.zero_()
        return loss, wrong

    def _test(self) -> tuple[float, np.ndarray]:
        """Mean loss over the test images, and the error on each half of them."""
        images, labels = self._data.test, self._data.test_labels
        self._network.eval()
        losses, wrong = [], []
        with torch.inference_mode():
            for start in range(0, len(images), TEST_BATCH):
                of_batch = labels[start : start + TEST_BATCH]
                scores = self._network(images.plain(start, start + TEST_BATCH))
                losses.append(cross_entropy(scores, of_batch, reduction="none").double())
                wrong.append(scores.argmax(dim=1) != of_batch)
            loss = torch.cat(losses).mean()
            errors = torch.stack([half.double().mean() for half in torch.cat(wrong).tensor_split(2)])
        self._network.train()
        return float(loss), errors.cpu().numpy()

    def _diverge(self, place: int) -> None:
        """Nothing that comes later would be finite."""
        self._train_loss[max(place, 1) :] = self._test_loss[place:] = self._norms[place:] = np.inf
        self._train_error[max(place, 1) :] = self._halves[place:] = 1.0
        self.step = self._schedule.steps

    def _wait(self) -> None:
        if self._stream is not None and self.step % STEPS_AHEAD == 0:
            if self._ahead is not None:
                self._ahead.synchronize()
            self._ahead = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._ahead.record()

    def _on_stream(self) -> AbstractContextManager[object]:
        return nullcontext() if self._stream is None else torch.cuda.stream(self._stream)


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Only kernels that give the same bits every time; new memory is not filled, which would change none.

    On ``cpu`` those of a training always do, and the setting would load torch's compiler: 150 MB.
    """
    if device == "cpu":
        yield
        return
    # cuBLAS reads it when a process first uses it, and torch refuses products without it.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    memory: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), memory.fill_uninitialized_memory
    cudnn = torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    torch.use_deterministic_algorithms(True)
    memory.fill_uninitialized_memory = False
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = cudnn
        torch.use_deterministic_algorithms(before[0])
        memory.fill_uninitialized_memory = before[1]


def _new_stream(device: torch.device) -> torch.cuda.Stream:
    """A stream that starts when everything before is done: networks and images are put on the device by another."""
    torch.cuda.synchronize(device)
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


def _joined(tensors: list[Tensor]) -> Tensor:
    return torch.cat([t.reshape(-1) for t in tensors]) if tensors else torch.empty(0)
