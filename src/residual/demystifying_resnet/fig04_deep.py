"""A figure of our own: Figure 4 to depth 1000, with the theoretical value."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Moments
from residual.demystifying_resnet import fig04
from residual.demystifying_resnet.experiments.results import TrainingResults

DERIVED = fig04.DERIVED
ABOVE = 2.0
"""The line in proportion to depth runs this factor above the orthogonal network's first value, clear of the curve."""


def table(results: TrainingResults) -> pd.DataFrame:
    """Figure 4's columns, and ``theory``: a 2-shortcut network's condition number at zero weights, else missing."""
    rows = fig04.table(results)
    at_zero = condition_number_at_zero(results.moments) if results.moments else np.nan
    return rows.assign(theory=np.where(rows["network"] == "2-shortcut", at_zero, np.nan))


def condition_number_at_zero(moments: Moments) -> float:
    """Condition number of a 2-shortcut network's Hessian at zero weights, for any depth (eqs. 9 and 26).

    The eigenvalues are the singular values of S_XX - S_YX with both signs, each 2 d times in every unit.
    """
    singular = np.linalg.svd(moments.xx - moments.yx, compute_uv=False).repeat(2 * len(moments.xx))
    return float(singular.max() / np.percentile(singular, 10))


def plot(table: pd.DataFrame) -> Figure:
    """Figure 4, with Theorem 2's constant and, above the orthogonal network's curve, growth in proportion to depth.

    Depths with fewer runs say how many.
    """
    figure, axes = fig04.plot_by_depth(table)
    depths = np.array(sorted(table["depth"].unique()))
    known = table["theory"].dropna()
    line: dict[str, Any] = {"color": "0.3", "linewidth": 0.9, "zorder": 1}
    if len(known):
        axes.axhline(known.iloc[0], linestyle="--", **line)
        axes.note("Theorem 2 (zero weights)", (depths[0], known.iloc[0]), (-3, 5))
    orthogonal = table[(table["network"] == "orthogonal") & table["resolved"]]
    if len(orthogonal):
        first = orthogonal["depth"].min()
        start = ABOVE * orthogonal.loc[orthogonal["depth"] == first, "condition_number"].mean()
        axes.plot(depths, start * depths / first, linestyle=":", **line)
        axes.note("∝ depth", (depths[-1], start * depths[-1] / first), (-14, 0), ha="right")
    runs = table.groupby("depth")["run"].nunique()
    for depth in runs.index[runs < runs.max()]:
        axes.note(f"n = {runs[depth]}", (depth, 0.13), xycoords=axes.get_xaxis_transform(), ha="center")
    return figure
