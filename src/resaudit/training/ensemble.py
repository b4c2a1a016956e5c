"""Full-batch gradient descent on an ensemble: runs that differ only in learning rate and seed, all at once."""

from collections.abc import Callable, Iterable, Sequence
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

    A run whose loss is no longer finite leaves the batch, so that it costs nothing from then on.
    """
    record = _Record(weights, epochs, snapshot_epochs)
    active = torch.arange(weights.shape[1], device=weights.device)
    weights = weights.clone()
    rates = learning_rates.to(weights)[:, None, None]
    for epoch in loop(range(epochs + 1)):
        loss, gradient = objective(weights)
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            active, weights, gradient, loss, rates = (
                active[finite], weights[:, finite], gradient[:, finite], loss[finite], rates[finite],
            )  # fmt: skip
            if not len(active):
                break
        record.add(epoch, active, loss, gradient, weights)
        weights.sub_(gradient.mul_(rates))
    return Trajectory(
        learning_rate=learning_rates.cpu().numpy(),
        baseline_loss=np.asarray(objective.baseline_loss),
        excess_loss=record.loss.cpu().numpy(),
        gradient_norm=record.gradient_norm.cpu().numpy(),
        mean_frobenius_norm=record.weight_norm.cpu().numpy(),
        snapshot_epochs=np.asarray(snapshot_epochs, dtype=np.int64),
        snapshots=record.snapshots.cpu().numpy(),
    )


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

    def add(
        self, epoch: int, runs: torch.Tensor, loss: torch.Tensor, gradient: torch.Tensor, weights: torch.Tensor
    ) -> None:
        self.loss[epoch, runs] = loss
        self.gradient_norm[epoch, runs] = torch.linalg.vector_norm(gradient, dim=(0, 2, 3))
        self.weight_norm[epoch, runs] = torch.linalg.vector_norm(weights, dim=(2, 3)).mean(dim=0)
        if epoch in self._slot:
            self.snapshots[self._slot[epoch]][:, runs] = weights
