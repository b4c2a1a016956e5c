"""Oracle: the reference tables with every run diverged. Sees a figure that cannot be drawn where nothing is finite."""

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
