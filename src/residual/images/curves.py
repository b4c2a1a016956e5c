"""Shared by figures of trainings on images: axes of errors and losses, numbers in print."""

import pandas as pd

from resaudit.paper import Panel

ERROR_TICKS = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 70, 100)
LEAST_SPAN = 1.6
"""Of values on a logarithmic axis, the largest over the least."""
LOSS_TICKS = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 100)


def error_axis(axes: Panel, label: str = "test error, %") -> None:
    """Errors in % on a y axis with plain ticks, logarithmic if they span a range; after everything is drawn."""
    axes.set_ylabel(label)
    if not _made_logarithmic(axes):
        return
    low, high = axes.get_ylim()
    apart = max(1.12, (high / low) ** (1 / 12))
    ticks: list[float] = []
    for tick in ERROR_TICKS:
        if low <= tick <= high and (not ticks or tick >= apart * ticks[-1]):
            ticks.append(tick)
    axes.plain_ticks("y", ticks)


def loss_axis(axes: Panel, label: str) -> None:
    """Losses on a y axis with plain ticks, logarithmic if they span a range; after everything is drawn."""
    axes.set_ylabel(label)
    if _made_logarithmic(axes):
        axes.plain_ticks("y", LOSS_TICKS)


def _made_logarithmic(axes: Panel) -> bool:
    """Make the y axis logarithmic, and say so, unless what is drawn spans so little that it would have no ticks."""
    low, high = axes.dataLim.intervaly
    spans = high > LEAST_SPAN * low > 0
    axes.set_yscale("log" if spans else "linear")
    return bool(spans)


def mean_and_deviation(values: pd.Series, digits: int = 2) -> str:
    """The mean over runs, with one standard deviation if there are several.

    >>> mean_and_deviation(pd.Series([6.1, 6.3])), mean_and_deviation(pd.Series([6.1]))
    ('6.20 ± 0.14', '6.10')
    """
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"
