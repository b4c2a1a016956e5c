"""One run of a training on images: its network, its place in the schedule and what was recorded of it so far."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from resaudit.base.errors import ResauditError
from resaudit.runtime.progress import log
from residual.images.augmentation import Images
from residual.images.costs import TEST_BATCH
from residual.images.graphs import Graph, Step
from residual.images.optimiser import FlatParameters, MomentumSgd
from residual.images.samples import Samples
from residual.images.schedule import Schedule

# Steps after which the process waits for the GPU: a signal waits for what is in its queue.
STEPS_AHEAD = 32


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

    Attributes:
        step: the next one.
    """

    def __init__(self, network: nn.Module, data: OnDevice, schedule: Schedule, seed: int, run: int) -> None:
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
        self._graph: Step | None = None
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
        tensors = (self._parameters.vector, self._optimiser.velocity, _joined(self._buffers), self._totals)
        weights, velocity, buffers, totals = (tensor.cpu().numpy().copy() for tensor in tensors)
        records = self._train_loss, self._train_error, self._test_loss, self._halves, self._norms
        return RunState(np.asarray(self.step), weights, velocity, buffers, totals, *(part.copy() for part in records))

    def resume(self, state: RunState) -> None:
        """Continue from a state of the same run."""
        with torch.no_grad():
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


@contextmanager
def deterministic(device: str) -> Iterator[None]:
    """Compute in single precision, by kernels that give the same bits every time; on a GPU on a stream of its own.

    New memory is not filled, which would change no bits. On ``cpu`` the kernels of a training always give the same
    bits, and the setting would load torch's compiler: 150 MB.

    Raises:
        ResauditError: the GPU's memory is too small.
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
    except torch.OutOfMemoryError as error:
        remedy = "let fewer jobs share the GPU (--resources gpu=N), take another one, or device=cpu"
        raise ResauditError(f"the GPU's memory is too small; {remedy}") from error
    finally:
        torch.cuda.synchronize()
        torch.use_deterministic_algorithms(before[0])
        memory.fill_uninitialized_memory = before[1]


def _joined(tensors: list[Tensor]) -> Tensor:
    return torch.cat([t.reshape(-1) for t in tensors]) if tensors else torch.empty(0)
