"""Gradient descent on an ensemble, all runs at once: the loop, the state between two steps, and runs that end early.

A run depends on its weights, learning rate and samples alone, so an ensemble may be any block of a larger one.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from resaudit.paper import Checkpoint, Job, Work

Array = TypeVar("Array", np.ndarray, torch.Tensor)


@dataclass
class Descent(Generic[Array]):
    """The state between two steps: all that the rest depends on, besides the settings.

    It holds tensors while it runs, and arrays in checkpoints. The record is infinite where there is none yet, and where
    a run has diverged.
    """

    step: Array  # number of the next step, shape ()
    runs: Array  # numbers of the active runs, shape (a,)
    weights: Array  # the active runs' before that step, shape (depth, a, width, width)
    record: Array  # quantities of all r runs at each step, float64, shape (quantities, steps, r)
    snapshots: Array  # all runs' weights at chosen steps, shape (snapshots, depth, r, width, width)


Loop = Callable[[range], Iterable[int]]
"""Wraps the steps, to show progress."""
AfterStep = Callable[[Callable[[], Descent[np.ndarray]]], None]
"""Called after each step with a function that returns the state; may raise to stop the descent."""


def keep_nothing(_state: Callable[[], Descent[np.ndarray]]) -> None:
    """Write no checkpoint."""


def begun(
    weights: torch.Tensor, quantities: int, steps: int, snapshots: int = 0, start: Descent[np.ndarray] | None = None
) -> Descent[torch.Tensor]:
    """The state before the first step, or the one to resume from; steps may overwrite the weights.

    >>> state = begun(torch.zeros(2, 5, 3, 3), quantities=1, steps=10)
    >>> state.runs.tolist(), state.record.shape, state.snapshots.shape
    ([0, 1, 2, 3, 4], torch.Size([1, 10, 5]), torch.Size([0, 2, 5, 3, 3]))
    """
    if start is not None:
        # Copies, since they are updated in place.
        return Descent(*(torch.tensor(getattr(start, f.name), device=weights.device) for f in fields(Descent)))
    runs = torch.arange(weights.shape[1], device=weights.device)
    record = torch.full((quantities, steps, len(runs)), torch.inf, dtype=torch.float64, device=weights.device)
    return Descent(torch.tensor(0), runs, weights, record, weights.new_full((snapshots, *weights.shape), torch.inf))


def run_steps(
    take_step: Callable[[Descent[torch.Tensor], int], None],
    state: Descent[torch.Tensor],
    loop: Loop = iter,
    after_step: AfterStep = keep_nothing,
) -> Descent[np.ndarray]:
    """Take the steps that the record has room for, or those until no run is active.

    Args:
        take_step: records a step and changes the weights; takes runs that end out of ``runs`` and ``weights``.
        state: before the next step.
        loop: wraps the range of steps, to show progress.
        after_step: called between two steps.
    """

    def arrays() -> Descent[np.ndarray]:
        return Descent(*(getattr(state, f.name).cpu().numpy() for f in fields(Descent)))

    for step in loop(range(int(state.step), state.record.shape[1])):
        take_step(state, step)
        if not len(state.runs):
            break
        state.step = torch.tensor(step + 1)
        after_step(arrays)
    return arrays()


def resumed(
    job: Job, work: Work, settings: Mapping[str, Any], unit: str, signalled: Callable[[], int | None], part: str = ""
) -> tuple[Descent[np.ndarray] | None, AfterStep]:
    """The state to resume a job from, if there is one, and what keeps its checkpoint.

    Args:
        job: the training.
        work: its context; records where it resumed.
        settings: what its bits depend on besides the job's own settings.
        unit: ``epoch`` or ``step``, for the record.
        signalled: returns the signal received, if any.
        part: a part of the job that has a checkpoint of its own.
    """
    checkpoint = Checkpoint.of(job, work, Descent, settings, part)
    start: Descent[np.ndarray] | None = checkpoint.read()
    if start is not None:
        checkpoint.note(work.record, unit, int(start.step))
    return start, lambda state: checkpoint.keep(state, signalled())
