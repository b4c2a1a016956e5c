"""Oracle: the reference tables with diverged runs. Sees a figure that cannot be drawn where nothing is finite.

It also sees a curve without a name where one run has diverged.
"""

import numpy as np
import pandas as pd
import pytest

from resaudit.figures.drawing import figure_module, lay_out, read_csv
from resaudit.figures.style import apply_style
from tests.conftest import CHECKOUT

INFINITE = ["loss", "excess_loss", "final_loss", "gradient_norm", "mean_frobenius_norm", "error", "test_error"]
MISSING = ["lambda_max", "lambda_p10", "condition_number", "index", "noise_floor"]
"""Columns of a diverged run that are infinite, and those that have no value."""
FIRST, FOURTH = "demystifying_resnet", "stable_scaling"
FIGURES = [
    *[(FIRST, name) for name in ("fig03", "fig04", "fig04_deep", "fig05", "fig06", "fig07", "fig08", "shortcut1")],
    *[(FIRST, name) for name in ("fig02-cifar10_jpeg", "shortcut_depths")],
    *[(FOURTH, name) for name in ("training", "map", "table3-cifar10_jpeg")],
]
ALONG_TRAINING = [(FIRST, name) for name in ("fig03", "fig05", "fig06", "shortcut1")]


def diverged(table: pd.DataFrame, first: int) -> pd.DataFrame:
    """A table of which every run has diverged from some epoch on."""
    gone = table["epoch"] >= first if "epoch" in table else pd.Series(True, index=table.index)
    values = dict.fromkeys(INFINITE, np.inf) | dict.fromkeys(MISSING, np.nan) | {"resolved": False}
    return table.assign(**{name: table[name].mask(gone, to) for name, to in values.items() if name in table})


@pytest.mark.parametrize(
    ("paper", "name", "first"), [(*each, 0) for each in FIGURES] + [(*each, 1) for each in ALONG_TRAINING]
)
def test_a_figure_of_which_every_run_diverged_is_drawn(paper: str, name: str, first: int) -> None:
    table = read_csv(CHECKOUT / "figures" / "reference" / paper / f"{name}.csv")
    apply_style()
    with np.errstate(all="ignore"):
        lay_out(figure_module(f"{paper}/{name.split('-')[0]}").plot(diverged(table, first)))


def test_a_curve_that_ends_where_one_run_diverges_has_its_name_there() -> None:
    table = read_csv(CHECKOUT / "figures" / "reference" / FIRST / "fig03.csv")
    one = (table["depth"] == 16) & (table["run"] == table.loc[table["shown"], "run"].max()) & (table["epoch"] > 20)
    apply_style()
    with np.errstate(all="ignore"):
        figure = figure_module(f"{FIRST}/fig03").plot(
            table.assign(mean_frobenius_norm=table["mean_frobenius_norm"].mask(one, np.inf))
        )
    named = {text.get_text(): text.xy for text in figure.axes[0].texts}
    assert set(named) == {f"depth {depth}" for depth in (4, 8, 16, 32, 64, 96)}
    (curve,) = (line for line in figure.axes[0].lines if line.get_label() == "16")
    points = np.column_stack(curve.get_data())
    assert named["depth 16"] == tuple(points[points[:, 0] <= 20][-1])
    assert np.isfinite(named["depth 16"]).all()
