"""Full-batch gradient descent on an ensemble: runs that differ only in learning rate and seed, all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.descent import AfterStep, Descent, Loop, begun, keep_nothing, run_steps


class Objective(Protocol):
    """A loss to descend on."""

    @property
    def baseline_loss(self) -> float:
        """The loss that excess losses are relative to: the optimum if it is known, else 0."""

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights (depth, runs, width, width) -> excess loss (runs,) and gradient (shape of the weights)."""


def descend(
    objective: Objective,
    weights: torch.Tensor,
    learning_rates: torch.Tensor,
    epochs: int,
    snapshot_epochs: Sequence[int] = (),
    loop: Loop = iter,
    start: Descent[np.ndarray] | None = None,
    after_epoch: AfterStep = keep_nothing,
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
    state = begun(weights.clone(), quantities=3, steps=epochs + 1, snapshots=len(snapshot_epochs), start=start)
    slots = {epoch: slot for slot, epoch in enumerate(snapshot_epochs)}
    take_step = _GradientStep(objective, learning_rates.to(weights), slots)
    final = run_steps(take_step, state, loop, after_epoch)
    loss, gradient_norm, weight_norm = final.record
    return Trajectory(
        learning_rate=learning_rates.cpu().numpy(),
        baseline_loss=np.asarray(objective.baseline_loss),
        excess_loss=loss,
        gradient_norm=gradient_norm,
        mean_frobenius_norm=weight_norm,
        snapshot_epochs=np.asarray(snapshot_epochs, dtype=np.int64),
        snapshots=final.snapshots,
    )


@dataclass(frozen=True)
class _GradientStep:
    """Record an epoch (loss, gradient norm, weight norm) and take a step."""

    objective: Objective
    learning_rates: torch.Tensor
    slots: Mapping[int, int]  # of the snapshots, by epoch

    def __call__(self, state: Descent[torch.Tensor], epoch: int) -> None:
        loss, gradient = self.objective(state.weights)
        finite = torch.isfinite(loss)
        if not bool(finite.all()):
            state.runs, state.weights = state.runs[finite], state.weights[:, finite]
            loss, gradient = loss[finite], gradient[:, finite]
            if not len(state.runs):
                return
        weights, runs, rates = state.weights, state.runs, self.learning_rates[state.runs]
        gradient_norm = _by_run(gradient.square().sum(dim=(2, 3))).sum(dim=1).sqrt()
        weight_norm = _by_run(weights.square().sum(dim=(2, 3)).sqrt()).mean(dim=1)
        state.record[:, epoch, runs] = torch.stack([loss, gradient_norm, weight_norm])
        if epoch in self.slots:
            state.snapshots[self.slots[epoch]][:, runs] = weights
        step = gradient.mul_(rates[:, None, None])
        # Norms select cheaply the runs whose weights the step may not change in any bit.
        unmoved = rates * gradient_norm <= torch.finfo(weights.dtype).eps * len(weights) * weight_norm
        if bool(unmoved.any()):
            same = weights[:, unmoved] - step[:, unmoved] == weights[:, unmoved]
            unmoved[unmoved.clone()] = same.all(dim=3).all(dim=2).all(dim=0)
        if bool(unmoved.any()):
            ended = runs[unmoved]
            state.record[:, epoch:, ended] = state.record[:, epoch, ended][:, None]
            for later, slot in self.slots.items():
                if later > epoch:
                    state.snapshots[slot][:, ended] = weights[:, unmoved]
            state.runs, state.weights, step = runs[~unmoved], weights[:, ~unmoved], step[:, ~unmoved]
        state.weights.sub_(step)


def _by_run(of_layers: torch.Tensor) -> torch.Tensor:
    """Values of shape (depth, runs) as (runs, depth): sums over contiguous rows have the same bytes in any ensemble."""
    return of_layers.T.contiguous()
