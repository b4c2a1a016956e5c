"""Theorem 1: spectral norms of products of layers at initialisation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, legend_above, panels
from residual.stable_scaling.looks import LAWS, depths_axis, power_look, power_name

BOUNDED = "norm over 1 + c, c = "


def _bounds(table: pd.DataFrame) -> "pd.Series[float]":
    """1 + c, or 0."""
    bounded = table["property"].str.startswith(BOUNDED)
    return (1 + table["property"].str.removeprefix(BOUNDED).where(bounded).astype(float)).fillna(0.0)


DERIVED = {"bound": _bounds, "value": lambda table: table["norm"] / _bounds(table).replace(0.0, 1.0)}


def properties_of(place: Mapping[str, Any]) -> tuple[str, str]:
    """Names of the largest norm and of pairs for a job's coordinates; pairs of networks with a bound have no rows."""
    if "bound" in place:
        return f"{BOUNDED}{place['bound']:g}", ""
    tau = power_name(place["power"])
    return f"largest norm, tau = {tau}", f"norm of a pair, tau = {tau}"


def table(results: Any) -> pd.DataFrame:
    """One row a run: the largest norm over pairs; and, at the greatest depth, one a pair: the largest over runs.

    Columns: property, inputs, width, depth, tau, first (a; -1: all), last (b), run (-1: all), norm, value (the norm,
    over 1 + c where a bound is promised), bound (1 + c; 0: none).
    """
    rows: list[dict[str, Any]] = []
    deepest = max(network.depth for job, _ in results.values() for network in job.networks)
    for where, (job, products) in results.items():
        place = dict(where)
        name, pair = properties_of(place)
        for i, network in enumerate(job.networks):
            shared = {"inputs": place["inputs"], "width": network.width, "depth": network.depth, "tau": network.tau}
            shared |= {"first": -1, "last": -1, "run": -1}
            for run, norm in enumerate(np.nanmax(products.norms[i], axis=1)):
                rows.append(shared | {"property": name, "run": run, "norm": norm})
            if network.depth == deepest and pair:
                for a, b, norm in zip(products.first[i], products.last[i], products.norms[i].max(axis=0), strict=True):
                    if a > 0:
                        rows.append(shared | {"property": pair, "first": a, "last": b, "norm": norm})
    columns = ["property", "inputs", "width", "depth", "tau", "first", "last", "run", "norm", "value", "bound"]
    return pd.DataFrame(rows).assign(**DERIVED)[columns]


def plot(table: pd.DataFrame) -> Figure:
    """a: the largest norm by depth, for a >= 1/2. b: of pairs by the number of layers, at the greatest depth."""
    figure, (by_depth, by_length) = panels("ab", 2.7)
    largest, pairs = table[table["run"] >= 0], table[table["run"] < 0]
    looks = {name: _look(rows.iloc[0]) for name, rows in largest.groupby("property", sort=False)}
    for name, rows in largest.groupby("property", sort=False):
        look, bound = looks[name], rows["bound"].iloc[0]
        if not bound and _power(rows.iloc[0]) < 0.5:  # far beyond the others
            continue
        for inputs, of_law in rows.groupby("inputs", sort=False):
            norms, marker = of_law.groupby("depth")["norm"].max(), LAWS[str(inputs)][0]
            marks = {"marker": marker, "markersize": 3, "markerfacecolor": "none" if inputs == "sphere" else None}
            by_depth.plot(norms.index, norms, **look | marks)
        if bound:
            by_depth.axhline(bound, color=look["color"], linewidth=0.8, linestyle=":")
            at = (largest["depth"].max(), bound)
            by_depth.note(f"$1+c={bound:g}$", at, (0, 2), color=look["color"], ha="right")
    depths_axis(by_depth, sorted(largest["depth"].unique()))
    by_depth.set_ylim(bottom=0.9)
    by_depth.set_ylabel(r"largest norm over $a\leq b$")
    for _, rows in pairs.groupby("property", sort=False):
        length = (rows["last"] - rows["first"] + 1).to_numpy()
        by_length.plot(length, rows["norm"], **_look(rows.iloc[0]) | {"linestyle": "none"})
    by_length.set(xscale="log", yscale="log", ylabel="norm of the product")
    by_length.set_xlabel(f"layers in the product, $b-a+1$, of $L={table['depth'].max()}$")
    legend_above(figure, list(looks.values()), columnspacing=1.2)
    return figure


def _power(row: "pd.Series[float]") -> float:
    """The a of tau = L^-a."""
    return float(round(-np.log(row["tau"]) / np.log(row["depth"]), 6))


def _look(row: "pd.Series[float]") -> dict[str, Any]:
    if not row["bound"]:
        return power_look(_power(row))
    small = row["bound"] < 1.5
    line = (0, (3, 1)) if small else (0, (5, 1, 1, 1))
    return {
        "color": Look.BLACK if small else Look.ORANGE,
        "linestyle": line,
        "label": f"Theorem 1, $c={row['bound'] - 1:g}$",
    }
