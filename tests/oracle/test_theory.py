"""Oracles: finite differences, the plain network, explicit matrices, the built network run sample by sample.

Each statement is also sabotaged: a wrong sign, a missing slope, a transposed block, a lost bias, an obstacle passed too
closely must all be seen.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from resaudit.base.errors import ConfigError
from resaudit.data.whiten import Moments, Whitened
from residual.demystifying_resnet import plain
from residual.demystifying_resnet.networks.functions import FUNCTIONS
from residual.demystifying_resnet.networks.network import ACTIVATIONS, Network
from residual.demystifying_resnet.theory import at_zero, construction
from residual.demystifying_resnet.theory.at_zero import (
    chained_derivative,
    derivatives,
    directional_derivatives,
    loss_of,
    measure_condition,
    measure_one_shortcut,
    measure_stationarity,
    measure_two_shortcut,
    permutation,
    zero_of,
)
from residual.demystifying_resnet.theory.checks import (
    RealData,
    check_theorem_1,
    check_theorem_2,
    find_detour,
    zero_hessians,
)
from residual.demystifying_resnet.theory.construction import (
    amplification,
    chain,
    great_circle,
    measure_construction,
    residual_unit,
    rho_of,
    way_round,
    ways,
)
from residual.demystifying_resnet.theory.records import (
    Cases,
    Finding,
    Samples,
    least_distance,
    random_samples,
    real_samples,
    samples_on_sphere,
)
from tests.refusals import refused

ACTIVATED = ("softplus", "shifted_softplus", "symmetric_sigmoid")
PLAIN = {
    "identity": lambda x: x,
    "tanh": torch.tanh,
    "symmetric_sigmoid": lambda x: 2 / (1 + torch.exp(-x)) - 1,
    "softplus": lambda x: torch.log(1 + torch.exp(x)),
    "shifted_softplus": lambda x: torch.log((1 + torch.exp(x)) / 2),
}


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def failing(findings: list[Finding]) -> set[str]:
    return {f.property for f in findings if not f.error <= f.tolerance}


def plain_loss(weights: np.ndarray, network: Network, samples: Samples) -> float:
    at, x, y = map(torch.from_numpy, (weights, samples.inputs, samples.targets))
    activations = {place: PLAIN[getattr(network, place)] for place in ("pre", "mid", "post")}
    return plain.loss(at, x, y, network.shortcut_depth, **activations).item()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("activations", [("identity",) * 3, ("tanh",) * 3, ACTIVATED])
def test_the_loss_is_definition_2s(n: int, activations: tuple[str, str, str]) -> None:
    network, samples = Network(n, 2 * n, 3, *activations), random_samples(3, 2, rng())
    weights = rng(4).standard_normal((2 * n, 3, 3))
    flat = torch.from_numpy(np.concatenate([w.T.ravel() for w in weights]))
    assert loss_of(network, samples)(flat).item() == pytest.approx(plain_loss(weights, network, samples), rel=1e-12)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_value_and_slope_of_each_activation_at_zero(name: str) -> None:
    at_zero = torch.zeros((), dtype=torch.float64)
    slope, value = torch.func.grad_and_value(FUNCTIONS[name])(at_zero)
    assert value.item() == pytest.approx(ACTIVATIONS[name].value, abs=1e-15)
    assert slope.item() == pytest.approx(ACTIVATIONS[name].slope, abs=1e-15)


# Theorem 2.1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("activations", [("identity",) * 3, ACTIVATED])
def test_zero_is_a_stationary_point_of_order_n_less_1(n: int, activations: tuple[str, str, str]) -> None:
    samples = random_samples(2, 5, rng())
    findings = list(measure_stationarity(Network(n, 2 * n, 2, *activations), samples, rng()))
    assert not failing(findings)
    (of_order_n,) = (f for f in findings if "not zero" in f.property)
    assert abs(of_order_n.value) > 1e-3
    for order in range(1, n):
        assert any(f"of order {order} <" in f.property for f in findings)


def test_derivatives_that_are_there_are_seen() -> None:
    """The same functions at order n, and one order below at another point than zero: nothing there is zero."""
    samples = random_samples(2, 5, rng())
    for n in (1, 2, 3):
        network = Network(n, 2 * n, 2, *ACTIVATED)
        loss = loss_of(network, samples)
        assert derivatives(loss, network, n).abs().max() > 1e-2
        assert directional_derivatives(loss, network, n, rng()).abs().max() > 1e-2
        assert directional_derivatives(lambda w: loss(w + 0.1), network, max(1, n - 1), rng()).abs().max() > 1e-2  # noqa: B023


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_derivative_of_order_n_is_that_of_finite_differences(n: int) -> None:
    network, samples = Network(n, 2 * n, 2, *ACTIVATED), random_samples(2, 5, rng())
    step, expected = 1e-2, 0.0
    for signs in itertools.product((1, -1), repeat=n):
        weights = np.zeros((2 * n, 2, 2))
        for layer, sign in enumerate(signs):
            # W^1 has column 1, W^n row 1, and the indices between are 0.
            weights[layer, int(layer == n - 1), int(layer == 0)] = sign * step
        expected += math.prod(signs) * plain_loss(weights, network, samples) / (2 * step) ** n
    found = chained_derivative(loss_of(network, samples), network, 1, 1).item()
    assert found == pytest.approx(expected, rel=1e-3)


def test_a_network_with_a_shorter_shortcut_is_no_stationary_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: n = 3 is claimed of the loss of a 2-shortcut network."""
    samples, network = random_samples(2, 5, rng()), Network(3, 6, 2)
    monkeypatch.setattr(at_zero, "loss_of", lambda _, s: loss_of(Network(2, 6, 2), s))
    assert any("order 2" in name for name in failing(list(measure_stationarity(network, samples, rng()))))


# Theorem 2.2 and 2.3


@pytest.mark.parametrize("activations", [("identity",) * 3, ("tanh",) * 3, ACTIVATED])
@pytest.mark.parametrize("units", [1, 3])
def test_hessians_at_zero_are_the_theorems(units: int, activations: tuple[str, str, str], whitened: Whitened) -> None:
    for samples in (random_samples(3, 5, rng()), real_samples(whitened, 4, 5, rng())):
        width = len(samples.inputs)
        assert not failing(list(measure_two_shortcut(Network(2, 2 * units, width, *activations), samples)))
        assert not failing(list(measure_one_shortcut(Network(1, units, width, *activations), samples)))


def test_automatic_differentiation_agrees_with_finite_differences_in_the_order_of_definition_5() -> None:
    network, samples, step = Network(2, 4, 2, *ACTIVATED), random_samples(2, 5, rng()), 1e-3
    hessian = at_zero.hessian_at_zero(network, samples)

    def at(flat: np.ndarray) -> float:
        return plain_loss(flat.reshape(4, 2, 2).transpose(0, 2, 1), network, samples)

    axes = step * np.eye(16)
    expected = [
        [(at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / (4 * step**2) for b in axes] for a in axes
    ]  # fmt: skip
    np.testing.assert_allclose(hessian, expected, atol=1e-5)


def test_p_of_eq_24_transposes() -> None:
    matrix = rng().standard_normal((4, 4))
    np.testing.assert_array_equal(permutation(4) @ matrix.T.ravel(), matrix.ravel())


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (lambda m, _: -m, "eqs. 23-25"),
        (lambda m, _: m.T, "eqs. 23-25"),
        (lambda m, n: m / ACTIVATIONS[n.post].slope, "eq. 26"),
        (lambda m, _: m + 1e-10, "eqs. 23-25"),
        (lambda m, _: m + 1e-8, "eq. 9"),
    ],
)
def test_a_wrong_a_is_seen(wrong, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    right = at_zero.residual_moments
    monkeypatch.setattr(at_zero, "residual_moments", lambda network, s: wrong(right(network, s), network))
    findings = list(measure_two_shortcut(Network(2, 4, 3, *ACTIVATED), random_samples(3, 5, rng())))
    assert any(name.startswith(seen) for name in failing(findings))


@pytest.mark.parametrize(
    ("wrong", "seen"),
    [
        (lambda a, b: (a - b, b), "eqs. 30-32"),
        (lambda a, b: (a.T, b), "eqs. 30-32"),
        (lambda a, b: (a, 2 * b), "eqs. 27-29"),
    ],
)
def test_a_wrong_a_or_b_of_one_shortcut_networks_is_seen(wrong, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    right = at_zero.blocks_of_eqs_29_and_32
    monkeypatch.setattr(at_zero, "blocks_of_eqs_29_and_32", lambda s: wrong(*right(s)))
    findings = list(measure_one_shortcut(Network(1, 3, 3), random_samples(3, 5, rng())))
    assert list(failing(findings)) == [next(f.property for f in findings if f.property.startswith(seen))]


def test_a_hessian_off_its_pattern_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = at_zero.hessian_at_zero

    def one_entry_off(network: Network, samples: Samples) -> np.ndarray:
        hessian = right(network, samples)
        hessian[0, -1] = hessian[-1, 0] = 1e-12
        return hessian

    monkeypatch.setattr(at_zero, "hessian_at_zero", one_entry_off)
    samples = random_samples(3, 5, rng())
    assert any("outside" in name for name in failing(list(measure_two_shortcut(Network(2, 4, 3), samples))))
    assert any("eq. 10" in name for name in failing(list(measure_one_shortcut(Network(1, 3, 3), samples))))


def test_condition_numbers_are_those_of_the_block_matrices(moments: Moments) -> None:
    p, eye = permutation(10), np.eye(10)
    b = p @ np.kron(eye, moments.xx) @ p.T
    a = np.kron(eye, moments.xx - moments.yx) @ p.T + b
    toeplitz = np.block([[b if r == q else a if r > q else a.T for q in range(4)] for r in range(4)])
    magnitudes = np.sort(np.abs(np.linalg.eigvalsh(toeplitz)))
    by_least, by_percentile = (f.value for f in measure_condition(Network(1, 4, 10), moments))
    assert by_least == pytest.approx(magnitudes[-1] / magnitudes[0], rel=1e-9)
    assert by_percentile == pytest.approx(magnitudes[-1] / np.percentile(magnitudes, 10), rel=1e-9)


def test_condition_grows_with_depth_for_one_shortcut_only(moments: Moments) -> None:
    one = [list(measure_condition(Network(1, depth, 10), moments))[1].value for depth in (2, 4, 8)]
    two = [list(measure_condition(Network(2, depth, 10), moments))[1].value for depth in (2, 4, 8)]
    assert one[0] < one[1] < one[2]
    np.testing.assert_allclose(two, two[0], rtol=1e-12)


def test_a_singular_hessian_has_an_infinite_condition_that_is_not_resolved() -> None:
    flat = Moments(np.eye(2), np.eye(2), np.array(2.0))
    for finding in measure_condition(Network(2, 2, 2), flat):
        assert not finding.error <= finding.tolerance


# Theorem 1


def run_network(samples: np.ndarray, units: list[construction.Unit]) -> np.ndarray:
    """Eq. 3 by torch, sample by sample."""
    state = torch.from_numpy(samples.T.copy())
    for unit in units:
        first, second, bias = (torch.from_numpy(part) for part in (unit.first, unit.second, unit.bias))
        state = state + torch.stack([torch.mv(second, torch.relu(torch.mv(first, x) + bias)) for x in state])
    return state.numpy().T


@pytest.fixture(params=[(3, 1), (3, 3), (10, 1)])
def on_sphere(request: pytest.FixtureRequest, whitened: Whitened) -> Samples:
    return samples_on_sphere(whitened, *request.param, 0.4, 0.5, rng())


def test_the_network_maps_images_to_their_labels(on_sphere: Samples) -> None:
    rho = rho_of(on_sphere)
    steps = list(chain(on_sphere, ways(on_sphere, rho), 10))
    units = [step.unit(rho) for step in steps]
    np.testing.assert_allclose(run_network(on_sphere.inputs, units), on_sphere.targets, atol=1e-6)
    assert len(units) == 10 * on_sphere.count
    for step, unit in zip(steps, units, strict=True):
        np.testing.assert_allclose(run_network(step.before, [unit]), step.after, atol=1e-13)
        for matrix in (unit.first, unit.second):
            assert np.linalg.norm(matrix) == pytest.approx(np.sqrt(8 * step.length) / rho, rel=1e-14)


def test_what_is_measured_is_within_its_tolerance_and_norms_fall(on_sphere: Samples) -> None:
    norms = []
    for steps in (1, 10, 100):
        findings = {f.property: f for f in measure_construction(on_sphere, steps)}
        assert not failing(list(findings.values()))
        norms.append(findings["theorem 1, eq. 7: largest Frobenius norm by units"].value)
    assert norms[0] > norms[1] > norms[2]
    assert norms[1] / norms[2] == pytest.approx(10**0.5, rel=0.02)


@pytest.mark.parametrize(
    ("part", "factor", "seen"),
    [("bias", 0.9, "eq. 13"), ("second", -1.0, "eq. 13"), ("first", 1.001, "eq. 14"), ("second", 1.001, "whole")],
)
def test_a_wrong_unit_is_seen(part: str, factor: float, seen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(before: np.ndarray, after: np.ndarray, rho: float) -> construction.Unit:
        unit = residual_unit(before, after, rho)
        return dataclasses.replace(unit, **{part: factor * getattr(unit, part)})

    monkeypatch.setattr(construction, "residual_unit", wrong)
    findings = list(measure_construction(samples_on_sphere(None, 3, 2, 0.4, 0.5, rng()), 5))
    assert any(seen in name for name in failing(findings))


def test_paths_that_do_not_go_round_are_seen(whitened: Whitened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: great circles straight through the others' neighbourhoods."""
    crowded = next(
        samples
        for seed in range(100)
        for samples in [samples_on_sphere(whitened, 3, 2, 0.5, 0.5, rng(seed))]
        if any(way.detours for way in ways(samples, rho_of(samples)))
    )
    assert not failing(list(measure_construction(crowded, 50)))
    monkeypatch.setattr(construction, "way_round", lambda a, b, others, _: way_round(a, b, others[:, :0], 0.1))
    assert any("rho/2" in name for name in failing(list(measure_construction(crowded, 50))))


def test_amplification_is_what_a_small_error_grows_by() -> None:
    samples = samples_on_sphere(None, 3, 1, 0.6, 0.5, rng())
    rho = rho_of(samples)
    way = ways(samples, rho)[0]
    points = way.points(20)
    units = [residual_unit(before, after, rho) for before, after in itertools.pairwise(points)]
    shift = 1e-7
    moved = [
        run_network((way.start + sign * shift * axis)[:, None], units)[:, 0] for axis in np.eye(3) for sign in (1, -1)
    ]
    jacobian = np.stack([(moved[i] - moved[i + 1]) / (2 * shift) for i in (0, 2, 4)], axis=1)
    growth = amplification(points, rho)
    assert growth.shape == (20,)
    assert growth[-1] == pytest.approx(np.linalg.norm(jacobian, 2), rel=1e-5)


@given(st.integers(0, 10_000), st.integers(3, 6))
def test_ways_stay_on_the_sphere_and_keep_their_distance(seed: int, width: int) -> None:
    # Random directions that keep 0.5 from each other and from start and end; the first lies in the way.
    draws, distance = rng(seed), 0.25
    start, end = (v / np.linalg.norm(v) for v in draws.standard_normal((2, width)))
    in_the_way = great_circle(start, end).at(np.array([great_circle(start, end).angle / 2]))[0]
    in_the_way = in_the_way + 0.05 * draws.standard_normal(width)
    kept: list[np.ndarray] = []
    for vector in (in_the_way, *draws.standard_normal((30, width))):
        point = vector / np.linalg.norm(vector)
        if all(np.linalg.norm(point - other) >= 2 * distance for other in (start, end, *kept)):
            kept.append(point)
    obstacles = np.array(kept).reshape(-1, width).T
    way = way_round(start, end, obstacles, distance)
    points = way.points(300)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, atol=1e-14)
    np.testing.assert_array_equal(points[[0, -1]], [start, end])
    apart = np.linalg.norm(points[:, :, None] - obstacles[None], axis=1)
    assert apart.min(initial=1.0) >= distance - 1e-13
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() <= way.length / 300 + 1e-14
    assert way.length <= great_circle(start, end).angle + np.pi * distance * len(kept)


def test_between_opposite_points_and_over_an_obstacle_there_is_a_way() -> None:
    start, over = np.array([1.0, 0.0, 0.0]), np.array([[0.0], [0.0], [1.0]])
    assert way_round(start, -start, over[:, :0], 0.1).length == pytest.approx(np.pi)
    straight_over = way_round(start, np.array([-0.6, 0.0, 0.8]), over, 0.3)
    assert len(straight_over.detours) == 1
    assert np.linalg.norm(straight_over.points(100) - over.T, axis=1).min() >= 0.3 - 1e-13


def test_points_on_the_sphere_are_real_images_and_as_far_apart_as_said(whitened: Whitened) -> None:
    samples = samples_on_sphere(whitened, 3, 2, 0.4, 0.5, rng())
    assert samples.inputs.shape == samples.targets.shape == (3, 6)
    assert least_distance(np.concatenate([samples.inputs, samples.targets], axis=1)) >= 0.4
    assert samples.targets.argmax(axis=0).tolist() == [0, 0, 1, 1, 2, 2]
    directions = whitened.inputs[:3] / np.linalg.norm(whitened.inputs[:3], axis=0)
    for label, point in zip([0, 0, 1, 1, 2, 2], samples.inputs.T, strict=True):
        assert np.abs(directions[:, whitened.labels == label] - point[:, None]).max(axis=0).min() < 1e-15
    exact = samples_on_sphere(whitened, 3, 1, 0.4, 0.5, rng())
    np.testing.assert_array_equal(exact.targets, np.eye(3))


def test_samples_that_are_not_to_be_had_are_refused(whitened: Whitened) -> None:
    with refused(ConfigError, 3, 1.5):
        samples_on_sphere(whitened, 3, 2, 1.5, 0.5, rng())
    with refused(ConfigError, 9000, 5421):
        real_samples(whitened, 10, 9000, rng())


# The checks as the workflow runs them


@pytest.fixture
def real(whitened: Whitened, moments: Moments) -> RealData:
    return RealData("mnist", whitened, moments)


def test_theorem_2_is_checked_at_every_case(real: RealData) -> None:
    cases = Cases(1, 2, (1, 2, 3), (("identity",) * 3, ("tanh",) * 3), (2, 3), (1, 2), (2, 4), (), (5,))
    found = check_theorem_2(cases, real)
    assert not set(found.property[~(found.error <= found.tolerance)])
    for n, count in ((1, 0), (2, 1), (3, 2)):
        for order in range(1, count + 1):
            stated = found.property == f"theorem 2.1: every partial derivative of order {order} < n is zero"
            assert sum(stated & (found.shortcut_depth == n)) == 2 * 2 * 2 * 2 * 2
    assert set(found.data) == {"random", "mnist"}
    assert 60_000 in found.samples
    eq_9 = found.property == "eq. 9: the condition number"
    # Each draw, size and activation has its own data.
    assert len(np.unique(found.expected[eq_9])) == 2 * 2 * 2 * 2


def test_theorem_1_is_checked_at_every_case(real: RealData) -> None:
    found = check_theorem_1(
        Cases(1, 2, widths=(3, 4), steps=(1, 4), samples_per_class=(1, 2), min_distance=0.4, label_noise=0.5), real
    )
    assert not set(found.property[~(found.error <= found.tolerance)])
    whole = found.property == "theorem 1: the whole network maps X to Y"
    assert sum(whole) == 2 * 2 * 2 * 2 * 2
    assert set(found.units[whole]) == {3, 6, 12, 24, 4, 8, 16, 32}


def test_draws_do_not_depend_on_how_many_there_are(real: RealData) -> None:
    few, more = (
        check_theorem_1(
            Cases(1, draws, widths=(3,), steps=(2,), samples_per_class=(1,), min_distance=0.4, label_noise=0.5), real
        )
        for draws in (1, 2)
    )
    np.testing.assert_array_equal(few.value, more.value[more.draw == 0])


def test_the_path_drawn_goes_round_others(real: RealData) -> None:
    cases = Cases(1, 30, widths=(3,), steps=(100,), samples_per_class=(2,), min_distance=0.5, label_noise=0.5)
    found = find_detour(cases, real)
    rho = float(found.rho)

    def nearest(points: np.ndarray) -> float:
        return float(np.linalg.norm(points[:, None] - found.obstacles[None], axis=2).min())

    assert nearest(found.path) >= rho / 2 - 1e-13
    assert nearest(found.direct) < rho / 2
    assert found.obstacles.shape == (5, 3)


def test_the_hessians_drawn_are_those_of_automatic_differentiation(whitened: Whitened) -> None:
    samples = real_samples(whitened, 3, 20, rng())
    found = zero_hessians(Cases(1, 1, (2, 1), units=(2,)), Moments.of(samples.inputs, samples.targets))
    for n in (1, 2):
        network, rows = Network(n, 2 * n, 3), found.shortcut_depth == n
        matrix = np.zeros((network.parameters,) * 2)
        matrix[found.row[rows], found.column[rows]] = found.value[rows]
        expected = torch.func.hessian(loss_of(network, samples))(zero_of(network)).numpy()
        np.testing.assert_allclose(matrix, expected, atol=1e-13)
