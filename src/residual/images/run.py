"""One run of a training on images: its network, its place in the schedule and what was recorded of it so far.

On a GPU a step can be a CUDA graph: one launch instead of thousands. Called eagerly, the same step is its twin.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from resaudit.paper import log
from residual.images.augmentation import Images
from residual.images.costs import TEST_BATCH
from residual.images.optimiser import FlatParameters, MomentumSgd
from residual.images.samples import Samples
from residual.images.schedule import Schedule

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
            for start in range(0, len(images), TEST_BATCH):
                answers = labels[start : start + TEST_BATCH]
                scores = self._network(images.plain(start, start + TEST_BATCH))
                losses.append(cross_entropy(scores, answers, reduction="none").double())
                wrong.append(scores.argmax(dim=1) != answers)
            loss = torch.cat(losses).mean()
            errors = torch.stack([half.double().mean() for half in torch.cat(wrong).tensor_split(2)])
        self._network.train()
        return float(loss), errors.cpu().numpy()
