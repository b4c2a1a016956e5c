"""Lemma B.1 by itself, at the hardest points that its conditions allow."""

from itertools import product

import numpy as np
import torch

from residual.identity_matters.relu.measured import LemmaChecked, LemmaSizes
from residual.identity_matters.relu.network import Network, moved_bound, on_sphere


def check_lemma(sizes: LemmaSizes, seed: int) -> LemmaChecked:
    """One block at every size; draw i of (c, k, rho') draws from its own stream.

    An error is at most twice :func:`~residual.identity_matters.relu.network.moved_bound`: a moved point's own unit, and
    its partner's, whose activation the condition with c = 6 makes exactly 0.
    """
    rows = []
    every = product(sizes.constants, sizes.widths, enumerate(sizes.margins), range(sizes.draws))
    for c, k, (number, margin), draw in every:
        rng = np.random.default_rng([seed, k, number, draw])
        points = torch.from_numpy(hard_points(k, margin, c, sizes.others, rng))
        targets = torch.from_numpy(on_sphere(rng.standard_normal((k, k))))
        block = Network(points[:k], targets, 1 - 2 * margin)
        units = torch.relu(points @ block.block(1).T - block.threshold)
        after = points + units @ block.outgoing(1, torch.arange(k))
        errors = (after - torch.cat([targets, points[k:]])).norm(dim=1)
        for name, of_points in (("moves k points", errors[:k]), ("leaves the others", errors[k:])):
            error = float(of_points.max())
            rows.append((f"{name}, c = {c:g}", c, k, margin, draw, error, 2 * moved_bound(block)))
    return LemmaChecked(*(np.array(column) for column in zip(*rows, strict=True)))


def hard_points(k: int, margin: float, c: float, others: int, rng: np.random.Generator) -> np.ndarray:
    """Points in pairs at squared distance c rho', squared norms 1 + rho' or 1 - rho', in random order.

    Shape ((1 + others) k, k), with an even k.
    """
    pairs = (1 + others) * k // 2
    one = on_sphere(rng.standard_normal((pairs, k)))
    other = rng.standard_normal((pairs, k))
    across = on_sphere(other - (other * one).sum(axis=1, keepdims=True) * one)
    squares = np.where(np.arange(pairs) % 2 == 0, 1 + margin, 1 - margin)[:, None]
    # Two points of squared norm N are at squared distance 2 N (1 - cos).
    cosine = 1 - c * margin / (2 * squares)
    partner = cosine * one + np.sqrt(1 - cosine**2) * across
    return rng.permutation(np.concatenate([one, partner]) * np.concatenate([squares, squares]) ** 0.5)
