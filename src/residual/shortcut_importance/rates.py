"""Success rates with exact intervals, and the looks of the paper's networks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from resaudit.paper import Look, exact_share

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


def _end(side: int) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    return lambda table: pd.Series(exact_interval(table["successes"], table["runs"])[:, side], table.index)


def _published_end(side: int) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    def end(table: pd.DataFrame) -> "pd.Series[float]":
        runs = table["published_runs"]
        return pd.Series(exact_interval((table["published"] * runs).round(), runs)[:, side], table.index)

    return end


RATE = {"rate": lambda table: table["successes"] / table["runs"]}
DERIVED = RATE | {
    "low": _end(0), "high": _end(1), "published_low": _published_end(0), "published_high": _published_end(1)
}  # fmt: skip
"""Columns that follow from others, by name."""
