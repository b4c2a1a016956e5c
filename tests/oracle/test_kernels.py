"""Oracles: autograd in double precision on all 60 000 real images. Sees any error of the fused kernel."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments, Whitened
from residual.demystifying_resnet import plain
from residual.demystifying_resnet.networks.functions import FUNCTIONS
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.training.ensemble import initial_weights
from residual.demystifying_resnet.training.fused import NativeObjective, lanes
from residual.demystifying_resnet.training.sampled import SampledObjective
from tests.kernels import needs_kernel

CPU = torch.device("cpu")
# Every place where an activation or a shortcut can be, and depths up to Figure 8's.
NETWORKS = [
    ("2-shortcut-relu", 8), ("orthogonal-relu", 16), ("xavier-relu", 4), ("2-shortcut-relu", 64),
    ("2-shortcut-relu-post", 8), ("2-shortcut-relu-pre-relu-relu-post", 8), ("xavier-relu-pre-relu-post", 8),
    ("3-shortcut-relu", 9), ("1-shortcut-relu-post", 4), ("1-shortcut-relu-pre", 4), ("2-shortcut", 4),
]  # fmt: skip


def weights_of(network: Network, runs: int = 2) -> torch.Tensor:
    return initial_weights(network, "xavier", 0.3 if network.has_shortcuts else 1.0, 3, runs)


def as_the_kernel_sees(whitened: Whitened) -> Whitened:
    return replace(whitened, inputs=whitened.inputs.astype(np.float32).astype(np.float64))


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@needs_kernel
@pytest.mark.parametrize(("name", "depth"), NETWORKS)
def test_the_fused_kernel_equals_autograd_in_double_precision(name: str, depth: int, whitened: Whitened) -> None:
    """Mostly to 1e-8; where rounding turns the sign of what enters a single ReLU, one in 60 000 counts."""
    network = network_named(name, depth, 10)
    weights = weights_of(network).float().double()
    loss, gradient = SampledObjective.of(network, as_the_kernel_sees(whitened), CPU, torch.float64)(weights)
    for width in (16, 8, 4):
        if width <= (lanes() or 0):
            found_loss, found_gradient = NativeObjective(network, whitened, vector_lanes=width)(weights)
            assert relative(found_loss, loss) <= 1e-6
            for layer in range(depth):
                assert relative(found_gradient[layer], gradient[layer]) <= 1e-5, f"layer {layer}, {width} lanes"


@needs_kernel
def test_sums_over_samples_lose_no_digit_that_float32_has(whitened: Whitened) -> None:
    """Without ReLUs, whose signs rounding may turn: sums in single precision would be ten times further off."""
    network = network_named("2-shortcut", 4, 10)
    weights = weights_of(network).float().double()
    loss, gradient = SampledObjective.of(network, as_the_kernel_sees(whitened), CPU, torch.float64)(weights)
    for width in (16, 8, 4):
        if width <= (lanes() or 0):
            found_loss, found_gradient = NativeObjective(network, whitened, vector_lanes=width)(weights)
            assert relative(found_loss, loss) <= 4e-8
            assert relative(found_gradient, gradient) <= (2e-8 if width == 16 else 4e-8)


@needs_kernel
def test_the_fused_kernel_is_as_exact_on_weights_that_float32_cannot_hold(whitened: Whitened) -> None:
    network = network_named("orthogonal-relu", 8, 10)
    weights = initial_weights(network, "orthogonal", 1.0, 3, 1)
    _, gradient = SampledObjective.of(network, whitened, CPU, torch.float64)(weights)
    assert relative(NativeObjective(network, whitened)(weights)[1], gradient) <= 1e-5


@needs_kernel
def test_a_last_block_that_is_not_full_adds_nothing(whitened: Whitened) -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    weights = weights_of(network)
    for count in (1, 255, 256, 257, 1000):
        some = replace(whitened, inputs=whitened.inputs[:, :count].copy(), labels=whitened.labels[:count])
        loss, gradient = SampledObjective.of(network, some, CPU, torch.float64)(weights)
        found_loss, found_gradient = NativeObjective(network, some)(weights)
        assert relative(found_loss, loss) <= 1e-5
        assert relative(found_gradient, gradient) <= 1e-5


@needs_kernel
def test_the_same_bits_again_with_any_number_of_threads_and_whatever_runs_are_beside(whitened: Whitened) -> None:
    network = network_named("xavier-relu", 16, 10)
    weights = weights_of(network, runs=3)
    loss, gradient = NativeObjective(network, whitened)(weights)
    for threads in (1, 2, 3, 64):
        again_loss, again_gradient = NativeObjective(network, whitened, threads)(weights)
        assert torch.equal(again_loss, loss)
        assert torch.equal(again_gradient, gradient)
    alone_loss, alone_gradient = NativeObjective(network, whitened)(weights[:, 1:2])
    assert torch.equal(alone_loss, loss[1:2])
    assert torch.equal(alone_gradient, gradient[:, 1:2])


@needs_kernel
def test_training_by_the_kernel_is_training_in_double_precision(whitened: Whitened) -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    weights, rates = weights_of(network), torch.tensor([0.1, 0.2], dtype=torch.float64)
    exact = descend(SampledObjective.of(network, whitened, CPU, torch.float64), weights, rates, 30)
    fused = descend(NativeObjective(network, whitened), weights, rates, 30)
    np.testing.assert_allclose(fused.excess_loss, exact.excess_loss, rtol=1e-4)
    np.testing.assert_allclose(fused.mean_frobenius_norm, exact.mean_frobenius_norm, rtol=1e-4)
    # The comparison is of training that gets somewhere.
    assert (exact.excess_loss[-1] < 0.5 * exact.excess_loss[0]).all()


@needs_kernel
@pytest.mark.parametrize(("name", "depth", "factor"), [("xavier-relu", 16, 1e3), ("orthogonal-relu", 4, 1e30)])
def test_where_nothing_is_a_number_any_more_a_relu_makes_no_zero_of_it(
    name: str, depth: int, factor: float, whitened: Whitened
) -> None:
    """Else a diverged run would have the loss of a network that is zero."""
    network = network_named(name, depth, 10)
    some = replace(whitened, inputs=whitened.inputs[:, :600].copy(), labels=whitened.labels[:600])
    for width in (16, 8, 4):
        if width <= (lanes() or 0):
            assert not torch.isfinite(
                NativeObjective(network, some, vector_lanes=width)(factor * weights_of(network))[0]
            ).any()


@needs_kernel
def test_a_run_that_overflows_is_not_finite_and_spoils_no_other(whitened: Whitened) -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    weights = weights_of(network)
    loss, gradient = NativeObjective(network, whitened)(weights)
    weights[:, 0] *= 1e20
    wild_loss, wild_gradient = NativeObjective(network, whitened)(weights)
    assert not torch.isfinite(wild_loss[0])
    assert torch.equal(wild_loss[1], loss[1])
    assert torch.equal(wild_gradient[:, 1], gradient[:, 1])


@pytest.mark.parametrize("shortcut_depth", [0, 1, 2, 3])
def test_sample_by_sample_a_linear_network_has_the_loss_that_its_moments_say(
    shortcut_depth: int, whitened: Whitened, moments: Moments
) -> None:
    network = Network(shortcut_depth, 6, 10)
    weights = weights_of(network)
    excess, expected = LinearObjective.of(network, moments, CPU)(weights)
    loss, gradient = SampledObjective.of(network, whitened, CPU, torch.float64)(weights)
    assert relative(loss, excess + moments.optimal_loss) <= 1e-12
    assert relative(gradient, expected) <= 1e-11


@pytest.mark.parametrize(
    "name", ["2-shortcut-tanh", "3-shortcut-relu-pre-tanh", "xavier-tanh-relu-post", "1-shortcut-tanh-pre-relu-post"]
)
def test_sample_by_sample_is_definition_2_written_out(name: str, whitened: Whitened) -> None:
    network = network_named(name, 6, 10)
    weights = weights_of(network, runs=1)
    some = replace(whitened, inputs=whitened.inputs[:, :500].copy(), labels=whitened.labels[:500])
    objective = SampledObjective.of(network, some, CPU, torch.float64)
    loss, gradient = objective(weights)

    activations = {place: FUNCTIONS[getattr(network, place)] for place in ("pre", "mid", "post")}
    samples = objective.inputs, objective.targets
    of_weights = torch.func.grad_and_value(plain.loss)
    expected, value = of_weights(weights[:, 0], *samples, network.shortcut_depth, **activations)
    assert loss.item() == pytest.approx(value.item(), rel=1e-12)
    assert relative(gradient[:, 0], expected) <= 1e-11


def test_sample_by_sample_in_float32_as_it_runs_without_a_compiler(whitened: Whitened) -> None:
    network = network_named("2-shortcut-relu", 8, 10)
    weights = weights_of(network).float().double()
    loss, gradient = SampledObjective.of(network, as_the_kernel_sees(whitened), CPU, torch.float64)(weights)
    found_loss, found_gradient = SampledObjective.of(network, whitened, CPU)(weights)
    assert found_gradient.dtype == torch.float64
    assert relative(found_loss, loss) <= 1e-6
    assert relative(found_gradient, gradient) <= 5e-6
    assert not torch.equal(found_gradient, gradient)


def test_samples_in_parts_are_samples_at_once(whitened: Whitened, monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    weights = weights_of(network)
    objective = SampledObjective.of(network, whitened, CPU, torch.float64)
    loss, gradient = objective(weights)
    monkeypatch.setattr("residual.demystifying_resnet.training.sampled.BYTES_AT_ONCE", 10**7)
    again_loss, again_gradient = objective(weights)
    assert relative(again_loss, loss) <= 1e-13
    assert relative(again_gradient, gradient) <= 1e-13
    # Other parts were summed.
    assert not torch.equal(again_gradient, gradient)
