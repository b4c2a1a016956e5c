"""Full-batch gradient descent on an ensemble: runs that differ only in learning rate and seed, all at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from resaudit.training.trajectory import Trajectory


class Objective(Protocol):
    """A loss to descend on."""

    @property
    def baseline_loss(self) -> float:
        """What the losses returned are measured from: the optimum where it is known, else 0."""

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (depth, runs, width, width) -> excess loss (runs,) and gradient (shape of the weights)."""


EpochLoop = Callable[[range], Iterable[int]]
"""Wraps the epochs, to show progress."""


def descend(
    objective: Objective,
    weights: torch.Tensor,
    learning_rates: torch.Tensor,
    epochs: int,
    snapshot_epochs: Sequence[int] = (),
    loop: EpochLoop = iter,
) -> Trajectory:
    """Train every run for ``epochs`` steps of gradient descent.

    Args:
        objective: loss and gradient of all runs.
        weights: initial weights, shape (depth, runs, width, width); not changed.
        learning_rates: one a run, shape (runs,).
        epochs: steps to take; with full batches a step is an epoch.
        snapshot_epochs: epochs whose weights are kept.
        loop: wraps the range of epochs, to show progress.

    A run whose loss is no longer finite leaves the batch, so that it costs nothing from then on; so does one whose step
    changes no bit of its weights, which stays where it is for ever.
    """
    record = _Record(weights, epochs, snapshot_epochs)
    active = _Active(torch.arange(weights.shape[1], device=weights.device), weights.clone(), learning_rates.to(weights))
    for epoch in loop(range(epochs + 1)):
        loss, gradient = objective(active.weights)
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            active, loss, gradient = active.only(finite), loss[finite], gradient[:, finite]
            if not len(active.runs):
                break
        record.add(epoch, active, loss, gradient)
        step = gradient.mul_(active.learning_rates[:, None, None])
        moving = ~_unmoved(active.weights, step, *record.norms(epoch, active))
        if not bool(moving.all()):
            record.stays(epoch, active.only(~moving))
            active, step = active.only(moving), step[:, moving]
            if not len(active.runs):
                break
        active.weights.sub_(step)
    return Trajectory(
        learning_rate=learning_rates.cpu().numpy(),
        baseline_loss=np.asarray(objective.baseline_loss),
        excess_loss=record.loss.cpu().numpy(),
        gradient_norm=record.gradient_norm.cpu().numpy(),
        mean_frobenius_norm=record.weight_norm.cpu().numpy(),
        snapshot_epochs=np.asarray(snapshot_epochs, dtype=np.int64),
        snapshots=record.snapshots.cpu().numpy(),
    )


@dataclass(frozen=True)
class _Active:
    """The runs that are still computed: their numbers, weights and learning rates."""

    runs: torch.Tensor
    weights: torch.Tensor
    learning_rates: torch.Tensor

    def only(self, chosen: torch.Tensor) -> "_Active":
        return _Active(self.runs[chosen], self.weights[:, chosen], self.learning_rates[chosen])


def _unmoved(
    weights: torch.Tensor, step: torch.Tensor, step_norm: torch.Tensor, largest_norm: torch.Tensor
) -> torch.Tensor:
    """Which runs' weights a step changes no bit of. Their norms say at little cost which ones it may be."""
    unmoved = step_norm <= torch.finfo(weights.dtype).eps * largest_norm
    if bool(unmoved.any()):
        weights, step = weights[:, unmoved], step[:, unmoved]
        unmoved[unmoved.clone()] = (weights - step == weights).all(dim=3).all(dim=2).all(dim=0)
    return unmoved


class _Record:
    """Arrays of infinities that fill up as long as a run stays finite."""

    def __init__(self, weights: torch.Tensor, epochs: int, snapshot_epochs: Sequence[int]) -> None:
        depth, runs, width, _ = weights.shape
        self._slot = {epoch: slot for slot, epoch in enumerate(snapshot_epochs)}

        def infinite(*shape: int) -> torch.Tensor:
            return torch.full(shape, torch.inf, dtype=weights.dtype, device=weights.device)

        self.loss = infinite(epochs + 1, runs)
        self.gradient_norm = infinite(epochs + 1, runs)
        self.weight_norm = infinite(epochs + 1, runs)
        self.snapshots = infinite(len(snapshot_epochs), depth, runs, width, width)

    def add(self, epoch: int, active: _Active, loss: torch.Tensor, gradient: torch.Tensor) -> None:
        self.loss[epoch, active.runs] = loss
        self.gradient_norm[epoch, active.runs] = torch.linalg.vector_norm(gradient, dim=(0, 2, 3))
        self.weight_norm[epoch, active.runs] = torch.linalg.vector_norm(active.weights, dim=(2, 3)).mean(dim=0)
        if epoch in self._slot:
            self.snapshots[self._slot[epoch]][:, active.runs] = active.weights

    def norms(self, epoch: int, active: _Active) -> tuple[torch.Tensor, torch.Tensor]:
        """Each run's norm of the step from an epoch, and no less than the norm of all its weights."""
        step = active.learning_rates * self.gradient_norm[epoch, active.runs]
        return step, len(active.weights) * self.weight_norm[epoch, active.runs]

    def stays(self, epoch: int, ended: _Active) -> None:
        """What was recorded of runs at an epoch holds of all epochs after it too."""
        for record in (self.loss, self.gradient_norm, self.weight_norm):
            record[epoch:, ended.runs] = record[epoch, ended.runs]
        for later, slot in self._slot.items():
            if later > epoch:
                self.snapshots[slot][:, ended.runs] = ended.weights
