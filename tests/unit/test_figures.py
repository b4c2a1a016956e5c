"""Oracle: the issue's columns and hand-made trajectories. Sees swapped axes, lost runs, a mean over the wrong thing."""

import numpy as np
import pandas as pd
import pytest

from resaudit.curvature.spectra import Spectra
from resaudit.papers.demystifying_resnet import fig03, fig04, fig05, fig07
from resaudit.papers.demystifying_resnet.by_loss import interpolate_by_loss
from resaudit.papers.evidence import Evidence
from resaudit.training.trajectory import Trajectory

RATES = np.array([0.1, 0.1, 0.2, 0.2])


def trajectory(excess: list[list[float]], epochs: tuple[int, ...] = ()) -> Trajectory:
    losses = np.array(excess)
    return Trajectory(
        learning_rate=RATES[: losses.shape[1]], baseline_loss=np.array(0.25), excess_loss=losses,
        gradient_norm=losses * 10, mean_frobenius_norm=losses * 100, snapshot_epochs=np.array(epochs, dtype=int),
        snapshots=np.empty(0),
    )  # fmt: skip


def spectra(shape: tuple[int, int]) -> Spectra:
    values = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) + 1
    return Spectra(values * 8, values, np.full(shape, 8.0), values / 100, values * 1e-15, values > 0)


SWEEP = trajectory([[8, 8, 8, 8], [4, 3, 1, np.inf]])


def test_fig03_has_every_run_and_epoch_at_the_best_rate() -> None:
    table = fig03.table(Evidence({("2-shortcut", 4): SWEEP}, {}, {}))
    assert list(table.columns) == ["network", "depth", "run", "epoch", "mean_frobenius_norm"]
    assert table["mean_frobenius_norm"].tolist() == [800, 400, 800, 300], "a diverged run disqualifies rate 0.2"
    assert table["run"].tolist() == [0, 0, 1, 1]


def test_fig04_has_a_row_for_each_run() -> None:
    table = fig04.table(Evidence({}, {}, {("xavier", 2): spectra((1, 3)), ("xavier", 4): spectra((1, 2))}))
    assert list(table.columns) == [
        "network", "depth", "run", "lambda_max", "lambda_p10", "condition_number", "noise_floor", "resolved",
    ]  # fmt: skip
    assert table["depth"].tolist() == [2, 2, 2, 4, 4]
    assert table["lambda_p10"].tolist() == [1, 2, 3, 1, 2]


def test_fig05_pairs_losses_with_the_spectra_of_their_run_and_epoch() -> None:
    followed = trajectory([[8, 9], [7, 6], [5, 4], [3, 2]], epochs=(0, 2, 3))
    table = fig05.table(Evidence({}, {("xavier", 16): followed}, {("xavier", 16): spectra((3, 2))}))
    assert list(table.columns) == [
        "network", "run", "epoch", "loss", "gradient_norm", "lambda_max", "lambda_p10", "condition_number", "index",
        "noise_floor", "resolved",
    ]  # fmt: skip
    second = table[table["run"] == 1]
    assert second["epoch"].tolist() == [0, 2, 3]
    assert second["loss"].tolist() == [9.25, 4.25, 2.25]
    assert second["gradient_norm"].tolist() == [90, 40, 20]
    assert second["lambda_p10"].tolist() == [2, 4, 6]


def test_fig07_has_all_rates_and_runs() -> None:
    table = fig07.table(Evidence({("orthogonal", 4): SWEEP}, {}, {}))
    assert list(table.columns) == ["network", "depth", "learning_rate", "run", "final_loss", "optimal_loss"]
    assert table["final_loss"].tolist() == [4.25, 3.25, 1.25, np.inf]
    assert table["run"].tolist() == [0, 1, 0, 1]
    assert set(table["optimal_loss"]) == {0.25}


def test_fig07_takes_the_best_rate_by_mean() -> None:
    rows = [("a", 4, 0.1, 0, 2.0), ("a", 4, 0.1, 1, 2.0), ("a", 4, 0.2, 0, 1.0), ("a", 4, 0.2, 1, np.inf)]
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "final_loss"])
    assert fig07.at_best_rate(table.assign(optimal_loss=0.0))["learning_rate"].unique().tolist() == [0.1]


def test_interpolation_is_linear_in_the_loss_where_half_of_the_runs_have_been() -> None:
    rows = pd.DataFrame(
        {
            "run": [0, 0, 0, 1, 1, 2, 2],
            "epoch": [0, 1, 2, 0, 1, 0, 1],
            "loss": [4.0, 2.0, 1.0, 3.0, 1.5, 9.0, 0.5],
            "value": [40.0, 20.0, 10.0, 300.0, 150.0, 9.0, 0.5],
        }
    )
    losses, values = interpolate_by_loss(rows, "value")
    assert (losses[0], losses[-1]) == (4.0, 1.0), "beyond, only one run of three has been"
    np.testing.assert_allclose(values[0], 10 * losses)
    np.testing.assert_allclose(values[2], losses)
    middle = (losses >= 1.5) & (losses <= 3.0)
    np.testing.assert_allclose(values[1][middle], 100 * losses[middle])
    assert np.isnan(values[1][~middle]).all()


def test_interpolation_skips_steps_up_and_what_is_not_finite() -> None:
    rows = pd.DataFrame(
        {
            "run": [0] * 5,
            "epoch": [0, 1, 2, 3, 4],
            "loss": [4.0, 5.0, 2.0, np.inf, 1.0],
            "value": [4.0, 99.0, 2.0, 99.0, np.nan],
        }
    )
    losses, values = interpolate_by_loss(rows, "value")
    assert (losses[0], losses[-1]) == (4.0, 2.0)
    np.testing.assert_allclose(values[0], losses)


@pytest.mark.parametrize("losses", [[[4.0, 3.0], [2.0, 1.0], [8.0, 6.0]], [[np.inf], [np.inf]]])
def test_runs_without_a_common_loss_have_no_curve(losses: list[list[float]]) -> None:
    rows = pd.concat(
        [
            pd.DataFrame({"run": run, "epoch": range(len(values)), "loss": values, "value": 1.0})
            for run, values in enumerate(losses)
        ]
    )
    grid, values = interpolate_by_loss(rows, "value")
    assert grid.size == 0
    assert values.size == 0
