"""Gradient descent of linear residual networks on moments, by the engine of the first paper, seen through eq. 2.3."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.identity_matters.linear.dominance import Point, excess, log_ratio, ratio_rounding
from residual.identity_matters.linear.measured import KNOWN, Descended, Runs
from residual.identity_matters.linear.targets import orthogonal, spread

TARGETS = ("mnist", "positive definite", "positive determinant", "negative determinant")
"""Maps R: MNIST's least-squares map; random ones."""
ARRIVED = 1e-12
"""A run ends when its excess is this share of that at its start."""


def descended(target: str, runs: Runs, seed: int, real: Moments) -> Descended:
    """Runs of every depth, start norm and draw; all starts of one draw at once, as they have one map.

    The engine's loss is f/2 and its 1-shortcut network is x + W x, so W = A and its gradient is half of eq. 2.5. Draw i
    of start c has its own numbers. ``real`` are the data's moments, for ``mnist``; random maps have Sigma = I.
    """
    rows: list[tuple[float, ...]] = []
    for depth, draw in product(runs.depths, range(runs.draws)):
        starts = runs.starts_of(target, depth, draw)
        goal = map_of(target, runs, seed, draw, real)
        sigma = real.xx if target == "mnist" else np.eye(len(goal))
        stacks = np.empty((depth, len(starts), *goal.shape))
        for i, c in enumerate(starts):
            rng = np.random.default_rng([seed, runs.starts.index(c), draw])
            gaussian = rng.standard_normal((depth, *goal.shape))
            stacks[:, i] = c / depth * gaussian / np.linalg.norm(gaussian, 2, axis=(1, 2))[:, None, None]
        if starts:
            rates = runs.rate / depth / _steepness(stacks, goal)
            rows += (
                (depth, starts[i], draw, epoch, float(rates[i]), *measured)
                for i, epoch, measured in _steps(stacks, rates, goal, sigma, runs)
            )
    return Descended(*(np.array(column) for column in zip(*rows, strict=True)))


def _steps(
    stacks: np.ndarray, rates: np.ndarray, goal: np.ndarray, sigma: np.ndarray, runs: Runs
) -> Iterator[tuple[int, int, tuple[float, ...]]]:
    """Each run that has not arrived at each kept step: its position, the step, sigma_min and what was measured."""
    depth, count, width, _ = stacks.shape
    objective = LinearObjective(Network(1, depth, width), torch.from_numpy(goal), torch.from_numpy(sigma), 0.0)
    smallest, first, going = float(np.linalg.eigvalsh(sigma)[0]), np.zeros(count), np.arange(count)
    for epoch, steps in zip(runs.steps, np.diff(runs.steps, prepend=0).tolist(), strict=True):
        if steps and len(going):
            begun = torch.from_numpy(stacks[:, going])
            stacks[:, going] = descend(objective, begun, torch.from_numpy(rates[going]), steps, (steps,)).snapshots[0]
        for run in going.tolist():
            largest, distance, *ratio = _measured((stacks[:, run], goal, sigma))
            first[run] = first[run] or distance
            yield run, epoch, (smallest, largest, distance, *ratio)
            going = going[going != run] if distance <= ARRIVED * first[run] else going


def map_of(target: str, runs: Runs, seed: int, draw: int, real: Moments) -> np.ndarray:
    """R, shape (d, d), of one draw."""
    if target == "mnist":
        return real.optimal_map
    rng = np.random.default_rng([seed, TARGETS.index(target), draw])
    left = orthogonal(runs.width, rng)
    right = left.copy() if target == "positive definite" else orthogonal(runs.width, rng)
    if target == "negative determinant":
        left[:, -1] *= -1
    return np.asarray(left * spread(runs.width, runs.condition) @ right.T)


def _steepness(stacks: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """A bound on the curvature of f/2 over l, at the start and at the optimum, shape (runs,).

    The Gauss-Newton part of the Hessian is at most the sum over i of |(I + A_l) ... (I + A_(i+1))|^2
    |(I + A_(i-1)) ... (I + A_1)|^2, as |Sigma| = 1; where all layers are alike and P = R each term is less than |R|^2.
    """
    before, after = [np.eye(len(goal))], [np.eye(len(goal))]
    for layer in stacks[:-1]:
        before.append(before[-1] + layer @ before[-1])
    for layer in stacks[:0:-1]:
        after.append(after[-1] + after[-1] @ layer)
    products = [
        np.linalg.norm(a, 2, axis=(-2, -1)) * np.linalg.norm(b, 2, axis=(-2, -1))
        for a, b in zip(after[::-1], before, strict=True)
    ]
    start = np.mean([np.broadcast_to(norms, stacks.shape[1]) ** 2 for norms in products], axis=0)
    return np.asarray(np.maximum(start, max(1.0, float(np.linalg.norm(goal, 2))) ** 2))


def _measured(point: Point) -> tuple[float, float, float, float]:
    """Largest norm, excess, logarithm of the ratio of eq. 2.3, and its rounding."""
    stack = point[0]
    if not np.isfinite(stack).all():
        return np.inf, np.inf, np.nan, np.nan
    largest, distance = float(np.linalg.norm(stack, 2, axis=(1, 2)).max()), excess(point)
    rounding = ratio_rounding(point) if distance > 0 else np.inf
    if largest >= 1 or not rounding < KNOWN:
        return largest, distance, np.nan, np.nan
    return largest, distance, log_ratio(point, largest), rounding
