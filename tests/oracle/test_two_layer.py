"""Oracles of paper 2's numerics: full vectors, their plain thresholds, limits known by hand, other numbers of threads.

They see a wrong term of the reduction, an outcome called before it is certain, a start whose law is not the vectors',
a division by zero at degenerate teachers, and results that depend on the machine's threads or on the number of runs.
"""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import repeat
from math import pi, radians, sqrt

import numpy as np
import pytest

from residual.shortcut_importance.proposition import angle_between, descend, loss, spurious_output
from residual.shortcut_importance.simulation import (
    CNN,
    RESNET,
    SUCCESS,
    TRAPPED,
    UNDECIDED,
    Setting,
    advance,
    by_run,
    decided,
    distance,
    follow,
    outcomes,
    starts,
)
from residual.shortcut_importance.simulation import loss as reduced_loss

SETTING = Setting(16, 8, radians(86.76), 4.23 * 16, 0.413 * sqrt(4.23 * 16), 0.3 / 16, 1.0, 0, 11_000)


def vectors(setting: Setting, state: np.ndarray, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Vectors v, a, v*, a* with the state of one run, in a random basis of the filter."""
    k, rng = setting.patches, np.random.default_rng(seed)
    ones = np.full(k, 1 / sqrt(k))
    basis = np.linalg.qr(np.column_stack([ones, rng.standard_normal((k, 2))]))[0]
    basis[:, 0] = ones
    a_star = setting.total / sqrt(k) * ones + setting.across * basis[:, 1]
    a = state[1] / sqrt(k) * ones + state[2] * basis[:, 1] + state[3] * basis[:, 2]
    plane = np.linalg.qr(rng.standard_normal((setting.filter_size, 2)))[0]
    v = np.cos(state[0]) * plane[:, 0] + np.sin(state[0]) * plane[:, 1]
    return v, a, plane[:, 0], a_star


def of_vectors(v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray) -> list[float]:
    """What a state is measured by: phi, 1.a, a.a*, ||a||^2, the loss."""
    return [angle_between(v, v_star), a.sum(), a @ a_star, a @ a, loss(v, a, v_star, a_star)]


def of_state(setting: Setting, state: np.ndarray) -> list[float]:
    along = state[1] * setting.total / setting.patches + setting.across * state[2]
    squared = state[1] ** 2 / setting.patches + state[2] ** 2 + state[3] ** 2
    return [state[0], state[1], along, squared, float(reduced_loss(state, setting))]


@pytest.mark.parametrize("trapped", [False, True])
def test_the_map_of_three_numbers_is_gradient_descent_on_full_vectors(trapped: bool) -> None:
    first = starts(RESNET, "worst" if trapped else "ball", SETTING, 3, 1)
    states = follow(first, SETTING, tuple(range(1, 20_001)))[:, :, 0]
    at_start = vectors(SETTING, first[:, 0])
    run = descend(*at_start, repeat((SETTING.step, SETTING.step), 20_000))
    worst = 0.0
    for state, (v, a) in zip(states, run, strict=True):
        full = of_vectors(v, a, *at_start[2:])
        worst = max(
            worst, *(abs(x - y) / max(1.0, abs(x)) for x, y in zip(full, of_state(SETTING, state), strict=True))
        )
    assert worst < 1e-11
    assert (states[-1, 0] > 3) == trapped
    expected = spurious_output(at_start[3]) if trapped else at_start[3]
    assert np.linalg.norm(a - expected) < 1e-6


@pytest.mark.parametrize(("alignment", "network"), [(0.413, RESNET), (0.413, CNN), (2.0, CNN), (4.0, CNN), (0.0, CNN)])
def test_outcomes_are_those_of_runs_that_settle(alignment: float, network: str) -> None:
    setting = replace(SETTING, total=alignment * sqrt(SETTING.squared_norm))
    state = start = starts(network, "ball", setting, 5, 300)
    for _ in range(setting.cap):
        state = advance(state, setting, setting.step)
    along = state[1] * setting.total / setting.patches + setting.across * state[2]
    settled = np.where((state[0] < 0.05) & (along > 0), SUCCESS, np.where(state[0] > pi - 0.05, TRAPPED, UNDECIDED))
    assert np.array_equal(outcomes(start, by_run([setting], start.shape[1])), settled)
    assert (settled != UNDECIDED).all()


def test_starts_have_the_law_of_full_vectors() -> None:
    runs, k, p = 20_000, SETTING.patches, SETTING.filter_size
    found = starts(CNN, "ball", SETTING, 1, runs)
    rng = np.random.default_rng(7)
    a = rng.standard_normal((runs, k))
    a *= SETTING.radius * rng.random((runs, 1)) ** (1 / k) / np.linalg.norm(a, axis=1, keepdims=True)
    v = rng.standard_normal((runs, p))
    e1 = np.full(k, 1 / sqrt(k))
    e2 = np.linalg.qr(np.column_stack([e1, np.arange(k)]))[0][:, 1]
    rest = np.sqrt((a**2).sum(axis=1) - (a @ e1) ** 2 - (a @ e2) ** 2)
    full = np.stack([np.arccos(v[:, 0] / np.linalg.norm(v, axis=1)), a.sum(axis=1), a @ e2, rest])
    for ours, theirs in zip(found, full, strict=True):
        quantiles = np.linspace(0.05, 0.95, 19)
        # Kolmogorov-Smirnov: 1.95 sqrt(2/n) is passed by one test in a thousand.
        shares = (np.sort(ours)[None] <= np.quantile(theirs, quantiles)[:, None]).mean(axis=1)
        assert np.abs(shares - quantiles).max() < 1.95 * sqrt(2 / runs)
    assert np.linalg.norm(starts(RESNET, "sphere", SETTING, 1, 5)[1:] / [[sqrt(k)], [1], [1]], axis=0) == pytest.approx(
        SETTING.radius
    )


@pytest.mark.parametrize("alignment", [0.0, 4.0, -4.0])
def test_teachers_orthogonal_or_parallel_to_one_have_their_limits(alignment: float) -> None:
    exact = replace(SETTING, total=alignment * sqrt(SETTING.squared_norm))
    near = replace(SETTING, total=alignment * (1 - 1e-9) * sqrt(SETTING.squared_norm) + 1e-9)
    found = [follow(starts(CNN, "ball", each, 2, 50), each, (1, 300)) for each in (exact, near)]
    assert np.isfinite(found[0]).all()
    # A distance of 1e-9 from parallel is one of sqrt(2e-9) across.
    assert np.abs(found[0] - found[1]).max() < 1e-2
    assert np.isfinite(distance(found[0][-1], exact)).all()


def test_a_filter_of_one_weight_stays_where_it_starts() -> None:
    setting = replace(SETTING, filter_size=1)
    start = starts(CNN, "ball", setting, 1, 200)
    assert set(start[0]) == {0.0, pi}
    assert np.array_equal(outcomes(start, by_run([setting], start.shape[1])), np.where(start[0] == 0, SUCCESS, TRAPPED))


def test_the_first_runs_are_the_same_among_more() -> None:
    few, many = (outcomes(starts(CNN, "ball", SETTING, 1, runs), by_run([SETTING], runs)) for runs in (37, 200))
    assert np.array_equal(few, many[:37])


def test_settings_side_by_side_are_as_each_alone() -> None:
    others = [SETTING, replace(SETTING, patches=100, step=0.003, cap=50_000), replace(SETTING, cap=40)]
    each = [starts(CNN, "ball", setting, 1, 200) for setting in others]
    together = outcomes(np.hstack(each), by_run(others, 200)).reshape(3, 200)
    alone = [outcomes(start, by_run([setting], 200)) for start, setting in zip(each, others, strict=True)]
    assert np.array_equal(together, alone)
    assert (together[2] == UNDECIDED).any()
    assert not (together[:2] == UNDECIDED).any()


def test_the_global_optimum_is_a_success_and_the_spurious_one_a_trap() -> None:
    spurious = spurious_output(vectors(SETTING, np.zeros(4))[3])
    total, across = spurious.sum(), -SETTING.across / (pi - 1)
    state = np.array([[0.0, pi - 1e-9], [SETTING.total, total], [SETTING.across, across], [0, 0]])
    assert decided(state, SETTING).tolist() == [SUCCESS, TRAPPED]
    assert np.abs(advance(state, SETTING, SETTING.step) - state).max() < 1e-12


def test_same_bits_with_one_and_two_threads() -> None:
    program = (
        "import hashlib; from tests.oracle.test_two_layer import *; "
        "s = starts(CNN, 'ball', SETTING, 1, 1000); "
        "found = outcomes(s, by_run([SETTING], 1000)), follow(s, SETTING, (500,)); "
        "print(hashlib.sha256(b''.join(each.tobytes() for each in found)).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert digests[0] == digests[1]
