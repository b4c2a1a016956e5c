"""Theorem 1: spectral norms of products of layers at initialisation."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.figures.style import annotate, panels
from residual.stable_scaling.looks import COLOURS, LAWS, depths_axis, power_look, power_name

BOUNDED = "norm over 1 + c, c = "
FREE = "largest norm, tau = "
PAIR = "norm of a pair, tau = "


def table(found: Any) -> pd.DataFrame:
    """One row a run: the largest norm over pairs; and, at the greatest depth, one a pair: the largest over runs.

    Columns: property, inputs, width, depth, tau, first (a; -1: all), last (b), run (-1: all), norm (a lower bound),
    value (the norm with all that Lanczos may lack, over 1 + c where a bound is promised), bound (1 + c; 0: none).
    """
    results, bounds, powers = found
    rows: list[dict[str, Any]] = []
    deepest = max(network.depth for job, _ in results.values() for network in job.networks)
    for where, (job, products) in results.items():
        names = [(f"{BOUNDED}{c:g}", 1 + c) for c in bounds] + [(f"{FREE}{power_name(a)}", 0.0) for a in powers]
        for i, network in enumerate(job.networks):
            name, bound = names[i % len(names)]
            lacking = (1 - products.error[i]) ** -0.5
            shared = {"inputs": dict(where)["inputs"], "width": network.width, "depth": network.depth}
            shared |= {"tau": network.tau, "first": -1, "last": -1, "run": -1, "bound": bound}
            for run, norm in enumerate(np.nanmax(products.norms[i], axis=1)):
                value = norm * lacking / (bound or 1.0)
                rows.append(shared | {"property": name, "run": run, "norm": norm, "value": value})
            if network.depth == deepest and not bound:
                pair = name.replace(FREE, PAIR)
                for a, b, norm in zip(products.first[i], products.last[i], products.norms[i].max(axis=0), strict=True):
                    if a > 0:
                        rows.append(shared | {"property": pair, "first": a, "last": b, "norm": norm, "value": norm})
    columns = ["property", "inputs", "width", "depth", "tau", "first", "last", "run", "norm", "value", "bound"]
    return pd.DataFrame(rows)[columns]


def plot(table: pd.DataFrame) -> Figure:
    """a: the largest norm by depth, for a >= 1/2. b: of pairs by the number of layers, at the greatest depth."""
    figure, (by_depth, by_length) = panels("ab", 2.7)
    _plot_largest(by_depth, table[table["run"] >= 0])
    for name, part in table[table["run"] < 0].groupby("property", sort=False):
        look = power_look(float(str(name).removeprefix(f"{PAIR}L^-")))
        length = (part["last"] - part["first"] + 1).to_numpy()
        by_length.plot(length, part["norm"], **look | {"linestyle": "none"})
    by_length.set_xscale("log")
    by_length.set_yscale("log")
    by_length.set_xlabel(f"layers in the product, $b-a+1$, of $L={table['depth'].max()}$")
    by_length.set_ylabel("norm of the product")
    handles = [Line2D([], [], **_look(str(name))) for name in table.loc[table["run"] >= 0, "property"].unique()]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.2)
    return figure


def _plot_largest(axes: Axes, rows: pd.DataFrame) -> None:
    """The largest norm by depth and kind of inputs, and the bounds that are promised."""
    for name, part in rows.groupby("property", sort=False):
        if _power(str(name)) < 0.5:  # far beyond the others
            continue
        look = _look(str(name))
        for inputs, of_law in part.groupby("inputs", sort=False):
            largest = of_law.groupby("depth")["norm"].max()
            marker, _ = LAWS[str(inputs)]
            own = {"marker": marker, "markersize": 3, "markerfacecolor": "none" if inputs == "sphere" else None}
            axes.plot(largest.index, largest, **look | own)
        bound = part["bound"].iloc[0]
        if bound:
            axes.axhline(bound, color=look["color"], linewidth=0.8, linestyle=":")
            annotate(axes, f"$1+c={bound:g}$", (rows["depth"].max(), bound), (0, 2), color=look["color"], ha="right")
    depths_axis(axes, sorted(rows["depth"].unique()))
    axes.set_ylim(bottom=0.9)
    axes.set_ylabel(r"largest norm over $a\leq b$")


def _power(name: str) -> float:
    """The a of tau = L^-a; infinite where tau is of a bound."""
    return float(name.removeprefix(f"{FREE}L^-")) if name.startswith(FREE) else np.inf


def _look(name: str) -> dict[str, Any]:
    if name.startswith(FREE):
        return power_look(_power(name))
    c = name.removeprefix(BOUNDED)
    small = float(c) < 0.5
    line = (0, (3, 1)) if small else (0, (5, 1, 1, 1))
    return {"color": "#000000" if small else COLOURS[1], "linestyle": line, "label": f"Theorem 1, $c={c}$"}
