"""Oracle: gradient descent written out run by run. Sees mixed-up runs, a wrong epoch, runs that outlive divergence."""

import numpy as np
import pytest
import torch

from resaudit.datasets.moments import Moments
from resaudit.networks.initialization import initial_weights
from resaudit.networks.network import Network
from resaudit.training.ensemble import descend
from resaudit.training.linear import LinearObjective
from resaudit.training.trajectory import Trajectory, best_learning_rate

NETWORK = Network(2, 4, 10)
CPU = torch.device("cpu")


def train(moments: Moments, rates: list[float], epochs: int = 20, snapshots: tuple[int, ...] = (0, 7)) -> Trajectory:
    weights = initial_weights(NETWORK, "xavier", 1.0, 1, len(rates))
    objective = LinearObjective.of(NETWORK, moments, CPU)
    return descend(objective, weights, torch.tensor(rates, dtype=torch.float64), epochs, snapshots)


def test_each_run_is_plain_gradient_descent_at_its_own_rate(moments: Moments) -> None:
    rates = [0.01, 0.05, 0.02]
    trajectory = train(moments, rates)
    objective = LinearObjective.of(NETWORK, moments, CPU)
    for run, rate in enumerate(rates):
        weights = initial_weights(NETWORK, "xavier", 1.0, 1, 3)[:, run : run + 1]
        for epoch in range(21):
            loss, gradient = objective(weights)
            assert trajectory.excess_loss[epoch, run] == pytest.approx(loss.item(), rel=1e-12)
            assert trajectory.gradient_norm[epoch, run] == pytest.approx(gradient.norm().item(), rel=1e-12)
            norms = [weights[layer, 0].norm().item() for layer in range(4)]
            assert trajectory.mean_frobenius_norm[epoch, run] == pytest.approx(np.mean(norms), rel=1e-12)
            if epoch == 7:
                np.testing.assert_allclose(trajectory.snapshots[1, :, run], weights[:, 0], rtol=1e-11)
            weights = weights - rate * gradient
    np.testing.assert_array_equal(trajectory.loss, moments.optimal_loss + trajectory.excess_loss)


def test_a_diverging_run_is_infinite_from_then_on_and_leaves_the_others_alone(moments: Moments) -> None:
    alone, together = train(moments, [0.01]), train(moments, [0.01, 100.0])
    diverged = together.excess_loss[:, 1]
    first = int(np.argmax(~np.isfinite(diverged)))
    assert 0 < first < 20
    assert np.isfinite(diverged[:first]).all()
    assert (diverged[first:] == np.inf).all()
    assert (together.mean_frobenius_norm[first:, 1] == np.inf).all()
    np.testing.assert_allclose(together.excess_loss[:, 0], alone.excess_loss[:, 0], rtol=1e-12)


def test_a_diverged_run_is_no_longer_computed(moments: Moments) -> None:
    sizes = []
    objective = LinearObjective.of(NETWORK, moments, CPU)

    class Counting:
        baseline_loss = 0.0

        def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            sizes.append(weights.shape[1])
            return objective(weights)

    weights = initial_weights(NETWORK, "xavier", 1.0, 1, 2)
    descend(Counting(), weights, torch.tensor([0.01, 100.0], dtype=torch.float64), 30)
    assert sizes[0] == 2
    assert sizes[-1] == 1


def test_when_all_diverge_training_ends_early(moments: Moments) -> None:
    trajectory = train(moments, [100.0, 200.0], epochs=1000)
    assert (trajectory.excess_loss[-1] == np.inf).all()


def test_the_same_settings_give_the_same_bits(moments: Moments) -> None:
    first, second = train(moments, [0.01, 0.05]), train(moments, [0.01, 0.05])
    assert first.excess_loss.tobytes() == second.excess_loss.tobytes()
    assert first.snapshots.tobytes() == second.snapshots.tobytes()


def made(rates: list[float], final: list[float]) -> Trajectory:
    empty = np.empty(0)
    return Trajectory(np.array(rates), np.array(0.0), np.array([final]), empty, empty, empty, empty)


def test_best_rate_is_by_mean_and_a_diverged_run_disqualifies() -> None:
    assert best_learning_rate(made([0.1, 0.1, 0.2, 0.2, 0.3, 0.3], [4, 2, 1, 3, 0, np.inf])) == 0.2
    assert best_learning_rate(made([0.2, 0.1], [1.0, 1.0])) == 0.1
    assert best_learning_rate(made([0.2, 0.1], [np.inf, np.inf])) == 0.1
