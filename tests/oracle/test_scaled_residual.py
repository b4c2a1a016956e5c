"""Oracles of networks at initialisation: explicit matrices, autograd, exact SVD, expectations in closed form.

They see a wrong variance, a layer too many or too few, a lost tau, a backward pass whose matrices are not those of the
forward pass, a product that leaves out a layer or a pattern, and runs that depend on what ran beside them.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import norm

from residual.stable_scaling import plain
from residual.stable_scaling.network import propagation
from residual.stable_scaling.network.gradients import backpropagate, gradient_norms
from residual.stable_scaling.network.products import largest_norms, pairs_of
from residual.stable_scaling.network.propagation import (
    basis_of,
    first_states,
    gram_of,
    inputs_of,
    normalized,
    propagate,
    root_of,
    states,
    transposed,
)
from residual.stable_scaling.network.setting import (
    PLAIN,
    Network,
    Samples,
    Variances,
    product_scale,
    promised,
    stable_tau,
)
from residual.stable_scaling.network.training import Weights, draw

# Kolmogorov-Smirnov with two samples of n: this times sqrt(2/n) is passed by one comparison in a million.
ONE_IN_A_MILLION = 2.69
RUNS = 4000
TAU = {"residual": 0.4, "plain": None}


def explicit(width: int, depth: int, tau: float | None, seed: int = 0) -> Weights:
    variances = PLAIN if tau is None else Variances()
    return draw(7, width, depth, 5, torch.Generator().manual_seed(seed), variances)


def in_plain(weights: Weights) -> plain.Weights:
    return weights.first, [*weights.middle.unbind(-3), weights.last], weights.readout


def columns(count: int, seed: int = 1) -> np.ndarray:
    points = np.random.default_rng(seed).standard_normal((7, count))
    return points / np.linalg.norm(points, axis=0)


def matrices(weights: Weights, tau: float | None) -> list[np.ndarray]:
    """W_1 ... W_L over the standard deviations of their entries."""
    variance = 2.0 if tau is None else 1.0
    width = weights.last.shape[-1]
    scaled = [w / (variance / width) ** 0.5 for w in weights.middle]
    return [w.numpy() for w in (*scaled, weights.last / (2.0 / width) ** 0.5)]


def apart(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Kolmogorov and Smirnov's statistic over sqrt(2/n), of samples of equal size."""
    places = np.concatenate([ours, theirs])
    shares = [np.searchsorted(np.sort(each), places, side="right") / len(each) for each in (ours, theirs)]
    return float(np.abs(shares[0] - shares[1]).max() / (2 / len(ours)) ** 0.5)


@pytest.mark.parametrize("tau", TAU.values(), ids=TAU)
@pytest.mark.parametrize("samples", [1, 3])
def test_states_are_those_of_the_same_matrices(tau: float | None, samples: int) -> None:
    weights, inputs = explicit(12, 6, tau), columns(samples)
    expected = [each.numpy() for each in plain.hidden(in_plain(weights), torch.from_numpy(inputs), tau)]
    every = matrices(weights, tau)

    def source(layer: int, _: np.ndarray | None) -> np.ndarray:
        state = expected[layer - 1]
        (root,) = root_of(state[None], gram_of(state[None]))
        return (every[layer - 1] @ np.linalg.solve(root.T, state.T).T)[None]

    found = [each[0].copy() for each, _ in states(Network(12, 6, tau), expected[0][None], source)]
    assert len(found) == 5
    for ours, theirs in zip(found, expected[1:-1], strict=True):
        assert np.abs(ours - theirs).max() < 1e-13


def test_a_root_has_the_gram_matrix_whatever_the_rank_and_the_runs_beside_it() -> None:
    columns = np.random.default_rng(0).standard_normal((5, 9, 3))
    columns[1, :, 2] = columns[1, :, 0]
    columns[2] = 0
    columns[3, :, 1] = columns[3, :, 0] + 1e-9 * columns[3, :, 1]
    columns[4, :, 0] *= 1e9
    roots = root_of(columns, gram_of(columns))
    lengths = np.linalg.norm(columns, axis=1)
    for state, root, length in zip(columns, roots, lengths, strict=True):
        assert np.abs(gram_of(root) - gram_of(state)).max() <= 1e-14 * np.outer(length, length).max()
        assert np.array_equal(root, root_of(state[None], gram_of(state[None]))[0])
    # Householder's resolves what a Gram matrix has lost.
    assert np.linalg.norm(roots[3, :, 1] - roots[3, :, 0]) == pytest.approx(
        np.linalg.norm(columns[3, :, 1] - columns[3, :, 0]), rel=1e-6
    )
    wide = np.swapaxes(columns[:1], -1, -2)
    assert gram_of(root_of(wide, gram_of(wide))) == pytest.approx(gram_of(wide), abs=1e-13)


@pytest.mark.parametrize("tau", TAU.values(), ids=TAU)
@pytest.mark.parametrize("samples", [1, 3])
def test_gradients_are_autograds(tau: float | None, samples: int) -> None:
    weights, inputs = explicit(12, 6, tau, seed=3), columns(samples)
    targets = np.eye(5)[:, :samples]
    every = matrices(weights, tau)
    start = torch.relu(weights.first @ torch.from_numpy(inputs)).numpy()[None]
    found, losses = gradient_norms(
        Network(12, 6, tau),
        start,
        weights.readout.numpy()[None],
        targets[None],
        lambda layer, basis: every[layer - 1] @ basis,  # type: ignore[arg-type, return-value]
        lambda layer, basis: every[layer - 1].T @ basis,  # type: ignore[arg-type, return-value]
    )
    for i, (of_middle, of_last, loss) in enumerate(autograd(weights, inputs, targets, tau)):
        assert losses[0, i] == pytest.approx(loss, rel=1e-12)
        assert found[0, :-1, i] == pytest.approx(np.linalg.norm(of_middle, axis=(-2, -1)), rel=1e-11)
        assert found[0, -1, i] == pytest.approx(np.linalg.norm(of_last), rel=1e-11)


def autograd(
    weights: Weights, inputs: np.ndarray, targets: np.ndarray, tau: float | None
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Gradients of each sample's loss by W_1 ... W_{L-1} and W_L, and the loss; sums over leading dimensions."""
    for i in range(inputs.shape[-1]):
        middle, last = weights.middle.clone().requires_grad_(), weights.last.clone().requires_grad_()
        at = in_plain(weights._replace(middle=middle, last=last))
        loss = plain.loss(at, *(torch.from_numpy(part[..., [i]]) for part in (inputs, targets)), tau)
        by_middle, by_last = torch.autograd.grad(loss, (middle, last))
        yield by_middle.numpy(), by_last.numpy(), float(loss.detach())


def test_a_transposed_product_has_the_matrix_of_the_forward_one() -> None:
    rng = np.random.default_rng(0)
    w, h, v = rng.standard_normal((9, 9)), rng.standard_normal((9, 3)), rng.standard_normal((9, 3))
    h[:, 2] = h[:, 0]  # not of full rank
    state, gradient = basis_of(h), basis_of(v)
    assert np.abs(transposed(state, w @ state.q, gradient, w.T @ gradient.q) - w.T @ v).max() < 1e-13


@pytest.mark.parametrize("tau", TAU.values(), ids=TAU)
def test_norms_and_gradients_have_the_law_of_explicit_matrices(tau: float | None) -> None:
    network, inputs, targets = Network(8, 5, tau), columns(2), np.eye(5)[:, :2]
    every = [np.stack([each] * RUNS) for each in (inputs, targets)]
    middle, last = 1 if tau is None else 0, 4
    (ours,) = propagate([network], every[0], 2, 5, range(RUNS))
    gradients = backpropagate(network, *every, 5, range(RUNS))
    variances = PLAIN if tau is None else Variances()
    generator = torch.Generator().manual_seed(11)
    each = [draw(7, 8, 5, 5, generator, variances) for _ in range(RUNS)]
    weights = Weights(*(torch.stack(part) for part in zip(*each, strict=True)))
    theirs = [h.numpy() for h in plain.hidden(in_plain(weights), torch.from_numpy(inputs), tau)]
    for found, state in ((ours[:, 0], theirs[0]), (ours[:, 3], theirs[1]), (ours[:, 4], theirs[4])):
        assert apart(found, (state**2).sum(axis=1).mean(axis=1)) < ONE_IN_A_MILLION
    losses = ((weights.readout @ torch.from_numpy(theirs[5])).numpy() - targets) ** 2
    scale = np.sqrt(losses.sum(axis=1) / 2 * 8 / 5)
    for i, (of_middle, of_last, _) in enumerate(autograd(weights, inputs, targets, tau)):
        norms = np.linalg.norm(of_middle, axis=(-2, -1)) / scale[:, [i]]
        assert apart(gradients[:, middle, i], norms[:, middle]) < ONE_IN_A_MILLION
        assert apart(gradients[:, last, i], np.linalg.norm(of_last, axis=(-2, -1)) / scale[:, i]) < ONE_IN_A_MILLION


def test_a_wrong_variance_is_seen_by_these_laws() -> None:
    inputs = np.stack([columns(2)] * RUNS)
    networks = [Network(8, 5, tau) for tau in (0.4, 0.44)]
    ours, other = (norms[:, -1] for norms in propagate(networks, inputs, 2, 5, range(RUNS)))
    theirs = propagate(networks[:1], inputs, 2, 6, range(RUNS))[0][:, -1]
    assert apart(ours, theirs) < ONE_IN_A_MILLION < apart(other, theirs)


def test_one_layer_has_its_expectation_in_closed_form() -> None:
    network, state = Network(20, 2, 0.7), np.abs(np.random.default_rng(2).standard_normal((20, 1))) / 20**0.5
    state[::2] = 0
    s = 0.7 * np.linalg.norm(state) / 20**0.5
    expected = float(((state**2 + s**2) * norm.cdf(state / s) + state * s * norm.pdf(state / s)).sum())
    rng = np.random.default_rng(3)
    ((after, _),) = states(network, np.stack([state] * 100_000), lambda *_: rng.standard_normal((100_000, 20, 1)))
    squared = (after**2).sum(axis=(1, 2))
    assert abs(squared.mean() - expected) < 6 * squared.std() / 100_000**0.5


def test_equal_samples_stay_equal_and_the_zero_state_stays_zero() -> None:
    inputs = columns(1)[:, [0, 0, 0]]
    assert propagate([Network(30, 200, 0.3)], inputs[None], 2, 1, [0])[0][0, 1] > 0
    rng = np.random.default_rng(0)
    start = first_states(Network(30, 2, 0.3), inputs[None], 1, [0])
    for state, _ in states(Network(30, 50, 0.3), start, lambda *_: rng.standard_normal((1, 30, 3))):
        assert np.abs(state - state[..., :1]).max() < 1e-12 * np.abs(state).max()
    ((after, _),) = states(Network(30, 2, 0.3), np.zeros((1, 30, 3)), lambda *_: rng.standard_normal((1, 30, 3)))
    assert not after.any()


@pytest.mark.parametrize(("how", "axis"), [("batch-norm", 2), ("layer-norm", 1)])
def test_a_normalised_branch_has_mean_zero_and_mean_square_one_over_m(how: str, axis: int) -> None:
    branch = 3 + np.random.default_rng(1).standard_normal((2, 40, 16))
    found = normalized(branch, branch, how)
    assert np.abs(found.mean(axis=axis)).max() < 1e-14
    assert np.abs((found**2).mean(axis=axis) * 40 - 1).max() < 1e-12


@pytest.mark.parametrize("start", ["gaussian", "uniform", "unit"])
def test_first_states_keep_the_norm_in_the_mean(start: str) -> None:
    found = first_states(Network(50, 2, 0.1, start=start), np.stack([columns(1)] * 2000), 1, range(2000))
    squared = (found**2).sum(axis=(1, 2))
    assert abs(squared.mean() - 1) < max(6 * squared.std() / 2000**0.5, 1e-12)


def test_the_first_runs_are_the_same_among_more() -> None:
    inputs, targets = inputs_of(Samples("sphere", 3, 9), None, 4, range(6))
    network = Network(10, 7, 0.3)
    few, many = (propagate([network], inputs[:n], 2, 4, range(n))[0] for n in (2, 6))
    assert np.array_equal(few, many[:2])
    alone = backpropagate(network, inputs[5:], targets[5:], 4, [5])
    assert np.array_equal(alone, backpropagate(network, inputs, targets, 4, range(6))[5:])
    assert np.array_equal(inputs_of(Samples("sphere", 3, 9), None, 4, [5])[0], inputs[5:])


def test_networks_side_by_side_have_the_bytes_that_each_has_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = [Network(10, depth, tau) for depth in (3, 40, 17) for tau in (0.1, 0.4)]
    inputs, _ = inputs_of(Samples("sphere", 3, 9), None, 4, range(2))
    alone = [propagate([network], inputs, 4, 4, range(2))[0] for network in networks]
    monkeypatch.setattr(propagation, "AT_ONCE", 7 * 2 * 10 * 3)  # blocks of seven layers
    together = propagate(networks, inputs, 4, 4, range(2))
    assert all(map(np.array_equal, together, alone))


@pytest.mark.parametrize("norm_of", ["each", "mean", "pixels"])
def test_images_are_scaled_as_asked(norm_of: str) -> None:
    images = np.random.default_rng(0).integers(1, 256, (50, 4, 4), dtype=np.uint8)
    labels = np.arange(50, dtype=np.uint8) % 10
    inputs, targets = inputs_of(Samples("mnist", 6, norm=norm_of), (images, labels), 1, range(3))
    squares = (inputs**2).sum(axis=1)
    if norm_of == "each":
        assert squares == pytest.approx(1.0)
    if norm_of == "mean":
        raw, _ = inputs_of(Samples("mnist", 6, norm="pixels"), (images, labels), 1, range(3))
        assert inputs * np.sqrt(((images / 255) ** 2).sum(axis=(1, 2)).mean()) == pytest.approx(raw)
    if norm_of == "pixels":
        wanted = {tuple((image.ravel() / 255).round(9)): label for image, label in zip(images, labels, strict=True)}
        found = [wanted[tuple(inputs[0, :, i].round(9))] for i in range(6)]
        assert found == targets[0].argmax(axis=0).tolist()


@pytest.mark.parametrize("seed", range(5))
def test_norms_of_products_are_those_of_the_formed_matrices(seed: int) -> None:
    width, depth, tau, places = 20, 9, 0.5, [1, 3, 6, 8]
    weights = draw(7, width, depth, 1, torch.Generator().manual_seed(seed))
    if seed == 4:
        weights.middle[4] = -3 * torch.eye(width, dtype=torch.float64)  # a layer through which nothing passes
    start, *after = (state.numpy() for state in plain.hidden(in_plain(weights), torch.from_numpy(columns(2)), tau))
    found = largest_norms(start, weights.middle.numpy(), tau, places)
    exact = {}
    for a, b in pairs_of(places):
        of_samples = []
        for sample in range(2):
            formed = np.eye(width)
            for layer in range(a, b + 1):
                pattern = np.diag((after[layer - 1][:, sample] > 0).astype(float))
                formed = pattern @ (np.eye(width) + tau * weights.middle[layer - 1].numpy()) @ formed
            of_samples.append(np.linalg.norm(formed, 2))
        exact[a, b] = max(of_samples)
    assert found == pytest.approx(list(exact.values()), rel=1e-12)
    assert (exact[3, 6] == 0) == (seed == 4)


def test_constants_of_the_theorems_are_those_of_the_appendices() -> None:
    assert stable_tau(100, 0.5) ** 2 * 100 == pytest.approx(np.log(2) / 4)
    assert promised(1024, 1000, 4, 0.5) == pytest.approx(1 - 8e6 * 2.0 ** (-1024 / 32))
    for c in (0.1, 1.0):
        scale, eps = product_scale(c), np.linspace(1e-4, c / (1 + c), 50_000, endpoint=False)
        logs = np.log((1 + c) * (1 - eps))
        for share, possible in ((0.999, True), (1.001, False)):
            small = (share * scale <= logs / 2) & (logs**2 / 16 / (share * scale) > 1 + np.log(1 + 2 / eps))
            assert small.any() == possible
    assert all(more > less for less, more in pairwise(product_scale(c) for c in (0.1, 0.3, 1.0, 3.0)))
