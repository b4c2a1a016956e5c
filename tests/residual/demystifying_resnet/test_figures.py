"""Oracle: the issue's columns and hand-made trajectories. Sees swapped axes, lost runs, a mean over the wrong thing."""

import dataclasses
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from resaudit.data.whiten import Moments
from resaudit.figures.drawing import read_csv, write_csv
from resaudit.figures.sweeps import Stage
from residual.demystifying_resnet import fig03, fig04, fig04_deep, fig05, fig06, fig07, fig08, shortcut_depths
from residual.demystifying_resnet.experiments.results import Block, TrainingResults
from residual.demystifying_resnet.fig05 import _by_loss
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.networks.trajectory import Trajectory

RATES = np.array([0.1, 0.1, 0.2, 0.2])


def trajectory(excess: list[list[float]], epochs: tuple[int, ...] = ()) -> Trajectory:
    losses = np.array(excess)
    return Trajectory(
        learning_rate=RATES[: losses.shape[1]], baseline_loss=np.array(0.25), excess_loss=losses,
        gradient_norm=losses * 10, mean_frobenius_norm=losses * 100, snapshot_epochs=np.array(epochs, dtype=int),
        snapshots=np.empty(0),
    )  # fmt: skip


def confirmed(*blocks: Block, rates: tuple[float, ...] = (0.1,), counted: str = "beyond_noise") -> TrainingResults:
    """The results of Figures 5 and 6 for Xavier at depth 16."""
    key = ("xavier", 16)
    return TrainingResults(
        blocks={key: blocks}, rates={key: rates}, eigenvalues={key: 1600}, negative_eigenvalues=counted
    )


def spectra(shape: tuple[int, int]) -> Spectra:
    values = np.arange(shape[0] * shape[1], dtype=float).reshape(shape) + 1
    return Spectra(
        values * 8, values, np.full(shape, 8.0), values / 100, values / 50, values / 70, values * 1e-15, values > 0
    )


def screening(table: pd.DataFrame) -> pd.DataFrame:
    """A made table as of a sweep without a confirmation."""
    return table.assign(stage=Stage.SCREENING)


SWEEP = trajectory([[8, 8, 8, 8], [4, 3, 1, np.inf]])


def test_fig03_has_every_run_and_epoch_at_the_rate_shown_and_at_those_tied_with_it() -> None:
    table = fig03.table(TrainingResults({("2-shortcut", 4): SWEEP}, rates={("2-shortcut", 4): (0.1, 0.2)}))
    assert list(table.columns) == [
        "network", "depth", "stage", "learning_rate", "shown", "run", "epoch", "mean_frobenius_norm",
    ]  # fmt: skip
    assert set(table["stage"]) == {"screening"}
    assert table["mean_frobenius_norm"].tolist() == [800, 400, 800, 300, 800, 100, 800, np.inf]
    assert table["run"].tolist() == [0, 0, 1, 1] * 2
    assert table["shown"].tolist() == [True] * 4 + [False] * 4


def test_fig04_has_a_row_for_each_run() -> None:
    table = fig04.table(TrainingResults(spectra={("xavier", 2): spectra((1, 3)), ("xavier", 4): spectra((1, 2))}))
    assert list(table.columns) == [
        "network", "depth", "run", "lambda_max", "lambda_p10", "condition_number", "noise_floor", "resolved",
    ]  # fmt: skip
    assert table["depth"].tolist() == [2, 2, 2, 4, 4]
    assert table["lambda_p10"].tolist() == [1, 2, 3, 1, 2]


def test_fig05_pairs_losses_with_the_spectra_of_their_run_and_epoch() -> None:
    followed = trajectory([[8, 9], [7, 6], [5, 4], [3, 2]], epochs=(0, 2, 3))
    table = fig05.table(confirmed(Block(10, followed, spectra((3, 2)))))
    assert list(table.columns) == [
        "network", "learning_rate", "shown", "stage", "run", "epoch", "loss", "excess_loss", "gradient_norm",
        "lambda_max", "lambda_p10", "condition_number", "index", "eigenvalues", "noise_floor", "resolved",
    ]  # fmt: skip
    assert set(table["eigenvalues"]) == {1600}
    assert set(table["stage"]) == {"confirmation"}
    second = table[table["run"] == 11]
    assert second["epoch"].tolist() == [0, 2, 3]
    assert second["loss"].tolist() == [9.25, 4.25, 2.25]
    assert second["excess_loss"].tolist() == [9, 4, 2]
    assert second["gradient_norm"].tolist() == [90, 40, 20]
    assert second["lambda_p10"].tolist() == [2, 4, 6]


def test_fig05_has_the_runs_of_every_rate_that_is_followed_the_shown_one_first() -> None:
    followed = dataclasses.replace(
        trajectory([[8, 9, 7, 6], [5, 4, 3, np.inf]], epochs=(0, 1)), learning_rate=np.array([0.2, 0.2, 0.1, 0.1])
    )
    table = fig05.table(confirmed(Block(10, followed, spectra((2, 4))), rates=(0.2, 0.1)))
    assert table["learning_rate"].tolist() == [0.2] * 4 + [0.1] * 4
    assert table["shown"].tolist() == [True] * 4 + [False] * 4
    assert table["run"].tolist() == [10, 10, 11, 11] * 2
    assert table["loss"].tolist() == [8.25, 5.25, 9.25, 4.25, 7.25, 3.25, 6.25, np.inf]
    assert table["lambda_p10"].tolist() == [1, 5, 2, 6, 3, 7, 4, 8]


def test_fig05_has_the_last_epoch_of_the_other_fresh_runs_and_no_rate_that_these_leave_worse() -> None:
    along = trajectory([[8, 9, 7, 6], [5, 4, 3, 2]], epochs=(0, 1))
    ends = trajectory([[8, 9, 7, 6], [5, 4, 3, 2]], epochs=(1,))
    blocks = Block(10, along, spectra((2, 4))), Block(12, ends, spectra((1, 4)))
    table = fig05.table(confirmed(*blocks, rates=(0.2,)))
    assert set(table["learning_rate"]) == {0.2}
    assert table["run"].tolist() == [10, 10, 11, 11, 12, 13]
    assert table["epoch"].tolist() == [0, 1, 0, 1, 1, 1]
    assert table["lambda_p10"].tolist() == [3, 7, 4, 8, 3, 4]


def test_fig07_has_all_rates_and_runs() -> None:
    table = fig07.table(TrainingResults({("orthogonal", 4): SWEEP}))
    assert list(table.columns) == [
        "network", "depth", "stage", "learning_rate", "run", "final_loss", "optimal_loss", "initial_loss",
        "excess_loss",
    ]  # fmt: skip
    assert set(table["stage"]) == {"screening"}
    assert table["excess_loss"].tolist() == [4, 3, 1, np.inf]
    assert table["final_loss"].tolist() == [4.25, 3.25, 1.25, np.inf]
    assert table["run"].tolist() == [0, 1, 0, 1]
    assert set(table["optimal_loss"]) == {0.25}


def test_interpolation_is_linear_in_the_loss_where_half_of_the_runs_have_been() -> None:
    rows = pd.DataFrame(
        {
            "run": [0, 0, 0, 1, 1, 2, 2],
            "epoch": [0, 1, 2, 0, 1, 0, 1],
            "loss": [4.0, 2.0, 1.0, 3.0, 1.5, 9.0, 0.5],
            "value": [40.0, 20.0, 10.0, 300.0, 150.0, 9.0, 0.5],
        }
    )
    losses, values = _by_loss(rows, "value")
    # Beyond, only one run of three has been.
    assert (losses[0], losses[-1]) == (4.0, 1.0)
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
    losses, values = _by_loss(rows, "value")
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
    grid, values = _by_loss(rows, "value")
    assert grid.size == 0
    assert values.size == 0


def drawn_values(figure: Figure) -> np.ndarray:
    """All y values of lines and bars, whatever axes they are on."""
    lines = [np.asarray(line.get_ydata(), dtype=float) for axes in figure.axes for line in axes.get_lines()]
    return np.concatenate([line for line in lines if len(line)])


def test_fig04_never_draws_an_unresolved_condition_number_as_known() -> None:
    rows = [("xavier", depth, run, 10.0, 1e-15, 1e16, 1e-12, False) for depth in (32, 64) for run in (0, 1)]
    rows += [("xavier", 2, run, 10.0, 2.0, 5.0, 1e-14, True) for run in (0, 1)]
    columns = ["network", "depth", "run", "lambda_max", "lambda_p10", "condition_number", "noise_floor", "resolved"]
    figure = fig04.plot(pd.DataFrame(rows, columns=columns))
    values = drawn_values(figure)
    assert np.isclose(values, 5.0).any()
    assert 1e16 not in values
    (zone,) = [c for c in figure.axes[0].collections if isinstance(c, PolyCollection)]
    edge = zone.get_paths()[0].vertices[:, 1].min()
    # What can be said: at least lambda_max / noise_floor.
    assert edge == 10.0 / 1e-12
    (open_markers,) = [line for line in figure.axes[0].get_lines() if line.get_fillstyle() == "none"]
    assert open_markers.get_xdata().tolist() == [32, 64]
    assert min(open_markers.get_ydata()) > edge


def test_fig04_deep_draws_theorem_2s_constant_and_growth_with_depth(moments: Moments) -> None:
    keys = [("2-shortcut", 16), ("orthogonal", 16), ("orthogonal", 32)]
    table = fig04_deep.table(TrainingResults(spectra={key: spectra((1, 2)) for key in keys}, moments=moments))
    singular = np.linalg.svd(moments.xx - moments.yx, compute_uv=False).repeat(20 * 500)
    constant = singular.max() / np.percentile(singular, 10)
    assert table["theory"].notna().tolist() == [True] * 2 + [False] * 4
    assert table["theory"].dropna().unique() == pytest.approx([constant])
    table["condition_number"] = [3.0, 3.0, 8.0, 8.0, 20.0, 20.0]
    values = drawn_values(fig04_deep.plot(table.assign(resolved=True)))
    assert np.isclose(values, constant, rtol=1e-12).any()
    # 8 at depth 16 grows in proportion to depth.
    assert 16.0 * fig04_deep.ABOVE in values


def along_training(resolved: list[bool]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "network": "2-shortcut", "shown": True, "run": 0, "epoch": [0, 1, 2], "loss": [4.5, 2.5, 1.5],
            "excess_loss": [4.0, 2.0, 1.0], "gradient_norm": [1.0, 10.0, 0.1], "lambda_max": 7.0,
            "lambda_p10": [0.5, 0.25, 1e-20],
            "condition_number": 1.0, "index": [0.5, 0.25, 0.125], "noise_floor": 1e-13, "resolved": resolved,
        }
    )  # fmt: skip


def test_fig05_leaves_unresolved_percentiles_out() -> None:
    assert drawn_values(fig05.plot(along_training([True, True, True]))).min() == pytest.approx(1e-20)
    assert drawn_values(fig05.plot(along_training([True, True, False]))).min() == pytest.approx(0.25)


def test_fig06_draws_index_and_gradient_of_one_run_and_marks_its_peak() -> None:
    _, index, gradient = fig06.plot(along_training([True, True, True])).axes
    np.testing.assert_allclose(index.get_lines()[0].get_ydata(), [0.25, 0.125])
    np.testing.assert_allclose(gradient.get_lines()[0].get_ydata(), [10, 0.1])
    assert [list(axes.get_lines()[1].get_xdata()) for axes in (index, gradient)] == [[1, 1]] * 2


def test_a_curve_against_the_loss_ends_where_the_first_run_does() -> None:
    runs = [along_training([True] * 3).assign(run=run) for run in (0, 1)]
    runs[1] = runs[1][runs[1]["epoch"] < 2]
    curve = fig06.plot(pd.concat(runs)).axes[0].get_lines()[0]
    assert (max(curve.get_xdata()), min(curve.get_xdata())) == (4.0, 2.0)


@pytest.mark.parametrize("module", [fig05, fig06])
def test_figures_along_training_draw_a_network_that_diverged_at_once(module: ModuleType) -> None:
    diverged = along_training([False] * 3).assign(
        network="xavier", loss=np.inf, excess_loss=np.inf, lambda_p10=np.nan, index=np.nan
    )
    figure = module.plot(pd.concat([along_training([True] * 3), diverged]))
    assert np.isfinite(drawn_values(figure)).all()


def test_fig07_draws_the_mean_distance_and_every_run() -> None:
    rows = [("2-shortcut", 4, 0.1, 0, 0.35), ("2-shortcut", 4, 0.1, 1, 0.37), ("2-shortcut", 4, 1.0, 0, np.inf),
            ("2-shortcut", 4, 1.0, 1, 0.34)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "final_loss"])
    left = fig07.plot(screening(table.assign(excess_loss=table["final_loss"] - 0.34))).axes[0]
    mean, runs, of_the_screening = (line.get_ydata() for line in left.get_lines())
    assert len(of_the_screening) == 0
    np.testing.assert_allclose(mean, [0.02])
    np.testing.assert_allclose(runs, [0.01, 0.03])
    assert left.get_yscale() == "log"


def test_every_column_holds_what_it_says() -> None:
    made = spectra((3, 2))
    made = dataclasses.replace(
        made, condition_number=made.lambda_max / made.lambda_p10, resolved=made.lambda_p10 > made.noise_floor
    )
    followed = trajectory([[8, 9], [7, 6], [5, 4], [3, 2]], epochs=(0, 2, 3))
    along = fig05.table(confirmed(Block(0, followed, made)))
    initial = fig04.table(TrainingResults(spectra={("xavier", 2): made}))
    for column in ("lambda_max", "lambda_p10", "condition_number", "index", "noise_floor", "resolved"):
        values = getattr(made, column)
        assert along[along["run"] == 1][column].tolist() == values[:, 1].tolist()
        assert column == "index" or initial[column].tolist() == values[0].tolist()
    for counting, column in (("every", "raw_index"), ("sizeable", "sizeable_index"), ("beyond_noise", "index")):
        counted = fig06.table(confirmed(Block(0, followed, made), counted=counting))
        assert counted[counted["run"] == 1]["index"].tolist() == getattr(made, column)[:, 1].tolist()


def test_a_csv_gives_every_bit_back(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random(1000) * 10.0 ** np.arange(-20, 20).repeat(25)
    write_csv(tmp_path / "table.csv", pd.DataFrame({"x": values}))
    assert read_csv(tmp_path / "table.csv")["x"].tolist() == values.tolist()


TEXTS = [
    ["None", "other"], ["NA", "N/A"], ["null", "nan"], ["007", "7"], ["True", "False"], ["1e5", "inf"], ["-0", "1_000"],
    ["0x10", " 7"], ["007", None], ["<NA>", "#N/A"], ["plain", "4"], ["a,b", 'c"d'],
]  # fmt: skip


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("name", ["network", "a name", "größe"])
def test_text_in_a_csv_stays_text(name: str, texts: list[str | None], tmp_path: Path) -> None:
    """Sees a name of a network or property that is read as a number, as true, or as nothing."""
    table = pd.DataFrame({"before": [1, 2], name: texts, "x, y": [0.1, np.nan], "over": [np.inf, 3.0]})
    write_csv(tmp_path / "table.csv", table)
    pd.testing.assert_frame_equal(read_csv(tmp_path / "table.csv"), table)
    again = read_csv(tmp_path / "table.csv")
    write_csv(tmp_path / "again.csv", again)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "table.csv").read_bytes()


def test_a_csv_without_such_text_is_as_pandas_writes_it(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {"network": ["2-shortcut", None], "odd, name": [1, 2], "flag": [True, False], "x": [0.1, None]}
    )
    table["count"] = pd.Series([1, None], dtype=object)
    write_csv(tmp_path / "table.csv", table)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == table.to_csv(index=False)


def test_fig04_draws_geometric_mean_and_spread_and_no_depth_with_an_unresolved_run() -> None:
    rows = [("xavier", 2, run, 10.0, 2.0, value, 1e-14, True) for run, value in enumerate((1.0, 2.0, 6.0))]
    rows += [("xavier", 4, run, 10.0, 2.0, 77.0, 1e-14, run == 0) for run in range(3)]
    columns = ["network", "depth", "run", "lambda_max", "lambda_p10", "condition_number", "noise_floor", "resolved"]
    figure = fig04.plot(pd.DataFrame(rows, columns=columns))
    mean, factor = np.exp(np.log([1, 2, 6]).mean()), np.exp(np.log([1, 2, 6]).std(ddof=1))
    assert np.isclose(drawn_values(figure), mean).any()
    assert 77.0 not in drawn_values(figure)
    (bars,) = figure.axes[0].containers
    (segment,) = bars.lines[2][0].get_segments()
    np.testing.assert_allclose(segment[:, 1], [mean / factor, mean * factor])


def band(axes: Axes) -> tuple[float, float]:
    """Lower and upper end of the first band."""
    vertices = axes.collections[0].get_paths()[0].vertices[:, 1]
    return vertices.min(), vertices.max()


def test_fig03_draws_mean_and_standard_deviation() -> None:
    rows = {"network": "2-shortcut", "depth": 4, "run": [0, 1, 2], "epoch": 7, "mean_frobenius_norm": [1.0, 2.0, 6.0]}
    other_rate = pd.DataFrame(rows | {"mean_frobenius_norm": 99.0, "shown": False})
    axes = fig03.plot(pd.concat([pd.DataFrame(rows | {"shown": True}), other_rate])).axes[0]
    assert axes.get_lines()[0].get_ydata().tolist() == [3.0]
    assert band(axes) == pytest.approx((3 - 7**0.5, 3 + 7**0.5))


def final_losses(losses: dict[float, tuple[float, ...]]) -> pd.DataFrame:
    rows = [("xavier", 4, rate, run, loss) for rate, runs in losses.items() for run, loss in enumerate(runs)]
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "final_loss"])
    return screening(table.assign(excess_loss=table["final_loss"]))


def test_fig07_draws_the_shown_rate_with_those_tied() -> None:
    worse, diverged = (970.0, 980.0, 1020.0), (np.inf,) * 3
    left, right = fig07.plot(
        final_losses({0.2: (1.0, 2.0, 6.0), 0.1: (1.0, 2.0, 6.0), 0.01: worse, 0.3: diverged})
    ).axes
    assert left.get_lines()[0].get_ydata()[0] == pytest.approx(3)
    tied, shown = right.get_lines()
    # Of equal rates the lower one.
    assert shown.get_ydata().tolist() == [0.1]
    assert list(tied.get_ydata()) == [0.1, 0.2]


@pytest.mark.parametrize(
    ("tied", "others", "drawn"), [((0.1, 0.3), (0.01, 1.0), "solid"), ((0.01, 0.3), (0.001, 1.0), "open"),
                                  ((0.01, 0.1), (), "any")]
)  # fmt: skip
def test_a_rate_that_the_sweep_does_not_determine_is_open_and_one_among_all_is_any(
    tied: tuple[float, ...], others: tuple[float, ...], drawn: str
) -> None:
    losses = dict.fromkeys(tied, (1.0, 2.0, 6.0)) | dict.fromkeys(others, (970.0, 980.0, 1020.0))
    rates = fig07.plot(final_losses(losses)).axes[1]
    _, *markers = [line for line in rates.get_lines() if len(line.get_xdata())]
    found = {"open" if line.get_markerfacecolor() == "white" else "solid" for line in markers}
    assert found | {text.get_text() for text in rates.texts} == {drawn}


def test_fig05_and_fig06_draw_means_over_runs() -> None:
    runs = pd.concat(
        [along_training([True] * 3).assign(run=run, lambda_max=10.0**run, index=index)
         for run, index in enumerate((0.1, 0.2, 0.6))]
    )  # fmt: skip
    largest = fig05.plot(runs).axes[0].get_lines()[0]
    np.testing.assert_allclose(largest.get_ydata(), 10.0)
    left = fig06.plot(runs).axes[0]
    np.testing.assert_allclose(left.get_lines()[0].get_ydata(), 0.3)
    assert band(left)[1] == pytest.approx(0.3 + np.std([0.1, 0.2, 0.6]))


@pytest.mark.parametrize("module", [fig05, fig06])
def test_runs_without_the_whole_training_are_not_drawn(module: ModuleType) -> None:
    whole = along_training([True] * 3)
    ends = [whole[whole["epoch"] == 2].assign(run=run, loss=9.5, excess_loss=9.0, index=0.4) for run in (1, 2, 3)]
    alone, beside = (drawn_values(module.plot(table)) for table in (whole, pd.concat([whole, *ends])))
    np.testing.assert_array_equal(beside, alone)


def test_fig05_marks_the_noise_floor_where_it_hides_the_percentile() -> None:
    table = along_training([True, True, False])
    diverges = table.assign(
        run=1, loss=[4.5, 1e5, np.inf], excess_loss=[4.0, 1e5, np.inf], resolved=[True, False, False]
    )
    axes = fig05.plot(pd.concat([table, diverges])).axes[0]
    assert axes.collections[-1].get_offsets().tolist() == [[1.0, 1e-13]]


def test_fig05_shades_the_losses_at_which_the_first_network_is_the_worse() -> None:
    better = along_training([True] * 3).assign(network="xavier", condition_number=[0.5, 0.5, 4.0])
    shaded = fig05.plot(pd.concat([along_training([True] * 3), better])).axes[1].collections[-1]
    edges = shaded.get_paths()[0].vertices[:, 0]
    assert edges.max() == 4.0
    assert edges.min() == pytest.approx(2 - 0.5 / 3.5, abs=0.01)


def test_fig07_marks_a_best_rate_at_the_edge_of_the_grid() -> None:
    rows = [("xavier", depth, rate, run, abs(np.log10(rate) + 3 - depth) * (1 + run / 100) + 1e-3)
            for depth in (0, 1) for rate in (1e-3, 1e-2, 1e-1) for run in (0, 1, 2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "excess_loss"])
    right = fig07.plot(screening(table)).axes[1]
    open_markers = [line for line in right.get_lines() if line.get_markerfacecolor() == "white"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in open_markers] == [(0, 1e-3)]


def test_fig08_knows_no_optimal_loss() -> None:
    table = fig08.table(TrainingResults({("orthogonal-relu", 4): SWEEP}, {}, {}))
    assert table.columns.tolist() == ["network", "depth", "stage", "learning_rate", "run", "final_loss"]
    assert table["final_loss"].tolist() == [4.25, 3.25, 1.25, np.inf]


def test_fig08_draws_the_mean_final_loss_and_that_of_the_output_zero() -> None:
    rows = [("xavier-relu", 4, 0.1, run, loss) for run, loss in enumerate((0.01, 0.03))]
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "final_loss"])
    drawn = fig08.plot(screening(table))
    np.testing.assert_allclose(drawn_values(drawn)[:5], [0.02, 0.01, 0.03, 0.5, 0.5])
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["Xavier-ReLU"]


def test_fig03_draws_a_panel_for_each_network_and_one_colour_a_depth() -> None:
    rows = [
        (network, depth, 0, epoch, depth + epoch)
        for network, depths in {"2-shortcut": (4, 8, 16), "2-shortcut-relu": (4, 16)}.items()
        for depth in depths
        for epoch in (0, 1, 2)
    ]
    columns = ["network", "depth", "run", "epoch", "mean_frobenius_norm"]
    left, right = fig03.plot(pd.DataFrame(rows, columns=columns).assign(shown=True)).axes
    assert [left.get_title(), right.get_title()] == ["2-Shortcut, linear", "2-Shortcut-ReLU"]
    colours = {curve.get_label(): curve.get_color() for curve in left.get_lines()}
    drawn = {curve.get_label(): curve.get_color() for curve in right.get_lines()[:2]}
    assert drawn == {depth: colours[depth] for depth in ("4", "16")}
    assert [text.get_text() for text in right.texts] == ["depth 4", "depth 16"]


def test_shortcut_depths_draws_curves_of_the_greatest_depth_and_final_losses_of_all() -> None:
    rows = [
        (network, depth, 0.1, run, epoch, depth * (4.0 - epoch))
        for network in ("2-shortcut", "3-shortcut")
        for depth in (12, 24)
        for run in (0, 1)
        for epoch in (0, 1, 2)
    ]
    columns = ["network", "depth", "learning_rate", "run", "epoch", "excess_loss"]
    along, losses, _ = shortcut_depths.plot(screening(pd.DataFrame(rows, columns=columns))).axes
    assert [line.get_ydata().tolist() for line in along.get_lines()[:2]] == [[72, 48]] * 2
    assert losses.get_lines()[0].get_ydata().tolist() == [24, 48]
