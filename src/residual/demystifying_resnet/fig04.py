"""Figure 4: initial condition number of the Hessian against depth."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Panel, panels
from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.figures import SPECTRAL, long_table, look, network_legend

DERIVED = SPECTRAL | {
    # The same multiple of lambda_max in all Hessians of one size.
    "noise_floor": lambda table: (
        table["lambda_max"]
        * (table["noise_floor"] / table["lambda_max"]).groupby([table["network"], table["depth"]]).transform("median")
    ),
}


def table(results: TrainingResults) -> pd.DataFrame:
    """Columns: network, depth, run, lambda_max, lambda_p10, condition_number, noise_floor, resolved."""

    def rows(key: tuple[str, int]) -> pd.DataFrame:
        spectra = results.spectra[key]
        rows = pd.DataFrame({name: getattr(spectra, name)[0] for name in ("lambda_max", "lambda_p10", "noise_floor")})
        rows = rows.assign(**SPECTRAL)[["lambda_max", "lambda_p10", "condition_number", "noise_floor", "resolved"]]
        return rows.rename_axis("run").reset_index()

    return long_table(results.spectra, rows)


def plot(table: pd.DataFrame) -> Figure:
    """:func:`plot_by_depth`; in the inset, the 2-shortcut network relative to its least depth, within 2 %."""
    figure, axes = plot_by_depth(table)
    _plot_inset(axes, table[(table["network"] == "2-shortcut") & table["resolved"]])
    return figure


def plot_by_depth(table: pd.DataFrame) -> tuple[Figure, Panel]:
    """Geometric mean and standard deviation over runs, at depths where double precision resolves every run.

    The shaded zone begins at lambda_max / noise_floor; an open marker in it is a depth with an unresolved run.
    """
    figure, (axes,) = panels("a", 2.9)
    limit = (table["lambda_max"] / table["noise_floor"]).groupby(table["depth"]).median()
    for network, rows in table.groupby("network", sort=False):
        style, centre, known = look(str(network)), _centres(rows), rows.groupby("depth")["resolved"].all()
        _plot_spread(axes, centre[known], style)
        unknown = known.index[~known]
        axes.plot(unknown, np.full(len(unknown), 5 * limit.max()), linestyle="none", color=style["color"],
                  marker=style["marker"], fillstyle="none")  # fmt: skip
    axes.set(yscale="log", ylabel=r"condition number $|\lambda|_{\max}\,/\,|\lambda|_{(0.1)}$")
    axes.depth_axis(sorted(table["depth"].unique()))
    if not table["resolved"].all() and limit.notna().any():
        shallow, deep = axes.get_xlim()
        edges, top = limit.iloc[[0, *range(len(limit)), -1]], 30 * limit.max()
        axes.fill_between([shallow, *limit.index, deep], edges, top, color="0.88", linewidth=0, zorder=0)
        axes.set_xlim(shallow, deep)
        axes.set_ylim(top=top)
        at = (0.03, 5 * limit.max())
        axes.note("beyond double precision", at, xycoords=axes.get_yaxis_transform(), va="center")
    network_legend(figure, table["network"].unique())
    return figure, axes


def _centres(rows: pd.DataFrame) -> pd.DataFrame:
    """By depth: geometric mean, and the factor of one geometric standard deviation."""
    by_depth = np.log(rows["condition_number"]).groupby(rows["depth"])
    return pd.DataFrame({"mean": np.exp(by_depth.mean()), "factor": np.exp(by_depth.std(ddof=1).fillna(0.0))})


def _plot_spread(axes: Panel, centre: pd.DataFrame, style: Mapping[str, Any]) -> None:
    mean, factor = centre["mean"], centre["factor"]
    axes.errorbar(centre.index, mean, yerr=[mean - mean / factor, mean * factor - mean], capsize=2, **style)


def _plot_inset(axes: Panel, rows: pd.DataFrame) -> None:
    if rows["depth"].nunique() < 2:
        return
    inset, centre = axes.inset((0.68, 0.4, 0.3, 0.25)), _centres(rows)
    style = look("2-shortcut")
    _plot_spread(inset, centre.assign(mean=centre["mean"] / centre["mean"].iloc[0]), style)
    inset.depth_axis([rows["depth"].min(), rows["depth"].max()])
    inset.set(ylim=(0.98, 1.02), xlabel="")
    inset.set_yticks([0.98, 1, 1.02], ["−2 %", "0", "+2 %"])
    inset.set_title(f"{style['label']}, relative", fontsize=7, pad=2)
    inset.tick_params(labelsize=6.5)
