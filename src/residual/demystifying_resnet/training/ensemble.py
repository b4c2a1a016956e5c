"""Full-batch gradient descent on an ensemble: runs that differ only in learning rate and seed, all at once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch

from residual.demystifying_resnet.training.trajectory import Trajectory

Array = TypeVar("Array", np.ndarray, torch.Tensor)


class Objective(Protocol):
    """A loss to descend on."""

    @property
    def baseline_loss(self) -> float:
        """The loss that excess losses are relative to: the optimum if it is known, else 0."""

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (depth, runs, width, width) -> excess loss (runs,) and gradient (shape of the weights)."""


EpochLoop = Callable[[range], Iterable[int]]
"""Wraps the epochs, to show progress."""


@dataclass
class Descent(Generic[Array]):
    """The state of a descent between two epochs: with the arguments of :func:`descend`, all that the rest depends on.

    It holds tensors while it runs, and arrays in checkpoints. The record is infinite where there is none yet, and where
    a run has diverged.

    Attributes:
        epoch: the next epoch, shape ().
        runs: numbers of the active runs, shape (a,).
        weights: of the active runs before that epoch, shape (depth, a, width, width).
        loss, gradient_norm, weight_norm: the record of all r runs, shape (epochs + 1, r).
        snapshots: shape (snapshots, depth, r, width, width).
    """

    epoch: Array
    runs: Array
    weights: Array
    loss: Array
    gradient_norm: Array
    weight_norm: Array
    snapshots: Array


AfterEpoch = Callable[[Callable[[], Descent[np.ndarray]]], None]
"""Called after each epoch with a function that returns the state; may raise to stop the descent."""


def go_on(_state: Callable[[], Descent[np.ndarray]]) -> None:
    """Keep nothing between epochs."""


def descend(
    objective: Objective,
    weights: torch.Tensor,
    learning_rates: torch.Tensor,
    epochs: int,
    snapshot_epochs: Sequence[int] = (),
    loop: EpochLoop = iter,
    start: Descent[np.ndarray] | None = None,
    after_epoch: AfterEpoch = go_on,
) -> Trajectory:
    """Train every run for ``epochs`` steps of gradient descent.

    Args:
        objective: loss and gradient of all runs.
        weights: initial weights, shape (depth, runs, width, width), of the objective's type; not changed.
        learning_rates: one per run, shape (runs,).
        epochs: number of steps; with full batches a step is an epoch.
        snapshot_epochs: epochs whose weights are kept.
        loop: wraps the range of epochs, to show progress.
        start: state to resume from, of a descent with the same arguments; the result has the same bits.
        after_epoch: called between two epochs.

    A run whose loss is not finite leaves the batch and costs nothing from then on; so does a run whose step changes no
    bit of its weights, since it will never move again.

    Raises:
        ValueError: there are more or fewer learning rates than runs.
    """
    if learning_rates.shape != weights.shape[1:2]:
        shape, needed = tuple(learning_rates.shape), tuple(weights.shape[1:2])
        raise ValueError(f"learning_rates have the shape {shape}; needed: {needed}, one a run")
    if start is None:
        runs = torch.arange(weights.shape[1], device=weights.device)
        record = weights.new_full((epochs + 1, len(runs)), torch.inf)
        snapshots = weights.new_full((len(snapshot_epochs), *weights.shape), torch.inf)
        state = Descent(torch.tensor(0), runs, weights.clone(), record, record.clone(), record.clone(), snapshots)
    else:
        # Copies, since they are updated in place.
        state = Descent(*(torch.tensor(getattr(start, f.name), device=weights.device) for f in fields(Descent)))

    def arrays() -> Descent[np.ndarray]:
        return Descent(*(getattr(state, f.name).cpu().numpy() for f in fields(Descent)))

    slots = {epoch: slot for slot, epoch in enumerate(snapshot_epochs)}
    for epoch in loop(range(int(state.epoch), epochs + 1)):
        _step(objective, state, learning_rates.to(weights), epoch, slots)
        if not len(state.runs):
            break
        after_epoch(arrays)
    found = arrays()
    return Trajectory(
        learning_rate=learning_rates.cpu().numpy(),
        baseline_loss=np.asarray(objective.baseline_loss),
        excess_loss=found.loss,
        gradient_norm=found.gradient_norm,
        mean_frobenius_norm=found.weight_norm,
        snapshot_epochs=np.asarray(snapshot_epochs, dtype=np.int64),
        snapshots=found.snapshots,
    )


def _step(
    objective: Objective,
    state: Descent[torch.Tensor],
    learning_rates: torch.Tensor,
    epoch: int,
    slots: Mapping[int, int],
) -> None:
    """Record an epoch and take a step; runs that end leave the state."""
    loss, gradient = objective(state.weights)
    finite = torch.isfinite(loss)
    if not bool(finite.all()):
        state.runs, state.weights = state.runs[finite], state.weights[:, finite]
        loss, gradient = loss[finite], gradient[:, finite]
        if not len(state.runs):
            return
    weights, runs, rates = state.weights, state.runs, learning_rates[state.runs]
    state.loss[epoch, runs] = loss
    state.gradient_norm[epoch, runs] = torch.linalg.vector_norm(gradient, dim=(0, 2, 3))
    state.weight_norm[epoch, runs] = torch.linalg.vector_norm(weights, dim=(2, 3)).mean(dim=0)
    if epoch in slots:
        state.snapshots[slots[epoch]][:, runs] = weights
    step = gradient.mul_(rates[:, None, None])
    # Norms select cheaply the runs whose weights the step may not change in any bit.
    largest = len(weights) * state.weight_norm[epoch, runs]
    unmoved = rates * state.gradient_norm[epoch, runs] <= torch.finfo(weights.dtype).eps * largest
    if bool(unmoved.any()):
        same = weights[:, unmoved] - step[:, unmoved] == weights[:, unmoved]
        unmoved[unmoved.clone()] = same.all(dim=3).all(dim=2).all(dim=0)
    if bool(unmoved.any()):
        ended = runs[unmoved]
        for record in (state.loss, state.gradient_norm, state.weight_norm):
            record[epoch:, ended] = record[epoch, ended]
        for later, slot in slots.items():
            if later > epoch:
                state.snapshots[slot][:, ended] = weights[:, unmoved]
        state.runs, state.weights, step = runs[~unmoved], weights[:, ~unmoved], step[:, ~unmoved]
    state.weights.sub_(step)
    state.epoch = torch.tensor(epoch + 1)
