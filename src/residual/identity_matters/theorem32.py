"""Theorem 3.2: a network that gives every image its label, layer by layer, and what it needs."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures.style import BLACK, BLUE, GREEN, RED, panels, print_rows
from residual.identity_matters.jobs.express import Express
from residual.identity_matters.relu.measured import Expressed

JOHNSON_LINDENSTRAUSS = 10
"""c of k = c log n / rho^2: appendix B says that 10 works."""
NO_CASE = {
    "points": "none", "samples": -1, "width": -1, "projection": "none", "normalized": -1, "share": -1.0,
    "precision": "none", "labels": "none", "layer": -1, "draw": -1, "constant": -1.0, "tolerance": -1.0, "error": -1.0,
}  # fmt: skip
BOUNDS = {"double": ":", "single": "--"}


def table(found: Mapping[str, tuple[Any, Any]]) -> pd.DataFrame:
    """Rows of measurements; -1 or ``none`` where a column does not apply.

    Columns: part (network, narrow, widths, shares, lemma), property, points, samples (n), width (k), projection,
    normalized, share (rho' / rho), precision, labels, layer, draw, constant (c of the lemma's condition), value, error,
    tolerance. ``wrong`` counts points, ``remaining`` too; ``moved error`` and ``disturbance`` are distances; ``output``
    has the largest error of a coordinate with its tolerance.
    """
    frames = []
    for part, (job, result) in found.items():
        if isinstance(job, Express):
            frame = pd.DataFrame([NO_CASE | row for row in _expressed(part, job, result)])
        else:
            frame = pd.DataFrame(NO_CASE | dataclasses.asdict(result))
            frame = frame.assign(share=frame.pop("margin"), value=frame["error"])
        frames.append(frame.assign(part=part))
    return pd.concat(frames, ignore_index=True)


def _expressed(part: str, job: Express, got: Expressed) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    settings = [dataclasses.asdict(case) | {"normalized": int(case.normalized)} for case in job.cases]
    for i, index in enumerate(got.case):
        n, rho, case = int(got.points_left[i]), float(got.rho[i]), settings[index] | {"labels": str(got.labels[i])}
        each = case | {"samples": n}
        suffix = f", {case['labels']} labels" if part == "network" and case["precision"] == "double" else ""
        size = n * np.log(n) + job.data.dataset.classes**2
        rows.append(each | {"property": f"wrong{suffix}", "value": int(got.wrong[i])})
        error = {"error": float(got.error[i]), "tolerance": float(got.tolerance[i])}
        rows.append(each | {"property": f"output{suffix}", "value": error["error"], **error})
        rows.append(each | {"property": "parameters", "value": int(got.parameters[i])})
        rows.append(each | {"property": f"parameters / (n log n + r^2){suffix}", "value": got.parameters[i] / size})
        allowed = 2 * JOHNSON_LINDENSTRAUSS / rho**2
        rows.append(each | {"property": f"parameters / bound{suffix}", "value": got.parameters[i] / (allowed * size)})
        rows.append(each | {"property": "rho", "value": rho})
    if part == "network":
        rows += [
            settings[got.traced_case[i]]
            | {"property": name, "labels": str(got.traced_labels[i]), "layer": int(got.layer[i]), "value": values[i]}
            for name, values in (
                ("remaining", got.remaining), ("moved error", got.moved_error), ("disturbance", got.disturbance),
            )
            for i in range(len(got.layer))
        ]  # fmt: skip
        rows += [
            {"property": "rho of nested images", "samples": int(n), "value": rho}
            for n, rho in zip(got.nested, got.nested_rho, strict=True)
        ]
    return rows


def plot(table: pd.DataFrame) -> Figure:
    """Layers, errors, widths, biases, distances, numbers.

    a: points still to be moved. b: errors layer by layer. c: share of wrong labels against k. d: error of the output
    against rho'. e: rho against n. f: the numbers of the networks for all images.
    """
    figure, axes = panels("abc;def", 4.3)
    network = table[table["part"] == "network"]
    _plot_remaining(axes[0], network)
    _plot_errors(axes[1], network)
    _plot_widths(axes[2], table[(table["part"] == "widths") & (table["property"] == "wrong")])
    _plot_shares(axes[3], table[(table["part"] == "shares") & (table["property"] == "output")])
    _plot_rho(axes[4], network[network["property"] == "rho of nested images"])
    _print_numbers(axes[5], table)
    return figure


def _plot_remaining(axes: Axes, network: pd.DataFrame) -> None:
    rows = network[(network["property"] == "remaining") & (network["precision"] == "double")]
    for (labels, own), colour, line in zip(rows.groupby("labels"), (BLUE, RED), ("-", ":"), strict=False):
        axes.plot(own["layer"], own["value"] / 1000, color=colour, linestyle=line, label=f"{labels} labels")
    axes.set(xlabel="layer", ylabel="points still to be moved (1000)")
    axes.legend()


def _plot_errors(axes: Axes, network: pd.DataFrame) -> None:
    for precision, colour, line in (("double", BLUE, "-"), ("single", RED, "-.")):
        own = network[(network["precision"] == precision) & (network["labels"] == network["labels"].iloc[0])]
        moved = own[(own["property"] == "moved error") & (own["layer"] > 0)]
        axes.plot(moved["layer"], moved["value"], color=colour, linestyle=line, label=f"{precision} precision")
        bound = own.loc[own["property"].str.startswith("output"), "tolerance"]
        if len(bound) and np.isfinite(bound).all():
            axes.axhline(bound.iloc[0], color=colour, linestyle=BOUNDS[precision], linewidth=0.8)
    axes.set_yscale("log")
    axes.set(xlabel="layer", ylabel="largest error of moved points")
    axes.legend()


def _plot_widths(axes: Axes, wrong: pd.DataFrame) -> None:
    looks = {("images", 0): (BLUE, "o", "-"), ("images", 1): (GREEN, "s", "-"), ("sphere", 0): (RED, "^", "--")}
    for (points, normalized), (colour, marker, line) in looks.items():
        own = wrong[(wrong["points"] == points) & (wrong["normalized"] == normalized)]
        for law, filled in (("orthogonal", colour), ("gaussian", "none")):
            here = own[own["projection"] == law].sort_values("width")
            axes.plot(here["width"], here["value"] / here["samples"], color=colour, marker=marker, linestyle=line,
                      markerfacecolor=filled, linewidth=0.8)  # fmt: skip
        name = f"{points}, scaled after $A_0$" if normalized else points
        axes.plot([], [], color=colour, marker=marker, linestyle=line, label=name)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="width $k$", ylabel="share of wrong labels", ylim=(-0.05, 1.45))
    axes.set_yticks([0, 0.5, 1])
    axes.legend(loc="upper right")


def _plot_shares(axes: Axes, output: pd.DataFrame) -> None:
    for precision, colour, marker in (("double", BLUE, "o"), ("single", RED, "^")):
        own = output[output["precision"] == precision].sort_values("share")
        drawn = own[np.isfinite(own["value"])]
        axes.plot(drawn["share"], drawn["value"], color=colour, marker=marker, markersize=3, label=f"{precision}")
        bound = own[np.isfinite(own["tolerance"])]
        axes.plot(bound["share"], bound["tolerance"], color=colour, linestyle=BOUNDS[precision], linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(0.5, color="0.4", linewidth=0.8, linestyle=":")
    axes.axvline(0.25, color="0.4", linewidth=0.8, linestyle=":")
    axes.set(xlabel=r"$\rho'/\rho$", ylabel="largest error of the output")
    axes.legend(loc="lower left")


def _plot_rho(axes: Axes, rho: pd.DataFrame) -> None:
    axes.plot(rho["samples"], rho["value"], color=BLACK, marker="o")
    axes.set_xscale("log")
    axes.set(xlabel="number of images $n$", ylabel=r"$\rho$: least $\|x_i-x_j\|^2$")
    axes.set_ylim(0, 1.1 * rho["value"].max())


def _print_numbers(axes: Axes, table: pd.DataFrame) -> None:
    own = table[table["part"].isin(["network", "narrow"]) & (table["precision"] == "double") & (table["layer"] < 0)]
    own = own.assign(property=own["property"].str.split(",").str[0])
    by_width = own.pivot_table("value", "width", "property", "sum", sort=False)
    first = own[own["property"] == "rho"].iloc[0]
    n, rho = int(first["samples"]), float(first["value"])
    asked = JOHNSON_LINDENSTRAUSS * np.log(n) / rho**2
    rows = [("width $k$", "parameters", "wrong")]
    for width, here in by_width.iterrows():
        labellings = own.loc[own["width"] == width, "labels"].nunique()
        rows.append((f"{width}", f"{here['parameters'] / labellings:,.0f}", f"{here['wrong']:.0f}"))
    rows.append((rf"${JOHNSON_LINDENSTRAUSS}\,\log n/\rho^2$ = {asked:,.0f}", "", ""))
    rows.append((rf"$n$ = {n:,}, $\rho$ = {rho:.4f}", "", ""))
    print_rows(axes, rows, (0.0, 0.75, 1.0))
