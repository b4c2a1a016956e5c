"""Proposition 16: the population loss with full vectors, its critical points, and what checks them.

The student is sum_j a_j relu(Z_j.v) with a unit filter v, the teacher the same with a*, v*, and Z_j ~ N(0, I_p) for
j = 1..k. The formulas are those of Du et al. 2017, Theorem 3.1; :mod:`residual.shortcut_importance.simulation` computes
the same in three numbers. They are checked against Monte Carlo, automatic differentiation, and that reduction.
"""

from collections.abc import Iterator
from itertools import product, repeat
from typing import TYPE_CHECKING

import numpy as np
import torch

from residual.shortcut_importance.simulation import (
    Setting,
    follow,
    kernel,
    largest_step,
    population_loss,
    projection,
)
from residual.shortcut_importance.simulation import loss as reduced_loss

if TYPE_CHECKING:
    from residual.shortcut_importance.jobs import Sizes

BATCHES = 64
"""The Monte Carlo's standard errors are those of the means of so many batches."""
STANDARD_ERRORS = 6.0
"""Student's t with 63 degrees of freedom passes 6 in one of 10 million comparisons."""
ROUNDINGS = 64
"""Roundings in one term of a gradient, a generous count."""
REDUCTION_TOLERANCE = 1e-11
"""Both maps contract; what a step rounds, eps * ||a*||^2, is not amplified by more than the length of the run."""

Point = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""v, a, v*, a*."""


def angle_between(v: np.ndarray, teacher: np.ndarray) -> float:
    """The angle between unit vectors, exact near 0 and pi, where an arc cosine is not."""
    return float(2 * np.arctan2(np.linalg.norm(v - teacher), np.linalg.norm(v + teacher)))


def loss(v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray) -> float:
    """The population loss at a unit filter v, shape (p,), and output weights a, shape (k,)."""
    apart = a - a_star
    return float(population_loss(apart @ apart, apart.sum(), a @ a_star, np.asarray(angle_between(v, v_star))))


def gradients(v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients with respect to v (that of the normalized network, orthogonal to v) and a; shapes (p,) and (k,)."""
    angle = angle_between(v, v_star)
    by_filter = -(a @ a_star) * (np.pi - angle) / (2 * np.pi) * (v_star - (v @ v_star) * v)
    differences = (a.sum() - a_star.sum()) + (np.pi - 1) * a - (kernel(np.asarray(angle)) - 1) * a_star
    return by_filter, differences / (2 * np.pi)


def spurious_output(a_star: np.ndarray) -> np.ndarray:
    """The output weights of the spurious optimum, (11' + (pi - 1) I)^-1 (11' - I) a*; its filter is -v*."""
    k = len(a_star)
    ones = np.ones((k, k))
    return np.asarray(np.linalg.solve(ones + (np.pi - 1) * np.eye(k), (ones - np.eye(k)) @ a_star))


def descend(
    v: np.ndarray, a: np.ndarray, v_star: np.ndarray, a_star: np.ndarray, steps: Iterator[tuple[float, float]]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gradient descent with normalization (eq. 8): v and a after each step.

    Args:
        v: unit filter at the start.
        a: output weights at the start.
        v_star: the teacher's filter.
        a_star: the teacher's output weights.
        steps: step sizes of a and v.
    """
    for step, step_filter in steps:
        by_filter, by_output = gradients(v, a, v_star, a_star)
        v = v - step_filter * by_filter
        v, a = v / np.linalg.norm(v), a - step * by_output
        yield v, a


def check(sizes: "Sizes", seed: int) -> Iterator[tuple[str, int, int, int, float, float]]:
    """The rows of every check at every size and draw; draw i of (k, p) draws from (seed, k, p, i)."""
    for k, p, draw in product(sizes.patches, sizes.filter_sizes, range(sizes.draws)):
        rng = np.random.default_rng([seed, k, p, draw])
        v, v_star = (x / np.linalg.norm(x) for x in rng.standard_normal((2, p)))
        a, a_star = rng.standard_normal((2, k))
        for name, error, tolerance in _checks((v, a, v_star, a_star), sizes, rng):
            yield name, k, p, draw, error, tolerance


def _checks(point: Point, sizes: "Sizes", rng: np.random.Generator) -> Iterator[tuple[str, float, float]]:
    _, a, v_star, a_star = point
    scale = float(a @ a + a_star @ a_star) * len(a)
    rounding = ROUNDINGS * float(np.finfo(float).eps)
    for name, error in zip(
        ("loss", "gradient by v", "gradient by a"), monte_carlo(point, sizes.samples, rng), strict=True
    ):
        yield f"{name} = Monte Carlo", error, STANDARD_ERRORS
    for name, ours, theirs in zip(("v", "a"), gradients(*point), by_autograd(point), strict=True):
        yield f"gradient by {name} = autograd", float(np.abs(ours - theirs).max()) / scale, rounding
    for name, optimum in (("global", (v_star, a_star)), ("spurious", (-v_star, spurious_output(a_star)))):
        largest = max(float(np.abs(gradient).max()) for gradient in gradients(*optimum, v_star, a_star))
        yield f"{name} optimum: gradients = 0", largest / scale, rounding
    yield "reduction = full vectors", reduction_error(point, sizes.steps), REDUCTION_TOLERANCE


def monte_carlo(point: Point, samples: int, rng: np.random.Generator) -> list[float]:
    """Largest distances of the loss and its gradients by v and a from sampled ones, in standard errors."""
    v, a, v_star, a_star = map(torch.from_numpy, point)
    batches = []
    for _ in range(BATCHES):
        inputs = torch.from_numpy(rng.standard_normal((samples // BATCHES, len(a), len(v))))
        v_here, a_here = v.clone().requires_grad_(), a.clone().requires_grad_()
        student = torch.relu(inputs @ (v_here / v_here.norm())) @ a_here
        sampled = ((student - torch.relu(inputs @ v_star) @ a_star) ** 2).mean() / 2
        by_v, by_a = torch.autograd.grad(sampled, (v_here, a_here))
        batches.append(torch.cat([sampled.detach()[None], by_v, by_a]).numpy())
    exact = np.concatenate([[loss(*point)], *gradients(*point)])
    errors = np.std(batches, axis=0, ddof=1) / BATCHES**0.5
    apart = np.abs(np.mean(batches, axis=0) - exact) / errors
    return [float(distances.max()) for distances in np.split(apart, [1, 1 + len(v)])]


def by_autograd(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Gradients by v and a of the closed form of the loss of the network with v/||v||."""
    v, a, v_star, a_star = (torch.from_numpy(vector).clone() for vector in point)
    v.requires_grad_()
    a.requires_grad_()
    unit = v / v.norm()
    angle = 2 * torch.atan2((unit - v_star).norm(), (unit + v_star).norm())
    kernel = (torch.pi - angle) * torch.cos(angle) + torch.sin(angle)
    squares = (torch.pi - 1) * (a @ a + a_star @ a_star) - 2 * (kernel - 1) * (a @ a_star)
    value = (squares + (a.sum() - a_star.sum()) ** 2) / (4 * torch.pi)
    by_v, by_a = torch.autograd.grad(value, (v, a))
    return by_v.numpy(), by_a.numpy()


def reduction_error(point: Point, steps: int) -> float:
    """The largest difference of angle, sum, projection and loss along both descents, relative to values above 1."""
    v, a, v_star, a_star = point
    k, norm, total = len(a), float(a_star @ a_star), float(a_star.sum())
    step = 0.1 * largest_step(k, norm)
    setting = Setting(k, len(v), 0.0, norm, total, step, 1.0, 0, steps)
    ones = np.ones(k) / k**0.5
    across = a_star - (ones @ a_star) * ones
    across = across / np.linalg.norm(across)
    rest = a - (ones @ a) * ones - (across @ a) * across
    start = np.array([[angle_between(v, v_star)], [a.sum()], [across @ a], [np.linalg.norm(rest)]])
    states = follow(start, setting, tuple(range(1, steps + 1)))[:, :, 0]
    worst = 0.0
    for state, (filter_, output) in zip(states, descend(*point, repeat((step, step), steps)), strict=True):
        ours = np.array([state[0], state[1], projection(state, setting), reduced_loss(state, setting)])
        full = np.array(
            [angle_between(filter_, v_star), output.sum(), output @ a_star, loss(filter_, output, v_star, a_star)]
        )
        worst = max(worst, float((np.abs(ours - full) / np.maximum(1.0, np.abs(full))).max()))
    return worst
