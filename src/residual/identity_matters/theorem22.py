"""Theorem 2.2: gradient dominance at points and along gradient descent, and where runs end."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Coordinates, Look, Panel, curves, panels
from residual.identity_matters.linear.measured import KNOWN

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
KNOWN_DOWN_TO = 0.02
"""Share of the excess at the start above which eq. 2.3 is known at every depth; at 96 layers not from 0.008 on."""
LOOKS = {
    "mnist": (Look.BLACK, "-", "MNIST's map"),
    "positive definite": (Look.BLUE, Look.DASHED, "positive definite"),
    "positive determinant": (Look.GREEN, Look.DASH_DOTTED, r"$\det R>0$"),
    "negative determinant": (Look.RED, Look.DOTTED, r"$\det R<0$"),
}
ENDS = {"reached": Look.BLUE, "still falling": Look.ORANGE, "left the domain": Look.GREY}


def _errors(table: pd.DataFrame) -> "pd.Series[float]":
    """How far eq. 2.3 is broken; of the gradient, and of runs that may arrive, the value."""
    broken = (-table["value"]).clip(lower=0).where(table["property"].isin([RANDOM, SEARCH, ALONG, UNKNOWN]))
    return broken.mask(table["property"].isin([AUTOGRAD, REACHES]), table["value"])


def _tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """A logarithm that rounding may change by more is named unknown."""
    known = table["tolerance"].clip(upper=KNOWN).where(table["property"].isin([RANDOM, SEARCH, ALONG]))
    return known.mask(table["property"] == REACHES, ARRIVED)


def _ends(table: pd.DataFrame) -> "pd.Series[float]":
    """Where runs end, from their steps; of a reference that lacks steps, bounds."""
    run = ["target", "depth", "start", "draw"]
    steps = table[table["property"] == STEP].sort_values("epoch").groupby(run)
    shares, largest = steps["excess"].last() / steps["excess"].first(), steps["largest"].max()
    places = pd.MultiIndex.from_frame(table[run])
    share, norm = (pd.Series(known.reindex(places).to_numpy(), table.index) for known in (shares, largest))
    if len(curves.recorded_epochs(range(int(table["epoch"].max())), set(table["epoch"]))) < table["epoch"].max():
        share, norm = share.clip(upper=table["value"]), norm.clip(lower=table["value"])
    ends = table["largest"].where(table["property"] == STEP)
    return ends.mask(table["property"].isin([REACHES, OTHERS]), share).mask(table["property"] == LEFT, norm)


DERIVED = {"value": _ends, "error": _errors, "tolerance": _tolerances}


def rows_of_points(part: str, draws: int, here: pd.DataFrame) -> Iterator[tuple[str, str, Collection[int]]]:
    """Property, target and draws of the rows of one size of points, ``here``; some may be beyond double precision."""
    unknown = set(here.loc[here["property"] == UNKNOWN, "draw"]).intersection(range(draws))
    named = {SEARCH if part == "search" else RANDOM: set(range(draws)) - unknown, UNKNOWN: unknown}
    yield from ((name, "any", own) for name, own in named.items() if own)
    yield AUTOGRAD, part, range(draws)
    if part == "search":
        yield HALF, "any", range(draws)


def rows_of_run(target: str, steps: Sequence[int], here: pd.DataFrame) -> Iterator[tuple[str, Collection[int]]]:
    """Property and steps of the rows of one run, ``here``, which decide how many steps it takes, and if it leaves.

    Eq. 2.3 has a row where the largest norm is below 1, up to where rounding leaves too little of a small excess.
    """
    own, along = (here[here["property"] == name].set_index("epoch") for name in (STEP, ALONG))
    yield STEP, steps[: max(1, len(own))]
    inside = own[own["largest"] < 1]
    needed = int((inside["excess"] > KNOWN_DOWN_TO * own["excess"].max()).sum())
    if len(seen := inside.index[: max(needed, len(along))]):
        yield ALONG, seen
    ends = (REACHES if target in REGULAR else OTHERS, PACE)
    yield from ((name, [curves.NO_EPOCH]) for name in ((LEFT,) if LEFT in set(here["property"]) else ends))


def table(read: tuple[float, Mapping[Coordinates, Any]]) -> pd.DataFrame:
    """Rows of points, of steps of gradient descent, and of whole runs.

    Columns: property, target, width, depth, radius, start, draw, epoch (-1 or empty where there is none), value (the
    natural logarithm of the ratio of eq. 2.3's sides, a pace, a share of the excess, or a norm), error, tolerance;
    of steps also largest (max |A_i|) and excess. A run that may arrive and has not when its steps end is undecided:
    its error, the share that is left, exceeds its tolerance.
    """
    radius, results = read
    rows: list[pd.DataFrame] = []
    for where, result in results.items():
        at, measured = dict(where), pd.DataFrame(dataclasses.asdict(result))
        if at["part"] == "descent":
            rows += _descents(measured.assign(target=at["target"]), radius)
            continue
        search = at["part"] == "search"
        rows.append(_inequality(measured, SEARCH if search else RANDOM))
        rows.append(measured.assign(property=AUTOGRAD, target=at["part"], value=measured["error"]))
        if search:
            half = measured["log_ratio"] + (measured["depth"] - 1) * np.log1p(-measured["radius"])
            rows.append(measured.assign(property=HALF, value=half))
    keys = ["property", "target", "width", "depth", "radius", "start", "draw", "epoch"]
    every = pd.concat(rows, ignore_index=True)
    filled = every.fillna({"target": "any", "width": -1, "radius": -1, "start": -1, "epoch": -1})
    return filled[[*keys, "value", "error", "tolerance", "largest", "excess"]]


def _inequality(points: pd.DataFrame, name: str) -> pd.DataFrame:
    """Rows of eq. 2.3: how far the logarithm of the ratio is below zero, and what rounding allows of it."""
    error, names = (-points["log_ratio"]).clip(lower=0), np.where(points["rounding"] < KNOWN, name, UNKNOWN)
    return points.assign(property=names, value=points["log_ratio"], error=error, tolerance=points["rounding"])


def _descents(steps: pd.DataFrame, radius: float) -> list[pd.DataFrame]:
    """Rows of the steps of one kind of map, and of its runs: where each ends, and its least pace."""
    ends: list[dict[str, Any]] = []
    for (target, depth, start, draw), run in steps.groupby(["target", "depth", "start", "draw"]):
        at = {"target": target, "depth": depth, "start": start, "draw": draw, "error": 0.0, "tolerance": 0.0}
        run = run.sort_values("epoch")
        if run["largest"].max() > radius:
            ends.append(at | {"property": LEFT, "value": run["largest"].max()})
            continue
        share = run["excess"].iloc[-1] / run["excess"].iloc[0]
        arrival = {"property": REACHES, "error": share, "tolerance": ARRIVED}
        ends.append(at | {"value": share} | (arrival if target in REGULAR else {"property": OTHERS}))
        ends.append(at | {"property": PACE, "value": least_pace(run)})
    return [
        steps.assign(property=STEP, value=steps["largest"], error=0.0, tolerance=0.0),
        _inequality(steps[steps["log_ratio"].notna()], ALONG),
        pd.DataFrame(ends),
    ]


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
    figure, (statements, ratios, descents, outcomes) = panels("aaa;bcd", 4.2, height_ratios=[1, 1.9])
    rows = [("statement", "cases", "worst case", "rounding allows")]
    for name in (RANDOM, SEARCH, ALONG, HALF, AUTOGRAD):
        cases = table[table["property"] == name]
        worst = cases.iloc[(cases["value"] * (1 if name == AUTOGRAD else -1)).argmax()]
        case = f"difference {worst['value']:.1g}" if name == AUTOGRAD else f"ratio {np.exp(worst['value']):.4g}"
        words = "eq. 2.3 with exponent ℓ − 1, where a search ends" if name == HALF else name
        rows.append((words, f"{len(cases)}", case, "" if name == HALF else f"{worst['tolerance']:.1g}"))
    statements.print_rows(rows, (0.0, 0.6, 0.8, 1.0))
    _plot_ratios(ratios, table)
    _plot_descents(descents, table[table["property"] == STEP])
    counted = ends(table)
    shares = counted.div(counted.sum(axis=1), axis=0)
    places, left = np.arange(len(shares))[::-1], np.zeros(len(shares))
    for name, colour in ENDS.items():
        outcomes.barh(places, shares[name], left=left, color=colour, label=name, height=0.6)
        left += shares[name].to_numpy()
    outcomes.set_yticks(places, [LOOKS[name][2] for name in shares.index])
    outcomes.set(xlabel="share of runs", xlim=(0, 1), ylim=(-0.6, len(shares) + 0.6))
    outcomes.legend(loc="upper center", ncols=2, columnspacing=0.6, handlelength=0.7, handletextpad=0.4)
    return figure


def _plot_ratios(axes: Panel, table: pd.DataFrame) -> None:
    radii = sorted(table.loc[table["property"] == RANDOM, "radius"].unique())
    for radius, colour, marker in zip(radii, (Look.BLUE, Look.GREEN, Look.RED), "osD", strict=False):
        least = table[table["radius"] == radius].groupby(["property", "depth"])["value"].min() / np.log(10)
        hollow: dict[str, Any] = {"markerfacecolor": "none", "linestyle": ""}
        for name, how in ((RANDOM, hollow), (SEARCH, {"label": f"τ = {radius:g}"})):
            if name in least:
                axes.plot(least[name], color=colour, marker=marker, **how)
    axes.mark(y=0, color="0.2", linewidth=1.0)
    axes.set_xscale("log", base=2)
    axes.set(xlabel=r"layers $\ell$", ylabel=r"$\log_{10}$ of least ratio in eq. 2.3")
    axes.legend(loc="upper left")


def _plot_descents(axes: Panel, steps: pd.DataFrame) -> None:
    """From zero, at the depth that all kinds of maps have."""
    depth = max(set.intersection(*(set(rows["depth"]) for _, rows in steps.groupby("target"))))
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
    """Number of runs by kind of map (rows) and end (columns of :data:`ENDS`); undecided ones are still falling."""
    runs = table[table["property"].isin([REACHES, OTHERS, LEFT])]
    arrived = np.where(runs["value"] <= ARRIVED, "reached", "still falling")
    end = np.where(runs["property"] == LEFT, "left the domain", arrived)
    counted = pd.crosstab(runs["target"], end)
    return counted.reindex(index=[name for name in LOOKS if name in counted.index], columns=list(ENDS), fill_value=0)
