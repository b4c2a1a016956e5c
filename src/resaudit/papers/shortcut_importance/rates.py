"""Success rates with exact intervals, and the looks of the paper's networks."""

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaincinv

LOOKS: dict[str, dict[str, Any]] = {
    "resnet-warm-up": {"color": "#0072B2", "marker": "o", "linestyle": "-", "label": "ResNet, warm-up"},
    "resnet": {"color": "#D55E00", "marker": "^", "linestyle": (0, (4, 1.2, 1, 1.2)), "label": "ResNet, no warm-up"},
    "cnn": {"color": "#009E73", "marker": "s", "linestyle": (0, (4, 1.5)), "label": "CNN"},
}


def exact_interval(successes: Any, runs: Any, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Clopper and Pearson's interval (1934) of a binomial rate.

    >>> low, high = exact_interval([0, 5, 10], 10)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.187, 0.692], [0.308, 0.813, 1.0])
    """
    found, tail = np.asarray(successes, float), (1 - level) / 2
    failures = np.asarray(runs, float) - found
    low = np.where(found > 0, betaincinv(np.maximum(found, 1), failures + 1, tail), 0.0)
    return low, np.where(failures > 0, betaincinv(found + 1, np.maximum(failures, 1), 1 - tail), 1.0)


def rates_table(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts with rates and exact 95 % intervals.

    Columns: network, patches, runs, successes, trapped, undecided, rate, low, high, published (rate), published_runs,
    published_low, published_high.
    """
    table = counts.assign(rate=counts["successes"] / counts["runs"])
    table["low"], table["high"] = exact_interval(table["successes"], table["runs"])
    runs = table.pop("published_runs")
    published = table.pop("published")
    low, high = exact_interval((published * runs).round(), runs)
    return table.assign(published=published, published_runs=runs, published_low=low, published_high=high)
