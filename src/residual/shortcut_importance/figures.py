"""Shared by the figures: success rates with exact intervals, trajectories, and the looks of the paper's networks."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from resaudit.paper import Coordinates, Look, exact_share
from residual.shortcut_importance.jobs import Simulate, Simulated
from residual.shortcut_importance.simulation import distance, loss, projection

LOOKS: dict[str, dict[str, Any]] = {
    "resnet-warm-up": {"color": Look.BLUE, "marker": "o", "linestyle": "-", "label": "ResNet, warm-up"},
    "resnet": {"color": Look.RED, "marker": "^", "linestyle": Look.DASH_DOTTED, "label": "ResNet, no warm-up"},
    "cnn": {"color": Look.GREEN, "marker": "s", "linestyle": Look.DASHED, "label": "CNN"},
}


def exact_interval(successes: pd.Series, runs: pd.Series, level: float = 0.95) -> np.ndarray:
    """Clopper and Pearson's interval (1934) of binomial rates, shape (rates, 2); NaN where there is no rate.

    >>> exact_interval(pd.Series([0, 5, np.nan]), pd.Series([10, 10, 10])).round(3).tolist()
    [[0.0, 0.308], [0.187, 0.813], [nan, nan]]
    """
    counts = zip(successes, runs, strict=True)
    exact = [exact_share(int(k), int(n), level) if k == k else (np.nan, np.nan) for k, n in counts]
    return np.array(exact)


def rates_table(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts with rates and exact 95 % intervals.

    Columns: network, patches, runs, successes, trapped, undecided, rate, low, high, published (rate), published_runs,
    published_low, published_high.
    """
    columns = ["network", "patches", "runs", "successes", "trapped", "undecided", "rate", "low", "high"]
    table = counts.assign(**DERIVED)
    return table[[*columns, "published", "published_runs", "published_low", "published_high"]]


def _end(side: int, of: str = "") -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    """An end of the interval of our rates, or of the ``published_`` ones."""

    def end(table: pd.DataFrame) -> "pd.Series[float]":
        runs = table[f"{of}runs"]
        successes = (table["published"] * runs).round() if of else table["successes"]
        return pd.Series(exact_interval(successes, runs)[:, side], table.index)

    return end


COUNTED = ("successes", "trapped", "undecided")
"""Columns that count runs."""
RATE = {"rate": lambda table: table["successes"] / table["runs"]}
DERIVED = RATE | {
    f"{of}{name}": _end(side, of) for of in ("", "published_") for side, name in enumerate(("low", "high"))
}
"""Columns that follow from others, by name."""


def trajectories(results: Mapping[Coordinates, tuple[Simulate, Simulated]]) -> pd.DataFrame:
    """One row a run and step that was kept.

    Columns: network, patches, run, step, time (step * eta_a), stage (1 or 2: that of the next step, so the first row of
    2 is the end of stage I; it is always kept), angle (radians), projection (a.a*/N), distance (||a - a*||/||a*||),
    loss (L/N).
    """
    parts = []
    for place, (job, simulated) in results.items():
        (setting,) = job.settings_of_runs
        states = simulated.states[0]
        step, run = (grid.ravel() for grid in np.meshgrid(job.steps, np.arange(job.runs), indexing="ij"))
        flat = np.moveaxis(states, 1, 0).reshape(4, -1)
        columns = {
            "run": run,
            "step": step,
            "time": step * setting.step,
            "stage": np.where(step < setting.stage_one, 1, 2),
            "angle": flat[0],
            "projection": projection(flat, setting) / setting.squared_norm,
            "distance": distance(flat, setting),
            "loss": loss(flat, setting) / setting.squared_norm,
        }
        parts.append(pd.DataFrame(dict(place) | columns))
    return pd.concat(parts, ignore_index=True)
