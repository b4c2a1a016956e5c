"""Oracle: definitions. Sees a wrong variance, non-orthogonal or non-Haar matrices, runs that share a stream."""

import numpy as np
import pytest
import torch

from residual.demystifying_resnet.networks.linear import backward, forward
from residual.demystifying_resnet.networks.network import Network, network_named, shortcut_depth_of
from residual.demystifying_resnet.training.ensemble import initial_weights


@pytest.mark.parametrize(("shortcut_depth", "depth"), [(2, 3), (3, 4), (2, 0), (-1, 4)])
def test_impossible_networks_are_refused(shortcut_depth: int, depth: int) -> None:
    with pytest.raises(ValueError, match=r"depth"):
        Network(shortcut_depth, depth, 10)


@pytest.mark.parametrize(
    "name",
    ["0-shortcut", "2shortcut", "-1-shortcut", "Xavier", "", "relu", "xavier-", "xavier-relu-in", "xavier-relu-mid"],
)
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown network"):
        shortcut_depth_of(name)


@pytest.mark.parametrize("law", ["xavier", "xavier_uniform"])
def test_xavier_has_zero_mean_and_variance_one_over_width(law: str) -> None:
    weights = initial_weights(Network(0, 200, 10), law, 1.0, seed=3, runs=5)
    # 100 000 draws: the standard errors are 0.001 of the mean and 0.0005 of the variance.
    assert abs(weights.mean().item()) < 0.005
    assert weights.var().item() == pytest.approx(0.1, abs=0.0025)
    bounded = weights.abs().max().item() <= (0.3**0.5) * (1 + 1e-12)
    assert bounded == (law == "xavier_uniform")


def test_orthogonal_is_orthogonal_and_haar() -> None:
    weights = initial_weights(Network(0, 400, 10), "orthogonal", 1.0, seed=3, runs=5)
    eye = torch.eye(10, dtype=torch.float64)
    assert torch.allclose(weights @ weights.mT, eye.expand_as(weights), atol=1e-12)
    # Under Haar measure the trace has mean 0 and variance 1; QR with unfixed signs fails the mean.
    traces = weights.diagonal(dim1=2, dim2=3).sum(dim=2)
    assert abs(traces.mean().item()) < 4 / 2000**0.5
    assert traces.var().item() == pytest.approx(1.0, abs=0.15)


def test_a_run_does_not_depend_on_how_many_there_are() -> None:
    network = Network(2, 4, 10)
    few, many = (initial_weights(network, "xavier", 0.01, 1, runs) for runs in (2, 5))
    assert torch.equal(few, many[:, :2])
    assert not torch.equal(many[:, 0], many[:, 1])
    assert not torch.equal(few, initial_weights(network, "xavier", 0.01, 2, 2))


def test_scale_multiplies() -> None:
    network = Network(2, 4, 10)
    assert torch.equal(
        initial_weights(network, "xavier", 0.01, 1, 2), 0.01 * initial_weights(network, "xavier", 1, 1, 2)
    )


def test_unknown_initialization_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown initialization"):
        initial_weights(Network(0, 2, 2), "he", 1.0, 1, 1)


@pytest.mark.parametrize("shortcut_depth", [0, 1, 2, 3])
def test_end_to_end_is_the_product_of_units(shortcut_depth: int) -> None:
    network = Network(shortcut_depth, 6, 4)
    weights = initial_weights(network, "xavier", 1.0, 1, 2)
    for run in range(2):
        expected = np.eye(4)
        for first in range(0, 6, max(shortcut_depth, 1)):
            unit = np.eye(4)
            for layer in range(first, first + max(shortcut_depth, 1)):
                unit = weights[layer, run].numpy() @ unit
            expected = (unit + np.eye(4) * (shortcut_depth > 0)) @ expected
        np.testing.assert_allclose(forward(weights, network)[-1][run], expected, rtol=1e-12)


def test_backward_from_the_identity_gives_the_maps_to_the_output() -> None:
    network = Network(2, 4, 3)
    weights = initial_weights(network, "xavier", 1.0, 1, 1)
    eye = torch.eye(3, dtype=torch.float64)[None]
    behind = backward(weights, network, eye)
    w = weights[:, 0]
    unit = w[3] @ w[2] + eye[0]
    for layer, expected in enumerate([unit @ w[1], unit, w[3], eye[0]]):
        torch.testing.assert_close(behind[layer][0].mT, expected)


def test_no_two_seeds_share_a_run() -> None:
    network = Network(0, 2, 10)
    one, two = (initial_weights(network, "xavier", 1.0, seed, 3) for seed in (1, 2))
    assert not any(torch.equal(one[:, a], two[:, b]) for a in range(3) for b in range(3))


def test_activations_stand_where_definition_2_has_them() -> None:
    """Pre before a unit's first layer, mid between its layers, post after its last; of a single layer, no mid."""
    steps = network_named("3-shortcut-relu-pre-tanh-relu-post", 6, 10).steps
    assert [(s.before, s.after) for s in steps] == 2 * [("relu", "tanh"), ("identity", "tanh"), ("identity", "relu")]
    assert [(s.enters, s.leaves) for s in steps] == 2 * [(True, False), (False, False), (False, True)]
    (single,) = network_named("1-shortcut-relu-pre", 1, 10).steps
    assert (single.before, single.after, single.enters, single.leaves) == ("relu", "identity", True, True)


def test_plain_networks_have_them_where_2_shortcut_networks_have_them() -> None:
    plain, shortcut = (network_named(f"{name}-relu", 6, 10).steps for name in ("xavier", "2-shortcut"))
    assert [(s.before, s.after) for s in plain] == [(s.before, s.after) for s in shortcut]
    assert [s.after for s in plain] == 3 * ["relu", "identity"]
    assert not any(s.enters or s.leaves for s in plain)
    with pytest.raises(ValueError, match="depth 5 is odd"):
        network_named("orthogonal-relu", 5, 10)


@pytest.mark.parametrize(
    ("name", "why"), [("2-shortcut-relu-tanh", "two activations at one position"), ("1-shortcut-relu", "so no mid")]
)
def test_names_that_say_what_cannot_be_are_refused(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        network_named(name, 2, 10)
