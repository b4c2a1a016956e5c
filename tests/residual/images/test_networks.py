"""Oracles of the networks for images: published counts, and the laws of the initial weights.

They see a layer, bias or parameter too many, weights of another law or that depend on anything but the seed, a depth
that does not fit and is built.
"""

from collections import Counter

import numpy as np
import pytest
import torch
from torch import nn

from residual.images.networks.layers import BatchNorm
from residual.images.networks.residual import build
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation, check


def parameters(setting: Network) -> int:
    network = build(setting, 3, 10, 1)
    return sum(parameter.numel() for parameter in network.parameters())


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (PreActivation(20), 269_722),
        *((PreActivation(110, n), 1_727_962) for n in (1, 2, 3, 4, 6, 9, 12)),
        (PreActivation(434), 6_977_626),
        (PreActivation(1202), 19_421_274),
        (AllConvolutional(), 13_538_736),
        (AllConvolutional(projection="trained"), 13_538_736 + 2560),
        # With batch norm, also on shortcuts of 16 and 32 channels; without, convolutions, linear layer, scalars.
        (PostActivation(20, True, 0.5), 269_722 + 2 * (16 + 32)),
        (PostActivation(20, False, 0.5), 267_696 + 650 + 4 * 9),
    ],
)
def test_parameters_are_the_published_number(setting: Network, expected: int) -> None:
    assert parameters(setting) == expected


def test_names_say_where_a_tensor_is() -> None:
    names = dict(build(PreActivation(20), 3, 10, 1).named_parameters())
    assert {"first.weight", "stage1.block3.conv2.weight", "stage2.block1.norm1.bias", "last.bias"} <= set(names)


@pytest.mark.parametrize(
    ("setting", "layers", "deviation"),
    [
        (PreActivation(38), "stage2.block4.conv2", (2 / (9 * 32)) ** 0.5),
        (PreActivation(38), "first", (2 / (9 * 16)) ** 0.5),
        (PostActivation(20, True, None), "stage3.block1.conv1", (2 / (9 * 64)) ** 0.5),
        (AllConvolutional(2), "first", (2 / (9 * 16)) ** 0.5),
        (AllConvolutional(2), "stage2.block1.conv1", 1 / (9 * 128)),
        (AllConvolutional(2, small=False), "stage2.block1.conv1", 1 / (3 * 128**0.5)),
        (AllConvolutional(2, projection="normal"), "last", 1 / 16),
    ],
)
def test_weights_are_normal_with_their_deviation(setting: Network, layers: str, deviation: float) -> None:
    values = build(setting, 3, 100, 1).get_submodule(layers).weight.detach().double().flatten() / deviation
    # Standard errors of mean, variance and fourth moment of normal draws.
    n = len(values)
    assert abs(float(values.mean())) < 4 * n**-0.5
    assert abs(float((values**2).mean()) - 1) < 4 * (2 / n) ** 0.5
    assert abs(float((values**4).mean()) - 3) < 4 * (96 / n) ** 0.5


@pytest.mark.parametrize(
    ("setting", "bound"),
    [(PreActivation(20), 1 / 8), (PostActivation(20, True, None), 1 / 8), (AllConvolutional(1), (3 / 256) ** 0.5)],
)
def test_the_last_layer_is_uniform(setting: Network, bound: float) -> None:
    last = build(setting, 3, 100, 1).last
    values = last.weight.detach().double().flatten() / bound
    assert 0.99 < float(values.abs().max()) <= 1
    assert abs(float((values**2).mean()) - 1 / 3) < 4 * (4 / 45 / len(values)) ** 0.5
    if hasattr(last, "bias"):
        zero = setting.family == "preactivation"
        assert (float(last.bias.detach().abs().max()) == 0) == zero


def test_weights_depend_on_the_seed_alone() -> None:
    def weights(seed: int) -> torch.Tensor:
        return nn.utils.parameters_to_vector(build(PreActivation(20), 3, 10, seed).parameters()).detach()

    torch.manual_seed(1)
    np.random.seed(1)
    one = weights(5)
    torch.manual_seed(2)
    np.random.seed(2)
    before = torch.get_rng_state()
    assert torch.equal(weights(5), one)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(weights(6), one)
    assert not torch.equal(weights(5 + 2**32), one)  # which torch's generator takes for 5


def test_only_tau_and_scalar_biases_have_another_rate() -> None:
    factors = build(PostActivation(20, False, 0.5, learnable=True), 3, 10, 1).rate_factors
    assert set(factors.values()) == {0.1}
    assert Counter(name.rsplit(".", 1)[-1] for name in factors) == {
        "tau": 1, "before1": 9, "after1": 9, "before2": 9, "after2": 9,
    }  # fmt: skip
    for setting in (PostActivation(20, True, 0.5), PreActivation(20), AllConvolutional(1)):
        assert build(setting, 3, 10, 1).rate_factors == {}


@pytest.mark.parametrize(("depth", "tau"), [(110, 0.1361), (1202, 0.0408)])
def test_tau_counts_blocks(depth: int, tau: float) -> None:
    assert build(PostActivation(depth, True, 0.5), 3, 10, 1).tau == pytest.approx(tau, abs=5e-5)


def test_statistics_of_equal_groups_keep_the_firsts() -> None:
    x = torch.randn(80, 4, 3, 3)
    grouped, alone = BatchNorm(4, 64), BatchNorm(4)
    y = grouped(x)
    torch.testing.assert_close(y[:40], alone(x[:40]))
    torch.testing.assert_close(y[40:], BatchNorm(4)(x[40:]))
    assert torch.equal(grouped.running_mean, alone.running_mean)
    assert torch.equal(grouped.running_variance, alone.running_variance)


@pytest.mark.parametrize("side", [7, 10])
@pytest.mark.parametrize("setting", [PreActivation(8), PostActivation(8, True, 0.5), AllConvolutional(1)], ids=str)
def test_images_may_have_a_side_that_does_not_halve(setting: Network, side: int) -> None:
    assert build(setting, 3, 10, 1)(torch.zeros(2, 3, side, side)).shape == (2, 10)


@pytest.mark.parametrize("depth", [38, 74, 110, 434])
@pytest.mark.parametrize("shortcut_depth", [1, 2, 3, 4])
def test_depths_of_figure_9_fit(depth: int, shortcut_depth: int) -> None:
    check(PreActivation(depth, shortcut_depth))


@pytest.mark.parametrize(
    ("setting", "mentioned"),
    [
        (PreActivation(40), ("depth 40", "2 convolutions", "2 + 6 k", "38 or 44")),
        (PreActivation(20, 4), ("2 + 12 k", "14 or 26")),
        (PreActivation(2), ("2 + 6 k", " 8")),
        (PreActivation(-7, 3), ("2 + 9 k", " 11")),
        (PreActivation(20, 0), ("shortcut_depth", "0", "1")),
        (PreActivation(20, statistics=0), ("statistics", "0", "1")),
        (PostActivation(21, True, 0.5), ("20 or 26",)),
        (PostActivation(20, False, None, learnable=True), ("learnable", "power")),
        (AllConvolutional(0), ("blocks", "0", "1")),
        (AllConvolutional(leak=-0.1), ("leak", "-0.1")),
    ],
)
def test_a_network_that_does_not_fit_is_refused_in_one_line(setting: Network, mentioned: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        check(setting)
    assert all(part in str(refused.value) for part in mentioned)
