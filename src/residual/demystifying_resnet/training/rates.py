"""The best learning rate of a trained sweep, and the rates to follow. Imports only NumPy and SciPy."""

import numpy as np

from resaudit.paper import BestRate, choose_rate, rates_to_confirm
from residual.demystifying_resnet.training.trajectory import Trajectory


def final_losses(*blocks: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Learning rates, ascending, shape (k,), and final excess losses of all blocks' runs, shape (runs, k)."""
    rates = np.unique(blocks[0].learning_rate)
    return rates, np.concatenate(
        [np.stack([each.excess_loss[-1][each.learning_rate == rate] for rate in rates], axis=1) for each in blocks]
    )


def choice_of(trajectory: Trajectory) -> BestRate:
    """The best learning rate of a trained sweep, by its excess losses."""
    return choose_rate(*final_losses(trajectory))


def followed_rates(trajectory: Trajectory, choice: str) -> tuple[float, ...]:
    """The learning rates to follow after a sweep, the shown one first.

    Args:
        trajectory: record of the sweep.
        choice: ``tied_for_best``, or the rate with the fewest diverged runs if there are some at each;
            ``tenth_of_best``, the tried rate nearest to a tenth of the shown one, or of that one.
    """
    rates, losses = final_losses(trajectory)
    left = rates_to_confirm(rates, losses)
    if choice == "tied_for_best":
        return left
    if choice == "tenth_of_best":
        return (float(rates[np.argmin(np.abs(np.log(rates) - np.log(left[0] / 10)))]),)
    raise ValueError(f"unknown choice of a learning rate {choice!r}; allowed: tied_for_best, tenth_of_best")
