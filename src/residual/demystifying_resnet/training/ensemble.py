"""Full-batch gradient descent on an ensemble: runs that differ only in learning rate and seed, all at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch

from residual.demystifying_resnet.training.trajectory import Trajectory


class Objective(Protocol):
    """A loss to descend on."""

    @property
    def baseline_loss(self) -> float:
        """The loss that excess losses are relative to: the optimum if it is known, else 0."""

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (depth, runs, width, width) -> excess loss (runs,) and gradient (shape of the weights)."""


EpochLoop = Callable[[range], Iterable[int]]
"""Wraps the epochs, to show progress."""


@dataclass(frozen=True)
class Descent:
    """The state of a descent between two epochs: with the arguments of :func:`descend`, all that the rest depends on.

    Attributes:
        epoch: the next epoch, shape ().
        runs: numbers of the active runs, shape (a,).
        weights: of the active runs before that epoch, shape (depth, a, width, width).
        loss, gradient_norm, weight_norm: the record of all r runs, shape (epochs + 1, r).
        snapshots: shape (snapshots, depth, r, width, width).
    """

    epoch: np.ndarray
    runs: np.ndarray
    weights: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    weight_norm: np.ndarray
    snapshots: np.ndarray


AfterEpoch = Callable[[Callable[[], Descent]], None]
"""Called after each epoch with a function that returns the state; may raise to stop the descent."""


def go_on(_state: Callable[[], Descent]) -> None:
    """Keep nothing between epochs."""


def descend(
    objective: Objective,
    weights: torch.Tensor,
    learning_rates: torch.Tensor,
    epochs: int,
    snapshot_epochs: Sequence[int] = (),
    loop: EpochLoop = iter,
    start: Descent | None = None,
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
        found, needed = tuple(learning_rates.shape), tuple(weights.shape[1:2])
        raise ValueError(f"learning_rates have the shape {found}; needed: {needed}, one a run")
    record = _Record(weights, epochs, snapshot_epochs)
    active = _Active(torch.arange(weights.shape[1], device=weights.device), weights.clone(), learning_rates.to(weights))
    if start is not None:
        record.restore(start)
        active = active.restored(start)
    for epoch in loop(range(0 if start is None else int(start.epoch), epochs + 1)):
        active = _step(objective, record, active, epoch)
        if not len(active.runs):
            break
        after_epoch(partial(_state, epoch + 1, record, active))
    return Trajectory(
        learning_rate=learning_rates.cpu().numpy(),
        baseline_loss=np.asarray(objective.baseline_loss),
        excess_loss=record.loss.cpu().numpy(),
        gradient_norm=record.gradient_norm.cpu().numpy(),
        mean_frobenius_norm=record.weight_norm.cpu().numpy(),
        snapshot_epochs=np.asarray(snapshot_epochs, dtype=np.int64),
        snapshots=record.snapshots.cpu().numpy(),
    )


def _step(objective: Objective, record: "_Record", active: "_Active", epoch: int) -> "_Active":
    """Record an epoch and take a step; return the runs that continue."""
    loss, gradient = objective(active.weights)
    finite = torch.isfinite(loss)
    if not bool(finite.all()):
        active, loss, gradient = active.only(finite), loss[finite], gradient[:, finite]
        if not len(active.runs):
            return active
    record.add(epoch, active, loss, gradient)
    step = gradient.mul_(active.learning_rates[:, None, None])
    moving = ~_unmoved(active.weights, step, *record.norms(epoch, active))
    if not bool(moving.all()):
        record.stays(epoch, active.only(~moving))
        active, step = active.only(moving), step[:, moving]
    active.weights.sub_(step)
    return active


def _state(epoch: int, record: "_Record", active: "_Active") -> Descent:
    return Descent(
        epoch=np.asarray(epoch),
        runs=active.runs.cpu().numpy(),
        weights=active.weights.cpu().numpy(),
        loss=record.loss.cpu().numpy(),
        gradient_norm=record.gradient_norm.cpu().numpy(),
        weight_norm=record.weight_norm.cpu().numpy(),
        snapshots=record.snapshots.cpu().numpy(),
    )


@dataclass(frozen=True)
class _Active:
    """The active runs: their numbers, weights and learning rates."""

    runs: torch.Tensor
    weights: torch.Tensor
    learning_rates: torch.Tensor

    def only(self, chosen: torch.Tensor) -> "_Active":
        return _Active(self.runs[chosen], self.weights[:, chosen], self.learning_rates[chosen])

    def restored(self, state: Descent) -> "_Active":
        runs = torch.from_numpy(state.runs).to(self.runs)
        # A copy, since the weights are updated in place.
        return _Active(runs, torch.tensor(state.weights).to(self.weights), self.learning_rates[runs])


def _unmoved(
    weights: torch.Tensor, step: torch.Tensor, step_norm: torch.Tensor, largest_norm: torch.Tensor
) -> torch.Tensor:
    """The runs whose weights a step does not change in any bit; norms select the candidates cheaply."""
    unmoved = step_norm <= torch.finfo(weights.dtype).eps * largest_norm
    if bool(unmoved.any()):
        weights, step = weights[:, unmoved], step[:, unmoved]
        unmoved[unmoved.clone()] = (weights - step == weights).all(dim=3).all(dim=2).all(dim=0)
    return unmoved


class _Record:
    """Arrays of infinities, filled while a run stays finite."""

    def __init__(self, weights: torch.Tensor, epochs: int, snapshot_epochs: Sequence[int]) -> None:
        depth, runs, width, _ = weights.shape
        self._slot = {epoch: slot for slot, epoch in enumerate(snapshot_epochs)}

        def infinite(*shape: int) -> torch.Tensor:
            return torch.full(shape, torch.inf, dtype=weights.dtype, device=weights.device)

        self.loss = infinite(epochs + 1, runs)
        self.gradient_norm = infinite(epochs + 1, runs)
        self.weight_norm = infinite(epochs + 1, runs)
        self.snapshots = infinite(len(snapshot_epochs), depth, runs, width, width)

    def restore(self, state: Descent) -> None:
        for name in ("loss", "gradient_norm", "weight_norm", "snapshots"):
            getattr(self, name).copy_(torch.from_numpy(getattr(state, name)))

    def add(self, epoch: int, active: _Active, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        self.loss[epoch, active.runs] = loss
        self.gradient_norm[epoch, active.runs] = torch.linalg.vector_norm(gradient, dim=(0, 2, 3))
        self.weight_norm[epoch, active.runs] = torch.linalg.vector_norm(active.weights, dim=(2, 3)).mean(dim=0)
        if epoch in self._slot:
            self.snapshots[self._slot[epoch]][:, active.runs] = active.weights

    def norms(self, epoch: int, active: _Active) -> tuple[torch.Tensor, torch.Tensor]:
        """Each run's norm of the step, and an upper bound of the norm of all its weights."""
        step = active.learning_rates * self.gradient_norm[epoch, active.runs]
        return step, len(active.weights) * self.weight_norm[epoch, active.runs]

    def stays(self, epoch: int, ended: _Active) -> None:
        """Repeat the record of an epoch for all later ones."""
        for record in (self.loss, self.gradient_norm, self.weight_norm):
            record[epoch:, ended.runs] = record[epoch, ended.runs]
        for later, slot in self._slot.items():
            if later > epoch:
                self.snapshots[slot][:, ended.runs] = ended.weights
