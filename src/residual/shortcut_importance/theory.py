"""Proposition 16, the exact reduction, and the two stages of Theorem 2."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from resaudit.paper import Coordinates, Look, panels
from residual.shortcut_importance.checks import FOLLOWED
from residual.shortcut_importance.figures import LOOKS, trajectories
from residual.shortcut_importance.jobs import Proposition


def table(results: Mapping[Coordinates, Any]) -> pd.DataFrame:
    """Rows of checks, then one of each run and step, property ``trajectory``.

    Columns: property, patches, filter_size, draw (the run of a trajectory), error, tolerance; step, time, stage,
    angle, projection, distance, loss as in :func:`~residual.shortcut_importance.figures.trajectories`.
    """
    ((_, checked),) = (pair for pair in results.values() if isinstance(pair[0], Proposition))
    runs = trajectories({place: pair for place, pair in results.items() if not isinstance(pair[0], Proposition)})
    runs = runs.rename(columns={"run": "draw"}).drop(columns="network").assign(property=FOLLOWED, filter_size=-1)
    return pd.concat([pd.DataFrame(dataclasses.asdict(checked)), runs], ignore_index=True)


def _tolerances(table: pd.DataFrame) -> "pd.Series[float]":
    """Of the Monte Carlo, the reduction and the closed forms; no size changes them."""
    from residual.shortcut_importance.proposition import REDUCTION_TOLERANCE, ROUNDINGS, STANDARD_ERRORS

    limits = pd.Series(ROUNDINGS * float(np.finfo(float).eps), table.index)
    limits[table["property"] == FOLLOWED] = np.nan
    limits[table["property"].str.endswith("Monte Carlo")] = STANDARD_ERRORS
    limits[table["property"].str.startswith("reduction")] = REDUCTION_TOLERANCE
    return limits


DERIVED = {"tolerance": _tolerances}


def plot(table: pd.DataFrame) -> Figure:
    """a: the largest error of each statement. b: angle and projection in stage I. c: errors in stage II."""
    figure, (statements, first, second) = panels("abc", 2.6, width_ratios=[1.5, 1, 1])
    checks, runs = (table[chosen] for chosen in (table["property"] != FOLLOWED, table["property"] == FOLLOWED))
    statements.print_errors(checks["property"], checks["error"] / checks["tolerance"], (0.0, 0.74, 1.0))
    colour = LOOKS["resnet-warm-up"]["color"]
    start = runs.loc[runs["stage"] == 2, "time"].min()
    for _, run in runs.groupby("draw"):
        first.plot(run["time"], run["angle"] / np.pi, color=colour, linewidth=0.7)
        first.plot(run["time"], run["projection"], color=Look.RED, linewidth=0.7, linestyle="--")
        second.plot(run["time"], run["distance"], color=colour, linewidth=0.7)
    first.axhline(0, color="0.4", linewidth=0.6)
    first.set(xlim=(0, 1.1 * start), ylim=(-0.1, 0.6))
    first.plot([], [], color=colour, label=r"angle of $v$ to $v^*$, $/\pi$")
    first.plot([], [], color=Look.RED, linestyle="--", label=r"$a\cdot a^*/\|a^*\|^2$")
    first.legend(loc="upper left", bbox_to_anchor=(0, 0.83))
    second.set(yscale="log", ylabel=r"$\|a-a^*\|\,/\,\|a^*\|$")
    for axes in (first, second):
        axes.mark(x=start)
        axes.set_xlabel(r"time (steps $\times\,\eta_a$)")
    return figure
