"""The best learning rate of a trained sweep, and the rates to follow. Imports only NumPy and SciPy."""

import numpy as np

from resaudit.figures.rates import BestRate, choose_rate, rates_to_confirm
from residual.demystifying_resnet.training.trajectory import Trajectory


def choice_of(trajectory: Trajectory, grid: np.ndarray | None = None) -> BestRate:
    """The best learning rate of a trained sweep, by its excess losses; ``grid`` is that of the screening, if any."""
    return choose_rate(*_finals(trajectory), grid=grid)


def _finals(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """The rates, ascending (k,), and the excess losses at the end (runs, k)."""
    rates = np.unique(trajectory.learning_rate)
    final = trajectory.excess_loss[-1]
    return rates, np.stack([final[trajectory.learning_rate == rate] for rate in rates], axis=1)


def followed_rates(trajectory: Trajectory, choice: str) -> tuple[float, ...]:
    """The learning rates to follow after a sweep, the shown one first.

    Args:
        trajectory: record of the sweep.
        choice: ``tied_for_best``, or the rate with the fewest diverged runs if there are some at each;
            ``tenth_of_best``, the tried rate nearest to a tenth of the shown one, or of that one.
    """
    rates, losses = _finals(trajectory)
    left = rates_to_confirm(rates, losses)
    if choice == "tied_for_best":
        return left
    if choice == "tenth_of_best":
        return (float(rates[np.argmin(np.abs(np.log(rates) - np.log(left[0] / 10)))]),)
    raise ValueError(f"unknown choice of a learning rate {choice!r}; allowed: tied_for_best, tenth_of_best")
