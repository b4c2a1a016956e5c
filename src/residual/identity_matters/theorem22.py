"""Theorem 2.2: gradient dominance at points and along gradient descent, and where runs end."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from resaudit.figures import style
from resaudit.plan.experiment import Coordinates
from residual.identity_matters.linear.measured import KNOWN, Descended, Dominated

RANDOM, SEARCH, ALONG = "eq. 2.3 at random points", "eq. 2.3 where a search ends", "eq. 2.3 along gradient descent"
AUTOGRAD = "eq. 2.5 = autograd"
HALF = "eq. 2.3 with exponent l - 1, where a search ends"
UNKNOWN = "eq. 2.3 beyond double precision"
STEP, PACE = "step of gradient descent", "inside: pace over that guaranteed"
REACHES = "det R > 0, inside: excess at the end over that at the start"
OTHERS = "det R <= 0, inside: excess at the end over that at the start"
LEFT = "outside: largest norm"
REGULAR = ("positive definite", "positive determinant")
"""Kinds of maps that some A of the domain reaches."""
ARRIVED = 1e-6
FLOOR = 1e-10
"""Share of the excess at the start below which the pace is not measured: rounding comes near."""
LOOKS = {
    "mnist": (style.BLACK, "-", "MNIST's map"),
    "positive definite": (style.BLUE, style.DASHED, "positive definite"),
    "positive determinant": (style.GREEN, style.DASH_DOTTED, r"$\det R>0$"),
    "negative determinant": (style.RED, style.DOTTED, r"$\det R<0$"),
}
ENDS = {"reached": style.BLUE, "still falling": style.ORANGE, "left the domain": style.GREY}


def table(found: tuple[float, Mapping[Coordinates, Any]]) -> pd.DataFrame:
    """Rows of points, of steps of gradient descent, and of whole runs.

    Columns: property, target, width, depth, radius, start, draw, epoch (-1 or empty where there is none), value (the
    natural logarithm of the ratio of eq. 2.3's sides, a pace, a share of the excess, or a norm), error, tolerance;
    of steps also largest (max |A_i|) and excess.
    """
    radius, results = found
    rows: list[pd.DataFrame] = []
    for where, each in results.items():
        at = dict(where)
        if at["part"] == "descent":
            rows += _of_descents(each, at["target"], radius)
        else:
            rows += _of_points(each, at["part"])
    keys = ["property", "target", "width", "depth", "radius", "start", "draw", "epoch"]
    every = pd.concat(rows, ignore_index=True)
    filled = every.fillna({"target": "any", "width": -1, "radius": -1, "start": -1, "epoch": -1})
    return filled[[*keys, "value", "error", "tolerance", "largest", "excess"]]


def _inequality(part: pd.DataFrame, name: str) -> pd.DataFrame:
    """Rows of eq. 2.3: how far the logarithm of the ratio is below zero, and what rounding allows of it."""
    known = part["rounding"] < KNOWN
    error, names = (-part["log_ratio"]).clip(lower=0), np.where(known, name, UNKNOWN)
    return part.assign(property=names, value=part["log_ratio"], error=error, tolerance=part["rounding"])


def _of_points(found: Dominated, part: str) -> list[pd.DataFrame]:
    points = pd.DataFrame(dataclasses.asdict(found))
    if part == "random":
        return [_inequality(points, RANDOM), points.assign(property=AUTOGRAD, target=part, value=points["error"])]
    half = points["log_ratio"] + (points["depth"] - 1) * np.log1p(-points["radius"])
    return [
        _inequality(points, SEARCH),
        points.assign(property=AUTOGRAD, target=part, value=points["error"]),
        points.assign(property=HALF, value=half),
    ]


def _of_descents(found: Descended, target: str, radius: float) -> list[pd.DataFrame]:
    steps = pd.DataFrame(dataclasses.asdict(found)).assign(target=target)
    known = steps[steps["log_ratio"].notna()]
    ends = []
    for (depth, start, draw), run in steps.groupby(["depth", "start", "draw"]):
        at = {"target": target, "depth": depth, "start": start, "draw": draw}
        ends += [at | row for row in _of_run(run.sort_values("epoch"), target, radius)]
    return [
        steps.assign(property=STEP, value=steps["largest"], error=0.0, tolerance=0.0),
        _inequality(known, ALONG),
        pd.DataFrame(ends).assign(error=0.0, tolerance=0.0),
    ]


def _of_run(run: pd.DataFrame, target: str, radius: float) -> Iterator[dict[str, Any]]:
    """Where a run ends, and its least pace."""
    if run["largest"].max() > radius:
        yield {"property": LEFT, "value": run["largest"].max()}
        return
    share = run["excess"].iloc[-1] / run["excess"].iloc[0]
    yield {"property": REACHES if target in REGULAR else OTHERS, "value": share}
    yield {"property": PACE, "value": least_pace(run)}


def least_pace(run: pd.DataFrame) -> float:
    """The least fall of log(excess) between two measured steps, over rate * 2 l (1 - tau)^(2(l-1)) sigma_min * steps.

    Gradient descent on f/2 with small steps falls by rate/2 * |grad f|^2 a step; tau is the larger of both norms.
    """
    excess, largest, epoch = (run[name].to_numpy(dtype=float) for name in ("excess", "largest", "epoch"))
    kept = excess[1:] > FLOOR * excess[0]
    depth = float(run["depth"].iloc[0])
    tau = np.maximum(largest[1:], largest[:-1])[kept]
    pace = run["learning_rate"].iloc[0] * 2 * depth * (1 - tau) ** (2 * (depth - 1)) * run["smallest"].iloc[0]
    fall = -np.diff(np.log(excess))[kept] if kept.any() else np.array([])
    return float((fall / (pace * np.diff(epoch)[kept])).min(initial=np.inf))


def plot(table: pd.DataFrame) -> Figure:
    """a: statements. b: least ratio by depth. c: excess along gradient descent from zero. d: where runs end."""
    figure, (statements, ratios, descents, ends) = style.panels("aaa;bcd", 4.2, height_ratios=[1, 1.9])
    rows = [("statement", "cases", "worst case", "rounding allows")]
    for name in (RANDOM, SEARCH, ALONG, HALF):
        worst = (part := table[table["property"] == name]).iloc[part["value"].argmin()]
        words = "eq. 2.3 with exponent ℓ − 1, where a search ends" if name == HALF else name
        allowed = "" if name == HALF else f"{worst['tolerance']:.1g}"
        rows.append((words, f"{len(part)}", f"ratio {np.exp(worst['value']):.4g}", allowed))
    worst = (part := table[table["property"] == AUTOGRAD]).iloc[part["value"].argmax()]
    rows.append((AUTOGRAD, f"{len(part)}", f"difference {worst['value']:.1g}", f"{worst['tolerance']:.1g}"))
    style.print_rows(statements, rows, (0.0, 0.6, 0.8, 1.0))
    _plot_ratios(ratios, table)
    _plot_descents(descents, table[table["property"] == STEP])
    _plot_ends(ends, table)
    return figure


def _plot_ratios(axes: Axes, table: pd.DataFrame) -> None:
    radii = sorted(table.loc[table["property"] == RANDOM, "radius"].unique())
    for radius, colour, marker in zip(radii, (style.BLUE, style.GREEN, style.RED), "osD", strict=False):
        own = table[table["radius"] == radius]
        least = own.groupby(["property", "depth"])["value"].min() / np.log(10)
        hollow: dict[str, Any] = {"markerfacecolor": "none", "linestyle": ""}
        for name, how in ((RANDOM, hollow), (SEARCH, {"label": f"τ = {radius:g}"})):
            if name in least:
                axes.plot(least[name], color=colour, marker=marker, **how)
    style.mark(axes, y=0, color="0.2", linewidth=1.0)
    axes.set_xscale("log", base=2)
    axes.set(xlabel=r"layers $\ell$", ylabel=r"$\log_{10}$ of least ratio in eq. 2.3")
    axes.legend(loc="upper left")


def _plot_descents(axes: Axes, steps: pd.DataFrame) -> None:
    """From zero, at the depth that all kinds of maps have."""
    depth = max(set.intersection(*(set(part["depth"]) for _, part in steps.groupby("target"))))
    for target, (colour, line, label) in LOOKS.items():
        runs = steps[(steps["target"] == target) & (steps["depth"] == depth) & (steps["start"] == 0)]
        for draw, run in runs.groupby("draw"):
            share = (run["excess"] / run["excess"].iloc[0]).clip(lower=FLOOR)
            name = label if draw == 0 else None
            axes.plot(1 + run["epoch"], share, color=colour, linestyle=line, linewidth=0.9, label=name)
    axes.set(xscale="log", yscale="log", xlabel="1 + steps", ylabel="excess / at the start")
    # Room for the legend under the curves.
    axes.set_ylim(FLOOR * 1e-7, 5)
    axes.set_yticks([1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
    axes.set_yticks([], minor=True)
    axes.set_title(f"from zero, ℓ = {depth:g}")
    axes.legend(loc="lower left")


def ends(table: pd.DataFrame) -> pd.DataFrame:
    """Number of runs by kind of map (rows) and end (columns of :data:`ENDS`)."""
    runs = table[table["property"].isin([REACHES, OTHERS, LEFT])]
    arrived = np.where(runs["value"] <= ARRIVED, "reached", "still falling")
    end = np.where(runs["property"] == LEFT, "left the domain", arrived)
    counted = pd.crosstab(runs["target"], end)
    return counted.reindex(index=[name for name in LOOKS if name in counted.index], columns=list(ENDS), fill_value=0)


def _plot_ends(axes: Axes, table: pd.DataFrame) -> None:
    counted = ends(table)
    shares = counted.div(counted.sum(axis=1), axis=0)
    left = np.zeros(len(shares))
    places = np.arange(len(shares))[::-1]
    for name, colour in ENDS.items():
        axes.barh(places, shares[name], left=left, color=colour, label=name, height=0.6)
        left += shares[name].to_numpy()
    axes.set_yticks(places, [LOOKS[name][2] for name in shares.index])
    axes.set(xlabel="share of runs", xlim=(0, 1), ylim=(-0.6, len(shares) + 0.6))
    axes.legend(loc="upper center", ncols=2, columnspacing=0.6, handlelength=0.7, handletextpad=0.4)
