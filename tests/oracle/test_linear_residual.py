"""Oracles of linear residual networks: SciPy's logarithms and roots, automatic differentiation, values by hand.

They see a factor that is not the proof's, a p and q that do not add up, a bound that a factorization breaks, a wrong
gradient or exponent of eq. 2.3, a search that leaves the domain, and a descent that is not gradient descent.
"""

from itertools import pairwise
from math import pi

import numpy as np
import pytest
import torch
from scipy.linalg import expm, fractional_matrix_power, logm
from scipy.stats import ortho_group

from resaudit.data.whiten import Moments
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.identity_matters import plain
from residual.identity_matters.linear.descent import TARGETS, descended, map_of
from residual.identity_matters.linear.dominance import (
    Point,
    by_autograd,
    dominated,
    excess,
    gradient,
    gradient_tolerance,
    log_ratio,
    ratio_rounding,
    searched,
)
from residual.identity_matters.linear.factorization import (
    Split,
    factored,
    factors_of,
    factors_of_positive,
    gamma_of,
    largest_norm,
    least_depth,
    least_norm,
    polar_factors,
    product_of,
    product_tolerance,
    rotation,
    search,
    split,
    turned_by,
)
from residual.identity_matters.linear.measured import Factorizations, Points, Runs
from residual.identity_matters.linear.targets import FAMILIES, augmented, completed, orthogonal, target

NO_DATA = np.diag([0.5, 0.3, 0.1, 0.0])
REAL = Moments(np.eye(4), NO_DATA, np.array(1.0))
ANGLES = np.array([2.5, 0.7])


def of_family(family: str, width: int = 5, draw: int = 0) -> np.ndarray:
    return augmented(target(family, width, draw, 1, 100.0, NO_DATA))


def point(depth: int, radius: float, seed: int = 0) -> Point:
    rng = np.random.default_rng(seed)
    stack = rng.standard_normal((depth, 3, 3))
    stack *= radius / np.linalg.norm(stack, 2, axis=(1, 2))[:, None, None]
    root = rng.standard_normal((3, 3))
    return stack, rng.standard_normal((3, 3)), root @ root.T + 0.1 * np.eye(3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_factors_multiply_to_the_map_and_stay_within_the_proofs_bound(family: str) -> None:
    given = of_family(family)
    gamma = gamma_of(given)
    for depth in (least_depth(gamma), 40, 300):
        parts = split(depth, gamma)
        for factors in (factors_of(given, parts), polar_factors(given, depth)):
            assert sum(times for _, times in factors) == depth
            assert np.linalg.norm(product_of(factors) - given) < product_tolerance(given, depth)
        assert largest_norm(factors_of(given, parts)) <= parts.bound(gamma)
        assert largest_norm(polar_factors(given, depth)) <= 2 * np.sin(pi / 2 / depth) + np.expm1(gamma / depth) + 1e-13


def test_factors_of_a_rotation_are_its_principal_roots() -> None:
    basis = orthogonal(5, np.random.default_rng(0))
    given = basis @ rotation(ANGLES, 5) @ basis.T
    for root in (fractional_matrix_power(given, 1 / 4), expm(logm(given) / 4)):
        assert np.allclose(polar_factors(given, 4)[2][0], root, atol=1e-13)
    # All singular values are equal: U is the rotation, V' is I, wherever the axes are.
    first, _, stretch, second, _ = (factor for factor, _ in factors_of(3.0 * given, Split(3, 4)))
    assert np.allclose(first, fractional_matrix_power(given, 1 / 4), atol=1e-12)
    assert np.allclose(stretch, 3 ** (1 / 3) * np.eye(5), atol=1e-13)
    assert np.allclose(second, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_factors_norms_do_not_depend_on_what_lapack_chooses(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of singular vectors, bases of equal singular values, and the last digit."""
    given, rng = of_family(family), np.random.default_rng(3)
    parts = split(40, gamma_of(given))
    expected, lapack = largest_norm(factors_of(given, parts)), np.linalg.svd

    def another_svd(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        left, values, right = lapack(matrix + 1e-16 * rng.standard_normal(matrix.shape))
        for equal in np.split(np.arange(len(values)), np.flatnonzero(-np.diff(values) > 1e-10) + 1):
            turn = ortho_group.rvs(len(equal), random_state=rng) if len(equal) > 1 else rng.choice([-1.0, 1.0], (1, 1))
            left[:, equal], right[equal] = left[:, equal] @ turn, turn.T @ right[equal]
        return left, values, right

    with monkeypatch.context() as patched:
        patched.setattr(np.linalg, "svd", another_svd)
        every = [factors_of(given, parts) for _ in range(20)]
    assert np.allclose([largest_norm(each) for each in every], expected, rtol=1e-12, atol=0)


def test_factors_of_a_positive_map_are_its_logarithms_exponential() -> None:
    given = of_family("positive")
    ((factor, times),) = factors_of_positive(given, 30)
    assert times == 30
    assert np.allclose(factor, expm(logm(given) / 30), atol=1e-13)
    assert np.allclose(polar_factors(given, 30)[7][0], factor, atol=1e-13)
    assert largest_norm([(factor, 30)]) == pytest.approx(least_norm(given, 30, 0.0))


def test_a_half_turn_by_hand() -> None:
    given = -np.eye(2)
    ((one, _), (other, _), (third, _), (last, _)) = factors_of(given, Split(0, 3))
    norms = [np.linalg.norm(each - np.eye(2), 2) for each in (one, other, third, last)]
    assert sorted(norms) == pytest.approx([0, 0, 0, 2 * np.sin(pi / 6)])
    assert largest_norm(polar_factors(given, 8)) == pytest.approx(2 * np.sin(pi / 16))
    assert turned_by(given, 1) == pytest.approx(pi)
    assert least_norm(given, 8, pi) == pytest.approx(np.sin(pi / 8))


@pytest.mark.parametrize(
    ("depth", "gamma", "expected"),
    [(5, 0.5, Split(1, 1)), (16, 1e-15, Split(0, 4)), (17, 0.0, Split(1, 4)), (100, 5.0, Split(56, 11))],
)
def test_whole_p_and_q_by_hand(depth: int, gamma: float, expected: Split) -> None:
    found = split(depth, gamma)
    assert found == expected
    assert found.p + 4 * found.q == depth
    assert all(found.bound(gamma) <= Split(depth - 4 * q, q).bound(gamma) for q in range(1, (depth - 1) // 4 + 1))


def test_p_is_at_least_gamma_where_the_layers_allow_it() -> None:
    for gamma in np.linspace(0.1, 12, 60):
        parts = split(max(least_depth(gamma), 8), gamma)
        assert parts.p >= min(gamma, max(least_depth(gamma), 8) - 4)


def test_no_factorization_lies_below_the_bound_and_the_search_comes_near() -> None:
    turn = rotation(np.array([2.0]), 2)
    assert turned_by(turn, 1) == pytest.approx(2.0)
    for given in (turn, of_family("gaussian", 3), of_family("ill-conditioned", 3)):
        depth = max(8, least_depth(gamma_of(given)))
        factors = search(given, depth, split(depth, gamma_of(given)), 40)
        found = largest_norm([(each, 1) for each in factors])
        least = least_norm(given, depth, turned_by(given, 1))
        assert np.linalg.norm(np.linalg.multi_dot(list(factors)) - given) < 1e-9
        assert least <= found <= largest_norm(polar_factors(given, depth)) < 2 * least


def test_maps_are_what_their_names_say() -> None:
    signs = {family: np.sign(np.linalg.det(target(family, 5, 3, 1, 100.0, NO_DATA))) for family in FAMILIES}
    assert signs == {family: -1 if family == "negative" else 1 for family in FAMILIES}
    assert np.linalg.cond(of_family("ill-conditioned")) == pytest.approx(100)
    assert np.linalg.eigvalsh(of_family("positive")).min() == pytest.approx(0.1)
    assert gamma_of(of_family("two-reflections")) < 1e-12
    assert np.allclose(np.linalg.svd(completed(NO_DATA))[1], [0.5, 0.3, 0.1, 0.1])
    assert of_family("negative").shape == (6, 6)
    assert gamma_of(of_family("negative")) == pytest.approx(gamma_of(target("negative", 5, 0, 1, 1.0, NO_DATA)))


def test_a_draw_depends_on_no_other() -> None:
    few, more = (
        factored("gaussian", Factorizations(widths, (16,), draws, 10.0, (), (), 1), 1, NO_DATA)
        for widths, draws in (((4,), 2), ((3, 4), 3))
    )
    chosen = (more.width == 4) & (more.draw < 2)
    assert np.array_equal(few.norm, more.norm[chosen])


@pytest.mark.parametrize("depth", [1, 2, 7])
def test_eq_2_5_is_automatic_differentiation_and_the_first_papers_engine(depth: int) -> None:
    given = point(depth, 0.6)
    ours = gradient(given)
    assert np.linalg.norm(ours - by_autograd(given)) < gradient_tolerance(given)
    stack, goal, sigma = (torch.from_numpy(each) for each in given)
    left, right = plain.dominance(stack, goal, sigma, 0.7)
    assert log_ratio(given, 0.7) == pytest.approx(torch.log(left / right).item(), rel=1e-11)
    loss, half = LinearObjective(Network(1, depth, 3), goal, sigma, 0.0)(stack[:, None])
    assert excess(given) == pytest.approx(2 * loss.item(), rel=1e-12)
    assert np.linalg.norm(ours - 2 * half[:, 0].numpy()) < gradient_tolerance(given)


def test_the_gradient_is_the_difference_quotient() -> None:
    stack, goal, sigma = point(4, 0.5)
    direction = np.random.default_rng(1).standard_normal(stack.shape)
    ahead, behind = (excess((stack + h * direction, goal, sigma)) for h in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(np.sum(gradient((stack, goal, sigma)) * direction), rel=1e-7)


@pytest.mark.parametrize(("depth", "radius"), [(1, 0.9), (6, 0.1), (6, 0.7)])
def test_eq_2_3_is_tight_where_all_layers_shrink_alike(depth: int, radius: float) -> None:
    stack = np.repeat(-radius * np.eye(3)[None], depth, axis=0)
    tight = (stack, np.diag([2.0, -1.0, 0.5]), 0.7 * np.eye(3))
    assert abs(log_ratio(tight, radius)) < ratio_rounding(tight) < 1e-8
    if depth > 1:
        assert log_ratio(tight, radius / 2) < -0.1  # a radius that A does not keep violates it


def test_a_search_stays_in_the_domain_and_ends_where_eq_2_3_is_tight() -> None:
    given = point(2, 0.5)
    stack, goal, sigma = searched(given, 0.5, 300)
    assert np.linalg.norm(stack, 2, axis=(1, 2)).max() <= 0.5 * (1 + 1e-15)
    assert sigma is given[2]
    found = log_ratio((stack, goal, sigma), 0.5)
    assert -ratio_rounding((stack, goal, sigma)) < found < 0.05 < log_ratio(given, 0.5)


def test_points_are_within_their_radius_and_rows_within_rounding() -> None:
    found = dominated(Points((2, 4), (1, 5), (0.2, 0.8), 3, 10.0, 0), 1)
    assert len(found.log_ratio) == 24
    assert (found.log_ratio > -found.rounding).all()
    assert (found.error < found.tolerance).all()


def test_descents_are_plain_gradient_descent() -> None:
    runs = Runs((3,), 4, (1.5, 0.0), 2, 10.0, 0.5, 30, 8)
    found = descended("positive determinant", runs, 1, REAL)
    rows = (found.start == 0) & (found.draw == 1)
    rate, goal = found.learning_rate[rows][0], map_of("positive determinant", runs, 1, 1, REAL)
    goal, sigma = torch.from_numpy(goal), torch.eye(4, dtype=torch.float64)
    stacks = plain.descend(torch.zeros(3, 4, 4, dtype=torch.float64), goal, sigma, rate, 30)
    seen = [(plain.excess(a, goal, sigma).item(), torch.linalg.matrix_norm(a, 2).max().item()) for a in stacks]
    kept = np.array(seen)[found.epoch[rows]]
    assert found.excess[rows] == pytest.approx(kept[:, 0], rel=1e-9)
    assert found.largest[rows] == pytest.approx(kept[:, 1], rel=1e-9)
    assert set(found.epoch) >= {0, 1, 30}
    assert found.largest[(found.start == 1.5) & (found.epoch == 0)] == pytest.approx(0.5)


def test_runs_fall_and_a_map_of_negative_determinant_is_never_reached() -> None:
    ends = {}
    for kind in TARGETS:
        found = descended(kind, Runs((4,), 3, (0.0,), 1, 4.0, 1.0, 3000, 20), 1, REAL)
        assert all(after <= before * (1 + 1e-9) or after < 1e-20 for before, after in pairwise(found.excess))
        ends[kind] = found.excess[-1] / found.excess[0]
    assert ends["positive definite"] < 1e-12
    # The least singular value of R, squared, is what a product of non-negative determinant cannot reach.
    assert ends["negative determinant"] > 1e-3
