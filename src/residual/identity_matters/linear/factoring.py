"""Every factorization of one kind of maps R, measured."""

from collections.abc import Iterator
from math import pi

import numpy as np

from residual.identity_matters.linear import factorization as by_proof
from residual.identity_matters.linear.measured import Factored, Factorizations
from residual.identity_matters.linear.slack import least_norm, search, turned_by
from residual.identity_matters.linear.targets import augmented, target

Row = tuple[str, int, int, int, float, float, float, float, float, float, float]
"""The fields of :class:`~residual.identity_matters.linear.measured.Factored`."""
SOLVES = 100.0
"""Roundings in units of d^2 eps times the product of the factors' spectral norms and the condition of R: the last
factor of a search comes from solving with the product of the others."""


def factored(family: str, sizes: Factorizations, seed: int, real: np.ndarray) -> Factored:
    """Factor every R of a family by the proof, along the polar path, and by search.

    Args:
        family: of :data:`residual.identity_matters.linear.targets.FAMILIES`.
        sizes: widths, depths and draws.
        seed: of all draws.
        real: the least-squares map of the data.
    """
    widths, draws = (sizes.widths, sizes.draws) if family != "mnist" else ((len(real),), 1)
    rows: list[Row] = []
    for width in widths:
        for draw in range(draws):
            given = augmented(target(family, width, draw, seed, sizes.condition, real))
            searched = draw == 0 and (width in sizes.searched_widths or family == "mnist")
            depths = sizes.searched_depths if searched else ()
            rows.extend(_of_target(given, (family, width, draw), sizes, depths, seed))
    return Factored(*(np.array(column) for column in zip(*rows, strict=True)))


def _of_target(
    given: np.ndarray, which: tuple[str, int, int], sizes: Factorizations, searched: tuple[int, ...], seed: int
) -> Iterator[Row]:
    family, width, draw = which
    gamma, angle = by_proof.gamma_of(given), turned_by(given, seed)
    least = by_proof.least_depth(gamma)
    for depth in sorted({least, *(depth for depth in (*sizes.depths, *searched) if depth >= least)}):
        parts = by_proof.split(depth, gamma)
        paper, whole = (4 * pi + 3 * gamma) / depth, parts.bound(gamma)
        proof = by_proof.factors_of(given, parts)
        if family == "positive":
            paper, whole, proof = 3 * gamma / depth, 3 * gamma / depth, by_proof.factors_of_positive(given, depth)
        every = {"proof": proof, "polar": by_proof.polar_factors(given, depth)}
        if depth in searched:
            every["search"] = [(each, 1) for each in search(given, depth, parts, sizes.iterations)]
        for method, factors in every.items():
            tolerance = by_proof.product_tolerance(given, depth)
            if method == "search":
                tolerance += _solving(given, factors)
            error = float(np.linalg.norm(by_proof.product_of(factors) - given))
            bound = whole if method == "proof" else np.nan
            yield (
                method, width, draw, depth, gamma, by_proof.largest_norm(factors), paper, bound,
                least_norm(given, depth, angle), error, tolerance,
            )  # fmt: skip


def _solving(given: np.ndarray, factors: list[tuple[np.ndarray, int]]) -> float:
    norms = np.linalg.norm(np.stack([factor for factor, _ in factors]), 2, axis=(1, 2))
    return float(SOLVES * len(given) ** 2 * np.finfo(float).eps * np.prod(norms) * np.linalg.cond(given))
