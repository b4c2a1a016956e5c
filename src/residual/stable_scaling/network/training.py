"""Training of scaled residual networks by SGD: runs that differ only in seed and learning rate, all at once.

The loss of a batch of b samples is the mean of |B h_L - y|^2 / 2; W_1 ... W_L are trained, A and B stay as drawn
(arXiv 1903.07120, section 2 and theorem 9); :mod:`residual.stable_scaling.plain` has the networks. Weights and the
order of the samples depend on (seed, purpose, run) alone. The backward pass is written out: it keeps h_0 ... h_L and no
gradient, since each layer's step is added to its weights as soon as it is known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from residual.descent import AfterStep, Descent, Loop, begun, keep_nothing, run_steps
from residual.stable_scaling.network.setting import PLAIN, Variances

WEIGHTS, ORDER = 1, 2
"""The purposes of random streams."""
Batches = Callable[[int], tuple[Tensor, Tensor]]
"""Inputs (runs, inputs, b) and targets (runs, outputs, b) of each number of random draws at a step."""


class Weights(NamedTuple):
    """A, W_1 ... W_{L-1}, W_L and B; all may share leading dimensions, of runs.

    Shapes: first (..., m, inputs), middle (..., L-1, m, m), last (..., m, m), readout (..., outputs, m).
    """

    first: Tensor
    middle: Tensor
    last: Tensor
    readout: Tensor


def draw(
    inputs: int,
    width: int,
    depth: int,
    outputs: int,
    generator: torch.Generator,
    variances: Variances = Variances(),  # noqa: B008  (an immutable constant)
    dtype: torch.dtype = torch.float64,
) -> Weights:
    """Gaussian weights of one network with ``depth`` = L, on the generator's device; drawn as A, W_1 ... W_L, B."""

    def gaussian(*shape: int, variance: float) -> Tensor:
        entries = torch.randn(*shape, generator=generator, dtype=dtype, device=generator.device)
        return entries.mul_(variance**0.5)

    return Weights(
        gaussian(width, inputs, variance=variances.first / width),
        gaussian(depth - 1, width, width, variance=variances.middle / width),
        gaussian(width, width, variance=variances.last / width),
        gaussian(outputs, width, variance=variances.readout / outputs),
    )


class ShuffledBatches:
    """Batches of images of norm one and their labels, one-hot; each epoch in another order, run by run.

    Args:
        images: unsigned bytes, shape (n, ...).
        labels: shape (n,).
        classes: number of labels.
        size: of a batch, at most n; samples that are left over at the end of an epoch are not used.
        seed: of the orders.
        runs: numbers of the random draws.
        like: gives dtype and device.
    """

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, classes: int, size: int, seed: int, runs: range, like: Tensor
    ) -> None:
        self._images = torch.tensor(images.reshape(len(images), -1), device=like.device)
        self._targets = torch.eye(classes).to(like)[torch.tensor(labels.astype(np.int64))]
        self._size, self._seed, self._runs, self._like = size, seed, runs, like
        self._epoch, self._orders = -1, np.empty((len(runs), 0), dtype=np.int64)

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs (runs, pixels, size) and targets (runs, classes, size) of a step."""
        epoch, place = divmod(step, len(self._images) // self._size)
        if epoch != self._epoch:
            self._epoch, self._orders = epoch, self._of_epoch(epoch)
        chosen = torch.tensor(self._orders[:, place * self._size : (place + 1) * self._size], device=self._like.device)
        inputs = self._images[chosen].to(self._like.dtype)
        inputs /= torch.linalg.vector_norm(inputs, dim=2, keepdim=True)
        return inputs.mT, self._targets[chosen].mT

    def _of_epoch(self, epoch: int) -> np.ndarray:
        streams = (np.random.default_rng([self._seed, ORDER, run, epoch]) for run in self._runs)
        return np.stack([stream.permutation(len(self._images)) for stream in streams])


def drawn(inputs: int, width: int, depth: int, outputs: int, seed: int, runs: range, plain: bool) -> Weights:
    """Weights of the runs of these numbers, float32 on the CPU, with a leading dimension; see :func:`draw`."""
    each = []
    for run in runs:
        key = np.random.SeedSequence((seed, WEIGHTS, run)).generate_state(1, np.uint64)[0] >> np.uint64(1)
        generator = torch.Generator().manual_seed(int(key))
        variances = PLAIN if plain else Variances()
        each.append(draw(inputs, width, depth, outputs, generator, variances, torch.float32))
    return Weights(*(torch.stack(part) for part in zip(*each, strict=True)))


def train(
    weights: Weights,
    tau: float | None,
    learning_rates: Sequence[float],
    batches: Batches,
    steps: int,
    loop: Loop = iter,
    start: Descent[np.ndarray] | None = None,
    after_step: AfterStep = keep_nothing,
) -> np.ndarray:
    """Train every draw of the weights at every learning rate, rates outermost.

    Args:
        weights: at the start, with one leading dimension, of n draws; not changed. Their dtype and device are used.
        tau: None in the plain feedforward network.
        learning_rates: to try, in units of d/m with d outputs, as in theorem 5 (for the mean loss instead of the sum).
        batches: of each draw; they do not depend on the learning rate.
        steps: of SGD.
        loop: wraps the range of steps, to show progress.
        start: state to resume from, of a training with the same arguments; the result has the same bits.
        after_step: called between two steps.

    Returns:
        The loss of each run's batch before each step, shape (steps, runs); infinite once a run has diverged.

    A run whose loss is not finite leaves the ensemble and costs nothing from then on.
    On one thread a run has the same bytes in any block of draws if the batch is even; with an odd one (5, 7) the last
    bits of single-precision losses depend on where in memory a product lies, so on whether a run is alone.
    """
    draws, (outputs, width) = len(weights.readout), weights.readout.shape[1:]
    rates = torch.tensor(learning_rates, dtype=torch.float64).mul(outputs / width).to(weights.last)
    layers = torch.cat([weights.middle, weights.last[:, None]], dim=1).transpose(0, 1).repeat(1, len(rates), 1, 1)
    draw_of_run = torch.arange(draws, device=rates.device).repeat(len(rates))
    take_step = _BatchStep(weights, tau, rates.repeat_interleave(draws), draw_of_run, batches)
    final = run_steps(take_step, begun(layers, quantities=1, steps=steps, start=start), loop, after_step)
    record: np.ndarray = final.record[0]
    return record


@dataclass
class _BatchStep:
    """Record the loss of a batch and take a step."""

    weights: Weights  # A and B of every draw
    tau: float | None  # factor of the branches
    rates: Tensor  # each run's, shape (r,)
    draws: Tensor  # number of each run's random draws, shape (r,)
    batches: Batches  # of every draw
    states: Tensor | None = None  # h_0 ... h_L of the step before, to be written over.

    def __call__(self, descent: Descent[Tensor], step: int) -> None:
        inputs, targets = self.batches(step)
        draws = self.draws[descent.runs]
        first = torch.relu(self.weights.first @ inputs)[draws]
        states = self.states = forward(descent.weights, first, self.tau, self.states)
        residual = self.weights.readout[draws] @ states[-1] - targets[draws]
        loss = residual.square().sum(dim=(1, 2)) / (2 * residual.shape[2])
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            descent.runs, descent.weights = descent.runs[finite], descent.weights[:, finite]
            states = self.states = states[:, finite]
            draws, residual, loss = draws[finite], residual[finite], loss[finite]
        if not len(descent.runs):
            return
        descent.record[0, step, descent.runs] = loss.double()
        # Times the learning rate at once: the backward pass is linear in it.
        residual *= (self.rates[descent.runs] / residual.shape[2])[:, None, None]
        descend(descent.weights, states, self.weights.readout[draws].mT @ residual, self.tau)


def forward(layers: Tensor, start: Tensor, tau: float | None, states: Tensor | None = None) -> Tensor:
    """h_0 ... h_L, shape (L + 1, a, m, b), of h_0 = ``start``, shape (a, m, b), and layers (L, a, m, m).

    They are written over ``states``, if given: memory that is new in every step costs more than the products.
    """
    if states is None:
        states = start.new_empty(len(layers) + 1, *start.shape)
    states[0] = start
    for layer, matrix in enumerate(layers):
        below, above = states[layer], states[layer + 1]
        if tau is None or layer == len(layers) - 1:
            torch.bmm(matrix, below, out=above)
        else:
            torch.baddbmm(below, matrix, below, alpha=tau, out=above)
        above.relu_()
    return states


def descend(layers: Tensor, states: Tensor, slope: Tensor, tau: float | None) -> None:
    """Subtract from the layers, in place, the gradient's step.

    Args:
        layers: W_1 ... W_L, shape (L, a, m, m).
        states: h_0 ... h_L as :func:`forward` returns them.
        slope: the gradient by h_L times the learning rate, shape (a, m, b); overwritten.
        tau: None in the plain feedforward network.
    """
    last, masked = len(layers) - 1, torch.empty_like(slope)
    for layer in range(last, -1, -1):
        # States are not negative, so signs are ReLU's slopes; a comparison's booleans take as long as a product.
        torch.sign(states[layer + 1], out=masked).mul_(slope)
        matrix, below = layers[layer], states[layer]
        if tau is None or layer == last:
            share = 1.0
            torch.bmm(matrix.mT, masked, out=slope)
        else:
            share = tau
            torch.baddbmm(masked, matrix.mT, masked, alpha=tau, out=slope)
        matrix.baddbmm_(masked, below.mT, alpha=-share)
