"""Theorem 1: spectral norms of products of layers at initialisation."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from resaudit.papers.stable_scaling.looks import COLOURS, LAWS, depths_axis, power_look, power_name
from resaudit.papers.style import annotate, panels, plain_ticks

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
    """a: the largest norm by depth. b: by the number of layers, at the greatest depth."""
    figure, (by_depth, by_length) = panels("ab", 2.7)
    rows, handles = table[table["run"] >= 0], []
    for k, (name, part) in enumerate(rows.groupby("property", sort=False)):
        look = _look(str(name), k)
        handles.append(Line2D([], [], **look))
        for inputs, of_law in part.groupby("inputs", sort=False):
            largest = of_law.groupby("depth")["norm"].max()
            marker, _ = LAWS[str(inputs)]
            filled = "none" if inputs == "sphere" else None
            by_depth.plot(
                largest.index, largest, **look | {"marker": marker, "markersize": 3, "markerfacecolor": filled}
            )
        bound = part["bound"].iloc[0]
        if bound:
            by_depth.axhline(bound, color=look["color"], linewidth=0.8, linestyle=":")
            annotate(by_depth, f"$1+c={bound:g}$", (rows["depth"].min(), bound), (0, 2), color=look["color"])
    depths_axis(by_depth, sorted(rows["depth"].unique()))
    by_depth.set_yscale("log")
    by_depth.set_ylabel(r"largest norm over $a\leq b$")
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), columnspacing=1.2)
    for name, part in table[table["run"] < 0].groupby("property", sort=False):
        look = power_look(float(str(name).removeprefix(f"{PAIR}L^-")))
        length = (part["last"] - part["first"] + 1).to_numpy()
        by_length.plot(length, part["norm"], **look | {"linestyle": "none"})
    by_length.set_xscale("log")
    by_length.set_yscale("log")
    for axes in (by_depth, by_length):
        plain_ticks(axes, [1, 1.5, 2, 3, 5, 10, 20, 50, 100])
    by_length.set_xlabel(f"layers in the product, $b-a+1$, of $L={table['depth'].max()}$")
    by_length.set_ylabel("norm of the product")
    return figure


def _look(name: str, place: int) -> dict[str, Any]:
    if name.startswith(FREE):
        return power_look(float(name.removeprefix(f"{FREE}L^-")))
    c = name.removeprefix(BOUNDED)
    lines: list[Any] = [(0, (3, 1)), (0, (5, 1, 1, 1))]
    return {"color": ["#000000", COLOURS[1]][place % 2], "linestyle": lines[place % 2], "label": f"Theorem 1, $c={c}$"}
