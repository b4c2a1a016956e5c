"""Gradient descent on the population loss in three numbers, exactly, for many runs at once.

The loss depends on the filter through its angle phi to v*, and on the output weights through 1.a and a.a*, so that
gradient descent with normalization maps (phi, 1.a, a's component along the part of a* orthogonal to 1) to itself. The
rest of a shrinks by one factor. A state is an array of four rows, one column a run: phi; 1.a; that component; and the
length of the rest, which changes nothing else. Degenerate teachers, parallel or orthogonal to 1, need no special case.
"""

from typing import Any

import numpy as np

from residual.shortcut_importance.reduced.population import kernel, population_loss
from residual.shortcut_importance.reduced.setting import SUCCESS, TRAPPED, UNDECIDED, Setting, of_runs

STEPS_BETWEEN_DECISIONS = 16


def projection(state: np.ndarray, setting: Setting) -> np.ndarray:
    """a.a* of each run."""
    return np.asarray(state[1] * setting.total / setting.patches + setting.across * state[2])


def distance(state: np.ndarray, setting: Setting) -> np.ndarray:
    """||a - a*||/||a*|| of each run."""
    return np.asarray(np.sqrt(_apart(state, setting) / setting.squared_norm))


def loss(state: np.ndarray, setting: Setting) -> np.ndarray:
    """The population loss of each run."""
    along = projection(state, setting)
    return population_loss(_apart(state, setting), state[1] - setting.total, along, state[0])


def _apart(state: np.ndarray, setting: Setting) -> np.ndarray:
    """||a - a*||^2 of each run."""
    sums = (state[1] - setting.total) ** 2 / setting.patches
    return np.asarray(sums + (state[2] - setting.across) ** 2 + state[3] ** 2)


def advance(state: np.ndarray, setting: Setting, step_filter: Any) -> np.ndarray:
    """The state after one simultaneous step of both layers."""
    phi, total, across, rest = state
    k, rate = setting.patches, setting.step / (2 * np.pi)
    pull = projection(state, setting) * (np.pi - phi) / (2 * np.pi)
    turned = np.abs(phi - np.arctan(step_filter * pull * np.sin(phi)))
    g = kernel(phi)
    return np.stack(
        [
            np.pi - np.abs(np.pi - turned),
            total - rate * ((k + np.pi - 1) * total - (k + g - 1) * setting.total),
            across - rate * ((np.pi - 1) * across - (g - 1) * setting.across),
            rest * (1 - rate * (np.pi - 1)),
        ]
    )


def decided(state: np.ndarray, setting: Setting) -> np.ndarray:
    """Which runs are sure to reach the global optimum or to be trapped, for stable step sizes.

    a.a* changes by eta/(2 pi) [S (S - 1.a) + (g - 1) N - (pi - 1) a.a*], g falls with phi, and phi falls while a.a* > 0
    and rises while a.a* < 0. S (S - 1.a) >= 0 is kept, and never exceeds the larger of its value and S^2 pi/(k + pi -
    1). So a.a* stays positive where it is, S (S - 1.a) >= 0 and phi <= pi/2; and negative where it is and that bound
    + (g - 1) N <= 0. At exactly phi = pi the filter does not move.

    Returns:
        :data:`UNDECIDED`, :data:`SUCCESS` or :data:`TRAPPED`, shape (runs,), int8.
    """
    phi, total = state[0], state[1]
    along, short = projection(state, setting), setting.total * (setting.total - total)
    bound = np.maximum(short, np.pi * setting.total**2 / (setting.patches + np.pi - 1))
    succeeds = (along > 0) & (short >= 0) & (phi <= np.pi / 2)
    trapped = (along < 0) & (bound + (kernel(phi) - 1) * setting.squared_norm <= 0)
    return np.where(succeeds, SUCCESS, np.where(trapped | (phi == np.pi), TRAPPED, UNDECIDED)).astype(np.int8)


def outcomes(start: np.ndarray, setting: Setting) -> np.ndarray:
    """The outcome of every run, shape (runs,), int8; decided runs leave the ensemble.

    Args:
        start: shape (4, runs).
        setting: each run's (:func:`~residual.shortcut_importance.reduced.setting.by_run`), with stable step sizes.
    """
    ends = np.zeros(start.shape[1], np.int8)
    state, left, done = start, np.arange(start.shape[1]), 0
    while len(left):
        ends[left] = outcome = decided(state, setting)
        going = (outcome == UNDECIDED) & (done < setting.cap)
        state, left, setting = state[:, going], left[going], of_runs(setting, going)
        for step in range(done, done + STEPS_BETWEEN_DECISIONS):
            state = advance(state, setting, setting.step_of_filter(step))
        done += STEPS_BETWEEN_DECISIONS
    return ends


def follow(start: np.ndarray, setting: Setting, steps: tuple[int, ...]) -> np.ndarray:
    """The states after these numbers of steps, rising, shape (steps, 4, runs)."""
    states, state, done = [], start, 0
    for end in steps:
        for step in range(done, end):
            state = advance(state, setting, setting.step_of_filter(step))
        states.append(state)
        done = end
    return np.stack(states)
