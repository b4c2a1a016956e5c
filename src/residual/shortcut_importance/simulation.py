"""Gradient descent on the population loss in three numbers, exactly, for many runs at once: settings, starts, steps.

The loss depends on the filter through its angle phi to v*, and on the output weights through 1.a and a.a*, so that
gradient descent with normalization maps (phi, 1.a, a's component along the part of a* orthogonal to 1) to itself. The
rest of a shrinks by one factor. A state is an array of four rows, one column a run: phi; 1.a; that component; and the
length of the rest, which changes nothing else. Degenerate teachers, parallel or orthogonal to 1, need no special case.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import pi
from typing import Any

import numpy as np

WARM_UP, RESNET, CNN = "resnet-warm-up", "resnet", "cnn"
OUTPUT, RADIUS, FILTER = 1, 2, 3
"""The purposes of random streams: each is drawn from (seed, purpose, k or p), one run after the other."""
STEPS_BETWEEN_DECISIONS = 16
UNDECIDED, SUCCESS, TRAPPED = 0, 1, 2
"""Outcomes of a run."""


@dataclass(frozen=True)
class Setting:
    """Teacher, step sizes and length of one simulation; or arrays of them, one of each run."""

    patches: int  # k, outputs of the convolution
    filter_size: int  # p, weights of the filter
    angle: float  # between the teacher's filter v* and the shortcut 1/sqrt(p), in radians
    squared_norm: float  # N = ||a*||^2 of the teacher's output weights
    total: float  # S = 1.a*, their sum
    step: float  # of gradient descent, eta_a; the filter's too after stage I
    filter_ratio: float  # step of the filter during stage I, as a share of step
    stage_one: int  # steps of stage I; 0: none
    cap: int  # steps after which a run that is neither at one optimum nor sure to reach it is undecided

    @property
    def across(self) -> Any:
        """Length of the part of a* orthogonal to 1."""
        return np.sqrt(np.maximum(self.squared_norm - self.total**2 / self.patches, 0.0))

    @property
    def radius(self) -> Any:
        """|S|/sqrt(k), the radius of the ball that the student's output weights start in (section 2)."""
        return abs(self.total) / self.patches**0.5

    def step_of_filter(self, done: int) -> Any:
        """The filter's step size after so many steps."""
        return self.step * np.where(done < self.stage_one, self.filter_ratio, 1.0)


def by_run(settings: Sequence[Setting], runs: int) -> Setting:
    """The settings of so many runs of each, one after another, as arrays of shape (settings * runs,)."""
    columns: list[Any] = [np.repeat([getattr(each, f.name) for each in settings], runs) for f in fields(Setting)]
    return Setting(*columns)


def of_runs(setting: Setting, chosen: np.ndarray) -> Setting:
    """The settings of the chosen runs."""
    return Setting(*(getattr(setting, f.name)[chosen] for f in fields(Setting)))


def largest_step(patches: int, squared_norm: float) -> float:
    """The step size up to which 1.a approaches its limit from one side and the global optimum is stable.

    In a step, 1.a's distance to its limit shrinks by 1 - eta (k + pi - 1)/(2 pi), and at the global optimum the angle
    by 1 - eta ||a*||^2/2.
    """
    return min(2 * pi / (patches + pi - 1), 4 / squared_norm)


def starts(network: str, law: str, setting: Setting, seed: int, runs: int) -> np.ndarray:
    """The states at the start, shape (4, runs) as in :mod:`residual.shortcut_importance.simulation`.

    A ResNet's filter starts at the shortcut 1/sqrt(p); a CNN's is uniform on the unit sphere.

    Args:
        network: one of ``resnet-warm-up``, ``resnet`` and ``cnn``.
        law: where a starts: uniform in the ``ball`` of radius |1.a*|/sqrt(k) or on its ``sphere``, or at its ``worst``
            point, opposite to a*; or, for both layers, a square ``grid``: phi from 0 to pi, a from -a* to a*.
        setting: the teacher.
        seed: the seed of all draws.
        runs: a square number for a ``grid``.
    """
    if law == "grid":
        side = int(runs**0.5)
        phi, shares = np.meshgrid(np.linspace(0, np.pi, side), np.linspace(-1, 1, side), indexing="ij")
        share = shares.ravel()
        return np.stack([phi.ravel(), share * setting.total, share * setting.across, 0 * share])
    angles = np.full(runs, setting.angle)
    if network == CNN:
        # The angle of a uniform unit vector to a fixed one.
        along, others = np.random.default_rng([seed, FILTER, setting.filter_size]).spawn(2)
        rest = np.sqrt(2 * others.standard_gamma((setting.filter_size - 1) / 2, runs))
        angles = np.arctan2(rest, along.standard_normal(runs))
    if law == "worst":
        share = -setting.radius / setting.squared_norm**0.5
        output = np.outer([share * setting.total, share * setting.across, 0.0], np.ones(runs))
    else:
        output = setting.radius * _unit_ball(setting.patches, seed, runs, surface=law == "sphere")
        output[0] *= setting.patches**0.5
    return np.vstack([angles, output])


def _unit_ball(dimension: int, seed: int, runs: int, surface: bool) -> np.ndarray:
    """Uniform points in the unit ball or on its surface: two coordinates and the length of the others."""
    normal = np.random.default_rng([seed, OUTPUT, dimension]).standard_normal((runs, 2)).T
    others, radius = np.random.default_rng([seed, RADIUS, dimension]).spawn(2)
    rest = 2 * others.standard_gamma((dimension - 2) / 2, runs)
    length = 1.0 if surface else radius.random(runs) ** (1 / dimension)
    return np.asarray(np.vstack([normal, np.sqrt(rest)]) * length / np.sqrt((normal**2).sum(axis=0) + rest))


def kernel(angle: np.ndarray) -> np.ndarray:
    """g(phi) = (pi - phi) cos phi + sin phi; (g - 1)/(2 pi) is the covariance of relu(Z.v) and relu(Z.v*).

    >>> float(kernel(np.pi / 2)), float(kernel(0.0)) == np.pi
    (1.0, True)
    """
    return np.asarray((np.pi - angle) * np.cos(angle) + np.sin(angle))


def population_loss(apart: np.ndarray, sums_apart: np.ndarray, projection: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """L = E[(student - teacher)^2]/2 from what it depends on, without cancellation near the global optimum.

    Args:
        apart: ||a - a*||^2.
        sums_apart: 1.(a - a*).
        projection: a.a*.
        angle: between v and v*.
    """
    # pi - g, whose terms cancel for small angles.
    lost = 2 * np.pi * np.sin(angle / 2) ** 2 + angle * np.cos(angle) - np.sin(angle)
    return np.asarray(((np.pi - 1) * apart + 2 * lost * projection + sums_apart**2) / (4 * np.pi))


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
        setting: each run's (:func:`~residual.shortcut_importance.simulation.by_run`), with stable step sizes.
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
