"""Oracle: gradient descent written out run by run. Sees mixed-up runs, a wrong epoch, runs that outlive divergence."""

import numpy as np
import pytest
import torch

from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Moments, Whiten
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.jobs.train import train as train_job
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import Ensemble, initial_weights

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


def test_the_runs_that_stay_keep_their_places_and_rates(moments: Moments) -> None:
    weights = initial_weights(NETWORK, "xavier", 1.0, 1, 3)
    rates = torch.tensor([100.0, 0.01, 0.05], dtype=torch.float64)
    objective = LinearObjective.of(NETWORK, moments, CPU)
    together, alone = descend(objective, weights, rates, 20), descend(objective, weights[:, 1:], rates[1:], 20)
    assert together.excess_loss[-1, 0] == np.inf
    np.testing.assert_allclose(together.excess_loss[:, 1:], alone.excess_loss, rtol=1e-12)


def test_an_ensemble_has_every_seed_at_every_rate(moments: Moments) -> None:
    data = Whiten(Fetch(Dataset.model_construct(name="it", files={}), ""), 10, True)
    job = Train(data, Ensemble(NETWORK, "xavier", 1.0, 1, 3), 2, (0.01, 0.05))
    objective = LinearObjective.of(NETWORK, moments, CPU)
    trajectory = train_job(job, objective, job.learning_rates, CPU)
    assert trajectory.learning_rate.tolist() == [0.01] * 3 + [0.05] * 3
    weights = initial_weights(NETWORK, "xavier", 1.0, 1, 3)
    for position, rate in enumerate(job.learning_rates):
        alone = descend(objective, weights, torch.full((3,), rate, dtype=torch.float64), 2)
        columns = slice(3 * position, 3 * position + 3)
        np.testing.assert_allclose(trajectory.excess_loss[:, columns], alone.excess_loss, rtol=1e-12)


def test_a_run_that_can_no_longer_move_is_no_longer_computed_and_keeps_its_values() -> None:
    sizes = []

    class OneIsStill:
        baseline_loss = 0.0

        def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            """(w^2 - 1)^2 / 4: at w = 1 there is nothing to descend."""
            sizes.append(weights.shape[1])
            return ((weights**2 - 1) ** 2).sum(dim=(0, 2, 3)) / 4, weights**3 - weights

    start = torch.tensor([1.0, 0.5], dtype=torch.float64).reshape(1, 2, 1, 1)
    rates = torch.full((2,), 0.1, dtype=torch.float64)
    together = descend(OneIsStill(), start, rates, 50, (0, 5, 50))
    assert sizes[:3] == [2, 1, 1]
    assert (together.excess_loss[:, 0] == 0).all()
    assert (together.mean_frobenius_norm[:, 0] == 1).all()
    assert (together.gradient_norm[:, 0] == 0).all()
    assert (together.snapshots[:, 0, 0] == 1).all()
    alone = descend(OneIsStill(), start[:, 1:], rates[1:], 50, (0, 5, 50))
    np.testing.assert_array_equal(together.excess_loss[:, 1:], alone.excess_loss)
    np.testing.assert_array_equal(together.snapshots[:, :, 1:], alone.snapshots)


def test_when_no_run_can_move_training_ends_early_with_a_whole_record(moments: Moments) -> None:
    objective = LinearObjective.of(Network(2, 4, 10), moments, CPU)
    calls = []

    class Counting:
        baseline_loss = 0.0

        def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            calls.append(1)
            return objective(weights)

    zero = torch.zeros(4, 1, 10, 10, dtype=torch.float64)
    trajectory = descend(Counting(), zero, torch.tensor([0.1], dtype=torch.float64), 100, (0, 100))
    assert len(calls) == 1
    assert (trajectory.excess_loss == trajectory.excess_loss[0]).all()
    assert np.isfinite(trajectory.excess_loss).all()
    assert (trajectory.snapshots == 0).all()


def test_a_run_moves_on_while_its_step_still_changes_a_bit() -> None:
    """Two weights, one so large that the step looks like nothing beside it, one so small that the step moves it."""
    target = torch.tensor([[1e10, 0.0], [0.0, 0.0]], dtype=torch.float64)

    class Valley:
        baseline_loss = 0.0

        def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            gradient = weights - target
            return (gradient**2).sum(dim=(0, 2, 3)) / 2, gradient

    start = target.clone().reshape(1, 1, 2, 2)
    start[0, 0, 1, 1] = 1e-7
    trajectory = descend(Valley(), start, torch.tensor([0.5], dtype=torch.float64), 4)
    np.testing.assert_allclose(trajectory.gradient_norm[:, 0], 1e-7 * 0.5 ** np.arange(5), rtol=1e-12)


NARROW = Network(shortcut_depth=2, depth=4, width=3)


def some_moments(width: int) -> Moments:
    inputs = np.random.default_rng(1).standard_normal((width, 20))
    return Moments.of(inputs, inputs)


@pytest.mark.parametrize("along", [spectra_along, structured_spectra_along])
@pytest.mark.parametrize(
    ("shape", "network", "width", "said"),
    [
        ((4, 3, 3), NARROW, 3, r"shape \(3, 3\); needed: .* = \(4, runs, 3, 3\)"),
        ((1, 2, 1, 3, 3), NARROW, 3, r"shape \(2, 1, 3, 3\); needed"),
        ((1, 4, 1, 3, 3), NARROW, 5, "moments are of 5 inputs; needed: 3"),
        ((1, 4, 1, 3, 3), Network(2, 4, 3, mid="relu"), 3, "the network has activations"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(along, shape, network: Network, width: int, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=said):
        along(torch.zeros(shape, dtype=torch.float64), network, some_moments(width))


def test_learning_rates_of_other_runs_are_refused() -> None:
    objective = LinearObjective.of(NARROW, some_moments(3), torch.device("cpu"))
    with pytest.raises(ValueError, match=r"learning_rates .*\(1,\); .*\(2,\)"):
        descend(objective, torch.zeros(4, 2, 3, 3, dtype=torch.float64), torch.ones(1), epochs=1)
