"""Training of scaled residual networks by SGD: runs that differ only in seed and learning rate, all at once.

The loss of a batch of b samples is the mean of |B h_L - y|^2 / 2; W_1 ... W_L are trained, A and B stay as drawn
(arXiv 1903.07120, section 2 and theorem 9). The backward pass is written out: it keeps h_0 ... h_L and no gradient,
since each layer's step is added to its weights as soon as it is known.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from residual.stable_scaling.network.losses import Losses
from residual.stable_scaling.network.model import Weights


@dataclass(frozen=True)
class DescentState:
    """The state between two steps: with the arguments of :func:`train`, all that the rest depends on.

    Attributes:
        step: the next one, shape ().
        active: numbers of the runs that have not diverged, shape (a,).
        layers: their W_1 ... W_L, shape (L, a, m, m).
        loss: of all runs, shape (steps, r).
    """

    step: np.ndarray
    active: np.ndarray
    layers: np.ndarray
    loss: np.ndarray


class Batches(Protocol):
    """The samples of each step."""

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs (runs, inputs, b) and targets (runs, outputs, b) of each number of random draws."""


StepLoop = Callable[[range], Iterable[int]]
"""Wraps the steps, to show progress."""
AfterStep = Callable[[Callable[[], DescentState]], None]
"""Called after each step with a function that returns the state; may raise to stop the training."""


def go_on(_state: Callable[[], DescentState]) -> None:
    """Keep nothing between steps."""


def train(
    weights: Weights,
    tau: float | None,
    learning_rates: Sequence[float],
    batches: Batches,
    steps: int,
    loop: StepLoop = iter,
    start: DescentState | None = None,
    after_step: AfterStep = go_on,
) -> Losses:
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

    A run whose loss is not finite leaves the ensemble and costs nothing from then on.
    """
    draws, (outputs, width) = len(weights.readout), weights.readout.shape[1:]
    rates = torch.tensor(learning_rates, dtype=torch.float64).mul(outputs / width).to(weights.last)
    runs = draws * len(rates)
    if start is None:
        layers = torch.cat([weights.middle, weights.last[:, None]], dim=1).transpose(0, 1).repeat(1, len(rates), 1, 1)
        active, loss, first = torch.arange(runs, device=layers.device), np.full((steps, runs), np.inf), 0
    else:
        # Copies, since both are updated in place.
        layers, active = torch.tensor(start.layers).to(weights.last), torch.tensor(start.active).to(rates.device)
        loss, first = start.loss.copy(), int(start.step)
    states = None
    for step in loop(range(first, steps)):
        inputs, targets = batches(step)
        states = forward(layers, torch.relu(weights.first @ inputs)[active % draws], tau, states)
        residual = weights.readout[active % draws] @ states[-1] - targets[active % draws]
        of_batch = residual.square().sum(dim=(1, 2)) / (2 * residual.shape[2])
        finite = torch.isfinite(of_batch)
        if not bool(finite.all()):
            active, layers, states = active[finite], layers[:, finite], states[:, finite]
            residual, of_batch = residual[finite], of_batch[finite]
        if not len(active):
            break
        loss[step, active.cpu().numpy()] = of_batch.cpu().numpy()
        # Times the learning rate at once: the backward pass is linear in it.
        residual *= (rates[active // draws] / residual.shape[2])[:, None, None]
        descend(layers, states, weights.readout[active % draws].mT @ residual, tau)
        after_step(partial(_progress, step + 1, active, layers, loss))
    return Losses(np.repeat(learning_rates, draws), np.tile(np.arange(draws), len(rates)), loss)


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


def _progress(step: int, active: Tensor, layers: Tensor, loss: np.ndarray) -> DescentState:
    return DescentState(np.asarray(step), active.cpu().numpy(), layers.cpu().numpy(), loss)
