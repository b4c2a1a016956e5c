"""Theorem 2.2 of "Identity Matters in Deep Learning": gradients of f(A) = |(P(A) - R) Sigma^(1/2)|_F^2, and eq. 2.3.

P(A) = (I + A_l) ... (I + A_1). A stack of matrices A has shape (l, d, d), A_1 first. As every R can be reached,
C_opt = 0 here: f is the excess over the paper's constant.
"""

import itertools

import numpy as np
import torch
from scipy.optimize import minimize

from residual.identity_matters.linear.measured import Dominated, Points
from residual.identity_matters.linear.targets import orthogonal

Point = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A (l, d, d), R (d, d), Sigma (d, d)."""
EPS = float(np.finfo(float).eps)


def product(stack: np.ndarray) -> np.ndarray:
    """P(A), shape (..., d, d), of A with shape (l, ..., d, d)."""
    whole = np.eye(stack.shape[-1])
    for layer in stack:
        whole = whole + layer @ whole
    return whole


def gradient(point: Point) -> np.ndarray:
    """Eq. 2.5, shape (l, d, d): 2 (I + A_(i+1))' ... (I + A_l)' E Sigma (I + A_1)' ... (I + A_(i-1))'."""
    stack, target, sigma = point
    before = [np.eye(len(sigma))]
    for layer in stack:
        before.append(before[-1] + layer @ before[-1])
    behind = 2 * (before[-1] - target) @ sigma
    slopes = np.empty_like(stack)
    for i in reversed(range(len(stack))):
        slopes[i] = behind @ before[i].T
        behind = behind + stack[i].T @ behind
    return slopes


def excess(point: Point) -> float:
    """f(A) - C_opt."""
    stack, target, sigma = point
    distance = product(stack) - target
    return float(np.sum(distance @ sigma * distance))


def log_ratio(point: Point, radius: float) -> float:
    """Natural logarithm of the left side of eq. 2.3 over its right side, for A within the radius below 1.

    The right side is 4 l (1 - tau)^(2(l - 1)) sigma_min(Sigma) times the excess; its power can underflow.
    """
    stack, _, sigma = point
    squares, smallest = np.sum(gradient(point) ** 2), np.linalg.eigvalsh(sigma)[0]
    bound = np.log(4 * len(stack) * smallest) + 2 * (len(stack) - 1) * np.log1p(-radius)
    return float(np.log(squares / excess(point)) - bound)


def gradient_tolerance(point: Point) -> float:
    """What rounding allows of the gradient's Frobenius norm over all layers.

    A product of d x d matrices is off by d^2 eps/2 |.|_2 |.|_2; each layer's gradient takes 2l + 4 of them, of which
    the norms multiply to at most G = 2 (prod_j (1 + |A_j|)) |Sigma| (prod_j (1 + |A_j|) + |R|); sqrt(l) layers.
    """
    stack, target, sigma = point
    whole = np.prod(1 + np.linalg.norm(stack, 2, axis=(1, 2)))
    largest = 2 * whole * np.linalg.norm(sigma, 2) * (whole + np.linalg.norm(target, 2))
    return float((len(stack) + 2) * len(sigma) ** 2 * EPS * largest * np.sqrt(len(stack)))


def ratio_rounding(point: Point) -> float:
    """What rounding allows of the logarithm of the ratio: both sides are squares, of gradient and distance."""
    stack, target, sigma = point
    of_gradient = gradient_tolerance(point) / np.linalg.norm(gradient(point))
    whole = np.prod(1 + np.linalg.norm(stack, 2, axis=(1, 2))) + np.linalg.norm(target, 2)
    off = len(stack) * len(sigma) ** 2 * EPS * whole
    of_excess = off * np.sqrt(np.linalg.norm(sigma, 2) / excess(point)) + len(sigma) * EPS * np.linalg.cond(sigma)
    return float(2 * (of_gradient + of_excess))


def by_autograd(point: Point) -> np.ndarray:
    """The gradient by automatic differentiation of f, shape (l, d, d)."""
    stack, target, sigma = (torch.from_numpy(part) for part in point)
    stack = stack.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(_excess(stack, target, sigma), stack)
    return slopes.numpy()


def _excess(stack: torch.Tensor, target: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
    whole = torch.eye(len(sigma), dtype=sigma.dtype)
    for layer in stack:
        whole = whole + layer @ whole
    distance = whole - target
    return (distance @ sigma * distance).sum()


def dominated(points: Points, seed: int) -> Dominated:
    """Eq. 2.3 at random points, or where a search from them ends; draw i of (d, l, tau) has its own numbers."""
    rows = []
    places = itertools.product(points.widths, points.depths, enumerate(points.radii), range(points.draws))
    for width, depth, (place, radius), draw in places:
        point = _drawn(width, depth, radius, points.condition, np.random.default_rng([seed, width, depth, place, draw]))
        if points.iterations:
            point = searched(point, radius, points.iterations)
        error = float(np.linalg.norm(gradient(point) - by_autograd(point)))
        measured = log_ratio(point, radius), error, gradient_tolerance(point), ratio_rounding(point)
        rows.append((width, depth, radius, draw, *measured))
    return Dominated(*(np.array(column) for column in zip(*rows, strict=True)))


def _drawn(width: int, depth: int, radius: float, condition: float, rng: np.random.Generator) -> Point:
    """Gaussian A_i with norms uniform in (0, tau), one of them tau; Gaussian R; Sigma of the condition."""
    stack = rng.standard_normal((depth, width, width))
    norms = radius * rng.random(depth)
    norms[rng.integers(depth)] = radius
    stack *= (norms / np.linalg.norm(stack, 2, axis=(1, 2)))[:, None, None]
    target = rng.standard_normal((width, width)) / np.sqrt(width)
    basis = orthogonal(width, rng)
    return stack, target, (basis * np.geomspace(1 / condition, 1, width)) @ basis.T


def searched(point: Point, radius: float, iterations: int) -> Point:
    """Where L-BFGS, over A within the radius and over R, finds the least ratio.

    Each A_i is B_i, shrunk to norm tau if it is longer, with B_i and R free; Sigma stays.
    """
    stack, target, sigma = point
    spectrum = torch.from_numpy(sigma)
    size, shape = stack.size, stack.shape

    def inside(free: torch.Tensor) -> torch.Tensor:
        norms = torch.linalg.matrix_norm(free, ord=2)
        return free * torch.clamp(radius / norms, max=1.0)[:, None, None]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        parameters = torch.from_numpy(flat).requires_grad_()
        free, goal = inside(parameters[:size].reshape(shape)), parameters[size:].reshape(shape[1:])
        value = _excess(free, goal, spectrum)
        (slopes,) = torch.autograd.grad(value, free, create_graph=True)
        ratio = torch.log((slopes**2).sum()) - torch.log(value)
        (by_parameters,) = torch.autograd.grad(ratio, parameters)
        return ratio.item(), by_parameters.numpy()

    start = np.concatenate([stack.ravel(), target.ravel()])
    end = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": iterations}).x
    factors = inside(torch.from_numpy(end[:size].reshape(shape))).numpy()
    # Rounding may leave a norm above tau by some eps; the theorem holds only within it.
    factors = factors * np.minimum(1, radius / np.linalg.norm(factors, 2, axis=(1, 2)))[:, None, None]
    return factors, end[size:].reshape(shape[1:]), sigma
