"""Oracles of Theorem 3.2's numerics: both products of every layer, SciPy's distances, rounding.

They see a block that moves or leaves the wrong points, a weight that is not the lemma's, a saved product that was not
zero, labellings that share more than they may, a closest pair that is missed, and a bound that rounding breaks.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

from residual.identity_matters import plain
from residual.identity_matters.relu import memorize, network
from residual.identity_matters.relu.lemma import check_lemma, hard_points
from residual.identity_matters.relu.measured import Case, LemmaSizes
from residual.identity_matters.relu.memorize import LabelledImages
from residual.identity_matters.relu.network import (
    Network,
    count_parameters,
    distinct,
    gamma,
    least_distances,
    moved_bound,
    on_sphere,
    output_bound,
    project,
    random_points,
    run,
    surrogates,
)

N, K, CLASSES = 230, 64, 10
CASE = Case("images", N, K, "orthogonal", False, 1 / 6, ("given", "random"), "double")


def points(n: int = N, k: int = K) -> np.ndarray:
    return random_points(n, k, 1)


def made(n: int = N, k: int = K, share: float = 1 / 6, dtype: torch.dtype = torch.float64) -> Network:
    x = points(n, k)
    q = surrogates(CLASSES, k, 1)
    return Network(torch.from_numpy(x).to(dtype), torch.from_numpy(q).to(dtype), 1 - 2 * share * pdist(x).min() ** 2)


def labels(seed: int = 0, n: int = N) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(CLASSES, size=n))


def plainly(built: Network, own: torch.Tensor) -> torch.Tensor:
    return plain.memorize(built.moved, own, built.surrogates, (1 - built.threshold) / 2)


@pytest.mark.parametrize("share", [1 / 6, 0.6])
def test_the_network_is_the_lemmas_matrices(share: float) -> None:
    built, own = made(share=share), labels()
    expected = plainly(built, own)
    np.testing.assert_allclose(run(built, [own])[0].outputs, expected, atol=1e-11)
    if share == 0.6:
        assert (expected.argmax(dim=1) != own).any()  # points too near each other are disturbed


@pytest.mark.parametrize("rows", [32, 100, N])
def test_labellings_and_parts_of_the_points_do_not_matter_to_each_other(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "ROWS", rows)
    monkeypatch.setattr(network, "NUMBERS", 1)
    built, both = made(share=0.6), [labels(1), labels(2)]
    for together, alone in zip(run(built, both), both, strict=True):
        np.testing.assert_allclose(together.outputs, plainly(built, alone), atol=1e-11)
        by_itself = run(built, [alone])[0]
        assert together.remaining.tolist() == by_itself.remaining.tolist()
        np.testing.assert_allclose(together.disturbance, by_itself.disturbance, atol=1e-11)
        np.testing.assert_allclose(together.moved_error, by_itself.moved_error, atol=1e-11)


def test_every_layer_moves_k_points_and_leaves_the_others() -> None:
    (found,) = run(made(), [labels()])
    assert found.remaining.tolist() == [230, 166, 102, 38, 0]
    assert (found.moved_error < moved_bound(made())).all()
    assert found.disturbance.tolist() == [0.0] * 5
    assert torch.equal(found.outputs.argmax(dim=1), labels())


def test_a_disturbed_point_is_seen() -> None:
    disturbed = run(made(share=0.6), [labels()])[0]
    assert disturbed.disturbance[1:-1].max() > 0.01
    assert disturbed.remaining[-1] > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_points_that_need_no_product_activate_no_unit(dtype: torch.dtype) -> None:
    built, own = made(dtype=dtype), labels()
    way = network.Propagation(built, slice(0, N), own)
    # From each surrogate label towards a unit, so that products come close to their bound.
    lengths = torch.linspace(0, 1, N, dtype=dtype)[:, None]
    near = way.targets + lengths * built.block(1)[torch.arange(N) % K]
    for way.moved, hidden in ((True, near), (False, built.moved)):
        way.to_target = (hidden - way.targets).norm(dim=1)
        active = (hidden @ built.block(1).T).amax(dim=1) > built.threshold
        computed = torch.zeros(N, dtype=torch.bool)
        computed[way.undecided(1)] = True
        assert computed[active].all()
        assert 0 < int(active.sum()) < N
        assert not computed.all() or (not way.moved and dtype == torch.float32)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("share", [1 / 6, 1e-3])
def test_errors_stay_within_what_rounding_allows(dtype: torch.dtype, share: float) -> None:
    built = made(share=share, dtype=dtype)
    (found,) = run(built, [labels()])
    asked = torch.nn.functional.one_hot(labels(), CLASSES)
    error, bound = float((found.outputs - asked).abs().max()), output_bound(built)
    assert 1e-5 * bound < error < bound < 0.5
    assert 1e-5 * moved_bound(built) < found.moved_error.max() < moved_bound(built)


def test_there_is_no_bound_where_margins_are_rounding_errors() -> None:
    built = made(share=1e-7, dtype=torch.float32)
    assert moved_bound(built) == output_bound(built) == np.inf
    assert run(built, [labels()])[0].remaining[-1] > 0  # points are lost


def test_the_least_distance_of_nested_subsets_is_scipys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("residual.identity_matters.relu.network.POINTS_AT_ONCE", 64)
    x = points(300, 20)
    x[250] = on_sphere((x[30] + 1e-3 * x[31])[None])[0]
    x[290] = on_sphere((x[200] + 0.999e-3 * x[201])[None])[0]
    sizes = (2, 64, 100, 251, 300)
    expected = [pdist(x[:n]).min() ** 2 for n in sizes]
    np.testing.assert_allclose(least_distances(x, sizes), expected, rtol=1e-8)


def test_images_of_one_direction_are_left_out() -> None:
    images = np.array([[2, 4, 6], [1, 2, 3], [1, 2, 4], [2, 4, 6], [200, 0, 0], [1, 0, 0]], dtype=np.uint8)
    assert distinct(images).tolist() == [0, 2, 4]


def test_projections_keep_lengths_and_points_do_not_depend_on_their_number() -> None:
    x = points()
    np.testing.assert_allclose(pdist(project(x, K, "orthogonal", 1)), pdist(x), rtol=1e-12)
    for law in ("orthogonal", "gaussian"):
        ratio = np.linalg.norm(project(x, 32, law, 1), axis=1)
        assert ratio.mean() == pytest.approx(1, abs=0.05)
        assert 0.02 < ratio.std() < 0.2
    assert np.array_equal(points(10), x[:10])
    assert not np.array_equal(project(x, 32, "gaussian", 1), project(x, 32, "gaussian", 2))


def images(n: int = N) -> LabelledImages:
    rng = np.random.default_rng(3)
    return LabelledImages(rng.integers(0, 256, (n, K), dtype=np.uint8), rng.integers(0, CLASSES, n), CLASSES)


def test_a_case_is_its_points_network_and_run() -> None:
    found = memorize.memorize(images(), (CASE, replace(CASE, labels=("given",), precision="single")), (20, N), 1)
    assert found.labels.tolist() == ["given", "random", "given"]
    assert found.case.tolist() == [0, 0, 1]
    assert found.wrong.tolist() == [0, 0, 0]
    assert (found.error < found.tolerance).all()
    x = on_sphere(images().pixels)
    np.testing.assert_allclose(found.rho, pdist(x).min() ** 2, rtol=1e-10)
    np.testing.assert_allclose(found.nested_rho, [pdist(x[:20]).min() ** 2, pdist(x).min() ** 2], rtol=1e-10)
    assert found.parameters.tolist() == [count_parameters(N, K, K, CLASSES)] * 3
    traced = found.remaining[(found.traced_case == 0) & (found.traced_labels == "given")]
    assert traced.tolist() == [230, 166, 102, 38, 0]


def test_duplicates_are_left_out_and_wrong_labels_are_counted() -> None:
    doubled = images()
    doubled.pixels[5] = doubled.pixels[4]
    found = memorize.memorize(doubled, (CASE,), (), 1)
    assert found.points_left.tolist() == [N - 1, N - 1]
    assert found.wrong.tolist() == [0, 0]
    close = images()
    close.pixels[200] = close.pixels[6]
    close.pixels[200, 0] ^= np.uint8(1)
    assert memorize.memorize(close, (replace(CASE, share=0.3),), (), 1).wrong.tolist() == [1, 1]  # the printed rho/3


def test_only_a_single_largest_output_is_right() -> None:
    outputs = torch.tensor([[0.0, 0.0], [0.9, 0.1], [torch.nan, 0.0], [0.2, 0.3]])
    wrong, error = memorize.judged(outputs, torch.tensor([0, 0, 0, 1]))
    assert (wrong, error) == (2, np.inf)


@pytest.mark.parametrize("c", [3.0, 6.0])
def test_hard_points_meet_the_lemmas_conditions_exactly(c: float) -> None:
    margin = 0.01
    x = hard_points(32, margin, c, 2, np.random.default_rng(1))
    squares = (x * x).sum(axis=1)
    assert x.shape == (96, 32)
    np.testing.assert_allclose(np.abs(squares - 1), margin, rtol=1e-10)
    distances = np.sort(pdist(x) ** 2)
    np.testing.assert_allclose(distances[:48], c * margin, rtol=1e-10)
    assert distances[48] > 6 * margin


def test_lemma_b1_holds_with_6_and_fails_with_3() -> None:
    checked = check_lemma(LemmaSizes((32, 64), (0.03, 3e-4), (6.0, 3.0), 2, 2), 1)
    right = checked.constant == 6
    assert (checked.error[right] <= checked.tolerance[right]).all()
    # Half of the gap 3 rho' is left: 1.5 rho', so a partner goes half of the way.
    assert (checked.error[~right] > 0.3).all()
    assert gamma(32, torch.float64) < checked.tolerance.max() < 1e-8
