"""Oracle: made sweeps, scipy's paired t-test. Sees a choice that a last digit or one diverged run flips unseen."""

import numpy as np
import pytest
from scipy import stats

from resaudit.figures.rates import BestRate
from resaudit.figures.sweeps import at_shown_rate, best_rates
from residual.demystifying_resnet import fig07, shortcut1
from residual.demystifying_resnet.experiments.results import Block, TrainingResults, judged_again
from residual.demystifying_resnet.jobs.train import final_losses, followed_rates
from residual.demystifying_resnet.networks.trajectory import Trajectory

RATES = np.array([0.01, 0.1, 1.0, 10.0])
INF = np.inf


def spread(*levels: float, runs: int = 5) -> np.ndarray:
    """Runs about a level for each rate, all with the same deviations of a few per cent; infinite levels diverge."""
    return np.outer(1 + 0.02 * np.linspace(-1, 1, runs), levels)


def made(rates: list[float], final: list[float]) -> Trajectory:
    empty = np.empty(0)
    return Trajectory(np.array(rates), np.array(0.0), np.array([[9.0] * len(rates), final]), *[empty] * 4)


def test_the_rate_of_the_least_average_is_shown() -> None:
    assert BestRate.choose(RATES, spread(9, 4, 2, INF)) == BestRate(1.0, (1.0,), False, False)


def test_of_rates_that_the_figure_cannot_tell_apart_the_smallest_is_shown_and_all_are_tied() -> None:
    assert BestRate.choose(RATES, spread(9, 2.1, 2, INF)) == BestRate(0.1, (0.1, 1.0), False, False)
    assert BestRate.choose(RATES, spread(9, 2.3, 2, INF)).shown == 1.0


def test_whether_a_run_diverges_at_the_largest_rate_does_not_flip_the_shown_rate() -> None:
    """What two processors were seen to give: 2-shortcut networks with ReLUs, depth 64, half decades."""
    losses = spread(0.105, 0.0754, 0.0721, INF)
    diverged = losses.copy()
    diverged[:2, 2] = INF
    assert BestRate.choose(RATES, losses).shown == BestRate.choose(RATES, diverged).shown == 0.1


@pytest.mark.parametrize("runs", range(1, 6))
def test_a_rate_at_which_a_run_diverges_is_worse_than_one_at_which_none_does(runs: int) -> None:
    for level in (1, 2, 1e-9):
        losses = spread(9, 2, level, INF)
        losses[:runs, 2] = INF
        assert BestRate.choose(RATES, losses).tied == (0.1,)


@pytest.mark.parametrize("outlier", [30.0, 1e3])
def test_a_rate_at_which_every_run_is_worse_is_not_tied_however_far_one_run_is_off(outlier: float) -> None:
    losses = spread(1.5, 1.0, 9, 9, runs=10)
    assert BestRate.choose(RATES, losses).tied == (0.1,)
    losses[4, 0] = outlier
    assert stats.ttest_rel(losses[:, 0], losses[:, 1], alternative="greater").pvalue > 0.05 / 6
    assert BestRate.choose(RATES, losses).tied == (0.1,)
    # Three pairs are too few to tell.
    assert BestRate.choose(RATES, losses[3:6]).tied == (0.01, 0.1)


def test_a_rate_with_a_lower_average_is_not_worse_by_the_signs_of_pairs() -> None:
    losses = spread(1.05, 1.0, 9, 9, runs=10)
    losses[0, 1] = 5
    assert BestRate.choose(RATES, losses).shown == 0.01
    assert 0.01 in BestRate.choose(RATES, losses).tied


def test_rates_are_tied_where_scipys_paired_tests_cannot_tell_them_apart() -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(50):
        losses = (
            rng.lognormal(sigma=0.5, size=(10, 1))
            * np.array([1.5, 1.25, 1.0, 4.0])
            * rng.lognormal(sigma=0.2, size=(10, 4))
        )
        least = int(np.argmin(losses.mean(axis=0)))
        averages = losses.mean(axis=0)
        # The logarithm of a ratio of averages, linearised: its value, with the spread of the runs' influences.
        influences = np.log(averages / averages[least]) + losses / averages - losses[:, [least]] / averages[least]
        p = stats.ttest_1samp(influences, 0.0, axis=0, alternative="greater").pvalue
        near = losses.mean(axis=0) <= 1.1 * losses.mean(axis=0)[least]
        larger = (losses > losses[:, [least]]).sum(axis=0)
        signs = np.array([stats.binomtest(int(n), 10, alternative="greater").pvalue for n in larger])
        expected = RATES[near | ~((p < 0.05 / 6) | (signs < 0.05 / 6))]
        assert BestRate.choose(RATES, losses).tied == tuple(expected)
        seen.add(len(expected))
    assert seen >= {1, 2}


def test_the_edge_of_the_grid_is_said_and_whether_losses_still_fall_there() -> None:
    assert BestRate.choose(RATES, spread(9, 4, 2, 1)) == BestRate(10.0, (10.0,), True, True)
    assert BestRate.choose(RATES, spread(1, 2, 4, 8)) == BestRate(0.01, (0.01,), True, True)
    # Every rate is as good as another: none is best.
    assert BestRate.choose(RATES, spread(0.5, 0.5, 0.5, 0.5)) == BestRate(0.01, tuple(RATES), True, False)


def test_a_single_rate_is_both_edges_of_its_grid_and_has_no_worse_neighbour() -> None:
    assert BestRate.choose(np.array([0.1]), np.array([[1.0], [1.1], [1.2]])) == BestRate(0.1, (0.1,), True, True)
    assert BestRate.choose(np.array([0.1]), np.array([[1.0], [INF]])) == BestRate(None, (), False, False)
    # One that the screening left of several is no edge.
    assert BestRate.choose(np.array([0.1]), np.array([[1.0], [1.1]]), grid=RATES) == BestRate(0.1, (0.1,), False, False)


def test_where_every_rate_has_a_diverged_run_there_is_no_best_one() -> None:
    losses = spread(1, 2, 3, 4)
    losses[0] = INF
    assert BestRate.choose(RATES, losses) == BestRate(None, (), False, False)
    assert followed_rates(made([0.1, 0.2], [INF, INF]), "tied_for_best") == (0.1,)


def test_what_follows_a_sweep_takes_the_shown_rate_first_then_those_tied() -> None:
    sweep = made([0.3, 0.3, 0.1, 0.1, 0.2, 0.2], [2.0, 2.05, 9, 9.1, 1.99, 2.01])
    # 0.1 is worse in both runs, by the same.
    assert followed_rates(sweep, "tied_for_best") == (0.2, 0.3)
    assert followed_rates(made([1.0, 0.1, 0.01], [1, 2, 3]), "tenth_of_best") == (0.1,)
    with pytest.raises(ValueError, match="unknown choice"):
        followed_rates(sweep, "worst")


def test_ties_that_the_screening_leaves_are_judged_again_on_the_fresh_runs_of_all_blocks() -> None:
    key, rates = ("xavier", 16), np.repeat([0.3, 0.1], 2)
    sweep = made([0.03, 0.1, 0.3], [9, 1.0, 1.01])
    # Of the first block alone 0.3 would be the better.
    blocks = [made(rates, [1.0, 1.2, 1.3, 1.6]), made(rates, [30.0, 40.0, 2.0, 2.1]), made(rates, [9, INF, 1, 1])]
    unread = np.empty(0)
    found = TrainingResults(
        sweeps={key: sweep},
        blocks={key: [Block(10 + 2 * i, each, unread) for i, each in enumerate(blocks)]},
        rates={key: (0.3, 0.1)},
        best={key: BestRate.choose(*final_losses(sweep))},
    )
    again = judged_again(found)
    assert again.rates == {key: (0.1,)}
    # Neither is an end of the screening's grid but 0.3.
    assert again.best == {key: BestRate(0.1, (0.1,), False, False)}


def test_the_best_rate_is_of_the_last_epoch() -> None:
    trajectory = made([0.1, 0.1, 0.2, 0.2], [2, 2.1, 3, 3.3])
    trajectory.excess_loss[0] = [2, 2, 1, 1]
    # 0.2 was lower on the way.
    assert BestRate.choose(*final_losses(trajectory)).shown == 0.1


@pytest.mark.parametrize(
    ("final", "fewest"),
    [
        ([4, 2, 1, 3, 0, INF], []),
        ([1, 1, 1, 1, 1, 1], []),
        ([3, 3, 1, 4, 9, 9], []),
        ([INF] * 6, [0.1]),
        ([1, INF, INF, INF, INF, 2], [0.3]),
    ],
)
def test_figures_and_the_ensembles_that_follow_them_choose_alike(final: list[float], fewest: list[float]) -> None:
    trajectory = made([0.3, 0.3, 0.1, 0.1, 0.2, 0.2], final)
    table = fig07.table(TrainingResults({("xavier", 4): trajectory}))
    best = best_rates(table, "excess_loss")
    assert best == {("xavier", 4): BestRate.choose(*final_losses(trajectory))}
    shown = [] if best["xavier", 4].shown is None else [best["xavier", 4].shown]
    assert at_shown_rate(table, best)["learning_rate"].unique().tolist() == shown
    followed = {("xavier", 4): followed_rates(trajectory, "tied_for_best")}
    curves = shortcut1.table(TrainingResults({("xavier", 4): trajectory}, rates=followed))
    # Where every rate has a diverged run none is drawn, but the one with the fewest is measured.
    assert curves[curves["shown"]]["learning_rate"].unique().tolist() == (shown or fewest)
    along = curves[curves["epoch"] < curves["epoch"].max()]
    assert sorted(along["learning_rate"].unique()) == sorted(best["xavier", 4].tied or fewest)


def test_figure_7_keeps_the_digits_of_the_excess_loss() -> None:
    trajectory = Trajectory(np.array([0.1]), np.array(0.337), np.array([[1e-18]]), *[np.empty(0)] * 4)
    table = fig07.table(TrainingResults({("xavier", 4): trajectory}))
    assert table["final_loss"].tolist() == table["optimal_loss"].tolist() == [0.337]
    assert table["excess_loss"].tolist() == [1e-18]
