"""Every factorization of one kind of maps R, measured."""

from collections.abc import Iterator
from itertools import product
from math import pi

import numpy as np

from residual.identity_matters.linear import factorization as by_proof
from residual.identity_matters.linear.measured import Factored, Factorizations
from residual.identity_matters.linear.slack import least_norm, search, turned_by
from residual.identity_matters.linear.targets import augmented, target

SOLVES = 100.0
"""Roundings in units of d^2 eps times the product of the factors' spectral norms and the condition of R: the last
factor of a search comes from solving with the product of the others."""


def factored(family: str, sizes: Factorizations, seed: int, real: np.ndarray) -> Factored:
    """Factor every R of a family by the proof, along the polar path, and by search; ``real`` is the data's map."""
    data = family == "mnist"
    rows: list[tuple[object, ...]] = []
    for width, draw in product((len(real),) if data else sizes.widths, range(1 if data else sizes.draws)):
        goal = augmented(target(family, width, draw, seed, sizes.condition, real))
        gamma, angle = by_proof.gamma_of(goal), turned_by(goal, seed)
        searched = sizes.searched_depths if draw == 0 and (data or width in sizes.searched_widths) else ()
        least = by_proof.least_depth(gamma)
        for depth in sorted({least, *(depth for depth in (*sizes.depths, *searched) if depth >= least)}):
            parts = by_proof.split(depth, gamma)
            positive = family == "positive"
            paper = (3 * gamma if positive else 4 * pi + 3 * gamma) / depth
            bound = least_norm(goal, depth, angle)
            iterations = sizes.iterations if depth in searched else 0
            for method, factors, tolerance in _factorizations(goal, depth, parts, positive, iterations):
                whole = (paper if positive else parts.bound(gamma)) if method == "proof" else np.nan
                error = float(np.linalg.norm(by_proof.product_of(factors) - goal))
                norm = by_proof.largest_norm(factors)
                rows.append((method, width, draw, depth, gamma, norm, paper, whole, bound, error, tolerance))
    return Factored(*(np.array(column) for column in zip(*rows, strict=True)))


def _factorizations(
    goal: np.ndarray, depth: int, parts: by_proof.Split, positive: bool, iterations: int
) -> Iterator[tuple[str, by_proof.Factors, float]]:
    """Each method with its factors and what rounding allows of their product; a search if there are iterations."""
    tolerance = by_proof.product_tolerance(goal, depth)
    proof = by_proof.factors_of_positive(goal, depth) if positive else by_proof.factors_of(goal, parts)
    yield "proof", proof, tolerance
    yield "polar", by_proof.polar_factors(goal, depth), tolerance
    if iterations:
        factors = search(goal, depth, parts, iterations)
        norms = np.prod(np.linalg.norm(factors, 2, axis=(1, 2)))
        solving = SOLVES * len(goal) ** 2 * np.finfo(float).eps * norms * np.linalg.cond(goal)
        yield "search", [(factor, 1) for factor in factors], tolerance + float(solving)
