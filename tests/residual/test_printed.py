"""Oracle: the papers' own tables, and tables of a smoke run. Sees a number of the wrong row beside a printed one."""

from pathlib import Path

import pandas as pd
import pytest
from matplotlib.text import Text

from resaudit.base.models import validated
from resaudit.figures.drawing import figure_module, plot_of, read_csv
from resaudit.figures.printed import Printed, over_runs
from residual.identity_matters.table2 import beside_the_paper as beside_table2
from residual.stable_scaling.fig_bn import beside_the_paper as beside_bars
from tests.conftest import smoke_figure

TABLES = Path(__file__).parents[1] / "workflow" / "expected"
PRINTED = {
    "shortcut_importance/table1": (21, "CNN, k = 16", 0.5348),
    "identity_matters/table1": (3, "CIFAR, caption of Table 1", 13.5),
}


@pytest.mark.parametrize("name", PRINTED)
def test_each_printed_number_has_ours_of_the_same_row(name: str) -> None:
    figure, table = smoke_figure(name), read_csv(TABLES / f"{name}.csv")
    beside = figure_module(name).beside_the_paper
    given = validated(Printed, {"figure": name, **beside(figure, table)}, name).model_dump()
    count, what, number = PRINTED[name]
    assert len(given["values"]) == count
    assert next(value["printed"] for value in given["values"] if value["what"] == what) == number
    ours = {value["what"]: value["here"] for value in given["values"]}
    if name.startswith("shortcut"):
        row = table[(table["network"] == "cnn") & (table["patches"] == 16)].squeeze()
        assert ours[what] == row["rate"]
        # k that were not run have no number.
        assert sum(number is not None for number in ours.values()) == len(table)
    else:
        assert ours == pytest.approx(
            {what: 13.54, "CIFAR, section 4.1": 13.54, "ImageNet, section 4.2": 21.1}, abs=0.01
        )
    undrawn = beside(figure, None)
    assert [value["here"] for value in undrawn["values"]] == [None] * count
    validated(Printed, {"figure": name, **undrawn}, name)


def test_errors_of_images_are_of_their_own_network_depth_and_data_set() -> None:
    runs = pd.DataFrame({"network": ["batch-norm"] * 2 + ["batch-norm-tau"], "depth": 20, "error": [8.0, 9.0, 7.5]})
    bars = smoke_figure("stable_scaling/fig_bn")
    values = {value["printed"]: value for value in beside_bars(bars, runs)["values"]}
    # With batch norm, at depth 20; with batch norm and tau, at depth 20; with batch norm, at depth 110.
    assert (values[8.08]["here"], values[8.08]["n"]) == (8.5, 2)
    assert (values[7.89]["here"], values[7.89]["n"]) == (7.5, 1)
    assert values[6.61]["here"] is None
    for name, error in (("table2", 6.38), ("table2_cifar100", 24.64)):
        values = beside_table2(smoke_figure(f"identity_matters/{name}"), runs)["values"]
        assert [(value["printed"], value["n"]) for value in values if value["here"] is not None] == [(error, 3)]


@pytest.mark.parametrize(
    ("name", "override", "number"),
    [
        ("stable_scaling/fig_bn", "published.batch-norm.20=4.56", 4.56),
        ("identity_matters/table2", "published.CIFAR-10.ResNet=4.56", 4.56),
        ("identity_matters/fig01_cifar100", "seed=1", 24.64),
    ],
)
def test_a_plot_draws_the_published_numbers_of_its_yaml(name: str, override: str, number: float) -> None:
    losses = dict.fromkeys(["train_loss", "test_loss", "train_error", "test_error"], 1.0)
    runs = {"network": ["batch-norm"] * 2, "depth": 20, "run": [0, 1], "step": [1, 2], "error": [8.0, 9.0], **losses}
    drawing = plot_of(smoke_figure(name, override), pd.DataFrame(runs))
    lines = [value for axes in drawing.axes for line in axes.lines for value in line.get_ydata()]
    assert number in lines or any(str(number) in text.get_text() for text in drawing.findobj(Text))


def test_arithmetic_finds_the_papers_one_impossible_number() -> None:
    """21 rates of 5000 simulations and four errors can be; 13.59 million cannot be what Table 1's network counts to."""
    impossible = []
    for name in ("shortcut_importance/table1", "identity_matters/table1", "identity_matters/table2"):
        path, figure = TABLES / f"{name}.csv", smoke_figure(name)
        beside = figure_module(name).beside_the_paper(figure, read_csv(path) if path.is_file() else None)
        numbers = validated(Printed, {"figure": name, **beside}, name).model_dump()["values"]
        assert all(number["examined"] for number in numbers if number["printed"] != 35.7)
        impossible += [number["printed"] for number in numbers if number["consistent"] is False]
    assert impossible == [13.59]


def test_one_run_has_no_spread() -> None:
    assert over_runs(pd.Series([2.0])) == {"here": 2.0, "low": None, "high": None, "n": 1}
    assert over_runs(pd.Series([], dtype=float)) == {"here": None}
