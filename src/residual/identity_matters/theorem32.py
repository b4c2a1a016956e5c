"""Theorem 3.2: a network that gives every image its label, layer by layer, and what it needs."""

import dataclasses
from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Look, Panel, panels
from residual.identity_matters.jobs.memorize import Memorize
from residual.identity_matters.relu.measured import Expressed

JOHNSON_LINDENSTRAUSS = 10
"""c of k = c log n / rho^2: appendix B says that 10 works."""
NO_CASE = {
    "points": "none", "samples": -1, "width": -1, "projection": "none", "normalized": -1, "share": -1.0,
    "precision": "none", "labels": "none", "layer": -1, "draw": -1, "constant": -1.0, "tolerance": -1.0, "error": -1.0,
}  # fmt: skip
BOUNDS = {"double": ":", "single": "--"}


def table(results: Mapping[str, tuple[Any, Any]]) -> pd.DataFrame:
    """Rows of measurements; -1 or ``none`` where a column does not apply.

    Columns: part (network, narrow, widths, shares, lemma), property, points, samples (n), width (k), projection,
    normalized, share (rho' / rho), precision, labels, layer, draw, constant (c of the lemma's condition), value, error,
    tolerance. ``wrong`` counts points, ``remaining`` too; ``moved error`` and ``disturbance`` are distances; ``output``
    has the largest error of a coordinate with its tolerance.
    """
    frames = []
    for part, (job, result) in results.items():
        if isinstance(job, Memorize):
            frame = pd.DataFrame([NO_CASE | row for row in _rows(part, job, result)])
        else:
            frame = pd.DataFrame(NO_CASE | dataclasses.asdict(result))
            frame = frame.assign(share=frame.pop("margin"), value=frame["error"])
        frames.append(frame.assign(part=part))
    return pd.concat(frames, ignore_index=True)


def _rows(part: str, job: Memorize, result: Expressed) -> Iterator[dict[str, Any]]:
    settings = [dataclasses.asdict(case) | {"normalized": int(case.normalized)} for case in job.cases]
    for i, index in enumerate(result.case):
        n, rho, labels = int(result.points_left[i]), float(result.rho[i]), str(result.labels[i])
        case = settings[index] | {"labels": labels, "samples": n}
        suffix = f", {labels} labels" if part == "network" and case["precision"] == "double" else ""
        size = n * np.log(n) + job.data.dataset.classes**2
        allowed = 2 * JOHNSON_LINDENSTRAUSS / rho**2
        error, tolerance = float(result.error[i]), float(result.tolerance[i])
        yield case | {"property": f"wrong{suffix}", "value": int(result.wrong[i])}
        yield case | {"property": f"output{suffix}", "value": error, "error": error, "tolerance": tolerance}
        yield case | {"property": "parameters", "value": int(result.parameters[i])}
        yield case | {"property": f"parameters / (n log n + r^2){suffix}", "value": result.parameters[i] / size}
        yield case | {"property": f"parameters / bound{suffix}", "value": result.parameters[i] / (allowed * size)}
        yield case | {"property": "rho", "value": rho}
    if part != "network":
        return
    traces = {"remaining": result.remaining, "moved error": result.moved_error, "disturbance": result.disturbance}
    for name, values in traces.items():
        for index, labels, layer, value in zip(
            result.traced_case, result.traced_labels, result.layer, values, strict=True
        ):
            yield settings[index] | {"property": name, "labels": str(labels), "layer": int(layer), "value": value}
    for n, rho in zip(result.nested, result.nested_rho, strict=True):
        yield {"property": "rho of nested images", "samples": int(n), "value": rho}


def _values(table: pd.DataFrame) -> "pd.Series[float]":
    """Errors, and numbers of parameters relative to the statement's; its r^2 is the same in all rows."""
    keys = ["part", "points", "samples", "width", "projection", "normalized", "share", "precision", "labels"]

    def of_network(name: str) -> "pd.Series[float]":
        found = table[table["property"] == name].drop_duplicates(keys)[[*keys, "value"]]
        return table[keys].merge(found, on=keys, how="left")["value"].set_axis(table.index)

    relative, bounded = (
        table["property"].str.startswith(name) for name in ("parameters / (n log n", "parameters / bound")
    )
    samples, parameters = table["samples"].clip(lower=1), of_network("parameters")
    linear = samples * np.log(samples)
    size = linear + (parameters / table["value"] - linear)[relative].median().round()
    values = table["error"].where(table["property"].str.startswith("output") | (table["part"] == "lemma"))
    values = values.mask(relative, parameters / size)
    return values.mask(bounded, parameters / size * of_network("rho") ** 2 / (2 * JOHNSON_LINDENSTRAUSS))


def _tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """Of the lemma what rounding allows; of an output in double precision at most what cannot change a label."""
    import torch

    from residual.identity_matters.relu.network import LAST_THRESHOLD, Network, moved_bound

    def of_lemma(width: int, margin: float) -> float:
        ends = torch.zeros(2, width, dtype=torch.float64)
        ends[:, 0] = torch.tensor([1 - margin, 1 + margin], dtype=torch.float64).sqrt()
        return 2 * moved_bound(Network(ends, ends, 1 - 2 * margin))

    sizes = zip(table["width"], table["share"], table["part"] == "lemma", strict=True)
    lemma = pd.Series([of_lemma(*size) if of else NO_CASE["tolerance"] for *size, of in sizes], table.index)
    finite = table["tolerance"].where((table["tolerance"] < np.inf) & (table["precision"] == "double"))
    return lemma.mask(table["property"].str.startswith("output"), finite.clip(upper=LAST_THRESHOLD))


DERIVED = {"value": _values, "tolerance": _tolerances}


def planned_rows(part: str, job: Memorize, distinct: int) -> Iterator[dict[str, Any]]:
    """The rows of a part if so many images are no duplicates; their values mean nothing."""
    networks = [(i, labels) for i, case in enumerate(job.cases) for labels in case.labels]
    sizes = [min(job.cases[i].samples, distinct) for i, _ in networks]
    layers = [ceil(n / job.cases[i].width) + 1 for n, (i, _) in zip(sizes, networks, strict=True)]
    case, labels = (np.array(column) for column in zip(*networks, strict=True))
    one, traced = np.ones(len(networks)), np.ones(sum(layers))
    nested = np.minimum(job.nested, distinct).astype(int)
    blank = Expressed(
        case, labels, np.array(sizes), one, one, one, one, one, case.repeat(layers), labels.repeat(layers),
        np.concatenate([np.arange(count) for count in layers]), traced, traced, traced, nested, np.ones(len(nested)),
    )  # fmt: skip
    yield from (NO_CASE | row | {"part": part} for row in _rows(part, job, blank))


def plot(table: pd.DataFrame) -> Figure:
    """Layers, errors, widths, biases, distances, numbers.

    a: points still to be moved. b: errors layer by layer. c: share of wrong labels against k. d: error of the output
    against rho'. e: rho against n. f: the numbers of the networks for all images.
    """
    figure, (remaining, errors, widths, shares, distances, numbers) = panels("abc;def", 4.3)
    network = table[table["part"] == "network"]
    rows = network[(network["property"] == "remaining") & (network["precision"] == "double")]
    for (labels, run), colour, line in zip(rows.groupby("labels"), (Look.BLUE, Look.RED), ("-", ":"), strict=False):
        remaining.plot(run["layer"], run["value"] / 1000, color=colour, linestyle=line, label=f"{labels} labels")
    remaining.set(xlabel="layer", ylabel="points still to be moved (1000)")
    remaining.legend()
    _plot_errors(errors, network)
    _plot_widths(widths, table[(table["part"] == "widths") & (table["property"] == "wrong")])
    _plot_shares(shares, table[(table["part"] == "shares") & (table["property"] == "output")])
    nested = network[network["property"] == "rho of nested images"]
    distances.plot(nested["samples"], nested["value"], color=Look.BLACK, marker="o")
    distances.set(xscale="log", xlabel="number of images $n$", ylabel=r"$\rho$: least $\|x_i-x_j\|^2$")
    distances.set_ylim(0, 1.1 * nested["value"].max())
    _print_numbers(numbers, table)
    return figure


def _plot_errors(axes: Panel, network: pd.DataFrame) -> None:
    for precision, colour, line in (("double", Look.BLUE, "-"), ("single", Look.RED, "-.")):
        rows = network[(network["precision"] == precision) & (network["labels"] == network["labels"].iloc[0])]
        moved = rows[(rows["property"] == "moved error") & (rows["layer"] > 0)]
        axes.plot(moved["layer"], moved["value"], color=colour, linestyle=line, label=f"{precision} precision")
        bound = rows.loc[rows["property"].str.startswith("output"), "tolerance"]
        if len(bound) and np.isfinite(bound).all():
            axes.axhline(bound.iloc[0], color=colour, linestyle=BOUNDS[precision], linewidth=0.8)
    axes.set_yscale("log")
    axes.set(xlabel="layer", ylabel="largest error of moved points")
    axes.legend()


def _plot_widths(axes: Panel, wrong: pd.DataFrame) -> None:
    looks = {
        ("images", 0): (Look.BLUE, "o", "-"),
        ("images", 1): (Look.GREEN, "s", "-"),
        ("sphere", 0): (Look.RED, "^", "--"),
    }
    for (points, normalized), (colour, marker, line) in looks.items():
        rows = wrong[(wrong["points"] == points) & (wrong["normalized"] == normalized)]
        for law, filled in (("orthogonal", colour), ("gaussian", "none")):
            curve = rows[rows["projection"] == law].sort_values("width")
            axes.plot(curve["width"], curve["value"] / curve["samples"], color=colour, marker=marker, linestyle=line,
                      markerfacecolor=filled, linewidth=0.8)  # fmt: skip
        name = f"{points}, scaled after $A_0$" if normalized else points
        axes.plot([], [], color=colour, marker=marker, linestyle=line, label=name)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="width $k$", ylabel="share of wrong labels", ylim=(-0.05, 1.45))
    axes.set_yticks([0, 0.5, 1])
    axes.legend(loc="upper right")


def _plot_shares(axes: Panel, output: pd.DataFrame) -> None:
    for precision, colour, marker in (("double", Look.BLUE, "o"), ("single", Look.RED, "^")):
        rows = output[output["precision"] == precision].sort_values("share")
        drawn = rows[np.isfinite(rows["value"])]
        axes.plot(drawn["share"], drawn["value"], color=colour, marker=marker, markersize=3, label=f"{precision}")
        bound = rows[np.isfinite(rows["tolerance"])]
        axes.plot(bound["share"], bound["tolerance"], color=colour, linestyle=BOUNDS[precision], linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(0.5, color="0.4", linewidth=0.8, linestyle=":")
    axes.axvline(0.25, color="0.4", linewidth=0.8, linestyle=":")
    axes.set(xlabel=r"$\rho'/\rho$", ylabel="largest error of the output")
    axes.legend(loc="lower left")


def _print_numbers(axes: Panel, table: pd.DataFrame) -> None:
    totals = table[table["part"].isin(["network", "narrow"]) & (table["precision"] == "double") & (table["layer"] < 0)]
    wrong = totals[totals["property"].str.startswith("wrong")].groupby("width", sort=False)["value"].sum()
    parameters = totals[totals["property"] == "parameters"].groupby("width", sort=False)["value"].first()
    first = totals[totals["property"] == "rho"].iloc[0]
    n, rho = int(first["samples"]), float(first["value"])
    rows = [("width $k$", "parameters", "wrong")]
    for (width, count), points in zip(parameters.items(), wrong, strict=True):
        rows.append((f"{width}", f"{count:,.0f}", f"{points:.0f}"))
    asked = JOHNSON_LINDENSTRAUSS * np.log(n) / rho**2
    rows.append((rf"${JOHNSON_LINDENSTRAUSS}\,\log n/\rho^2$ = {asked:,.0f}", "", ""))
    rows.append((rf"$n$ = {n:,}, $\rho$ = {rho:.4f}", "", ""))
    axes.print_rows(rows, (0.0, 0.75, 1.0))
