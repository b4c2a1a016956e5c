"""Sweeps of learning rates as tables: the last step, the best rate, the tied ones, and the runs at the rate shown."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from resaudit.figures.rates import NEAR, BestRate, is_only_bounded, least_diverged

if TYPE_CHECKING:
    import pandas as pd

Key = tuple[Any, ...]
"""Network name and depth."""


class Stage:
    """Whether a run belongs to the screening or to the confirmation."""

    COLUMN = "stage"
    """The column of tables that says so."""
    SCREENING = "screening"
    """Runs at every rate, which choose the rates."""
    CONFIRMATION = "confirmation"
    """Fresh runs at the rates tied for the best, which are measured."""


def at_the_end(table: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the last step, numbered from 0."""
    last: pd.DataFrame = table[table["step"] == table["step"].max()]
    return last.reset_index(drop=True)


def by_rate(rows: "pd.DataFrame", column: str) -> tuple[np.ndarray, np.ndarray]:
    """The rates that every run of one network and depth tried, ascending (k,), and a column by run and rate (runs, k).

    Infinite where a run diverged.
    """
    wide = rows.pivot_table(index="run", columns="learning_rate", values=column, dropna=False).dropna(axis="columns")
    return wide.columns.to_numpy(), wide.to_numpy()


def whole(rows: "pd.DataFrame", column: str) -> tuple[np.ndarray, np.ndarray] | None:
    """As :func:`by_rate`, if every run has one number at each rate; else None."""
    from pandas.api.types import is_numeric_dtype

    by = ["learning_rate", "run"]
    if rows.empty or not all(is_numeric_dtype(rows[name]) for name in (*by, column)) or rows[column].isna().any():
        return None
    rates, run, values = rows.sort_values(by)[[*by, column]].to_numpy(dtype=float).T
    grid, runs = np.unique(rates), np.unique(run)
    if len(rows) != len(grid) * len(runs) or (run.reshape(len(grid), -1) != runs).any():
        return None
    return grid, values.reshape(len(grid), -1).T


def is_confirmed(rows: "pd.DataFrame") -> bool:
    """Whether some rows are of the confirmation."""
    return Stage.COLUMN in rows and Stage.CONFIRMATION in set(rows[Stage.COLUMN])


def fresh(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the runs that are measured: those of the confirmation if there is one, else all."""
    return rows[rows[Stage.COLUMN] == Stage.CONFIRMATION] if is_confirmed(rows) else rows


def screened(rows: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of the runs at every learning rate."""
    return rows[rows[Stage.COLUMN] == Stage.SCREENING] if Stage.COLUMN in rows else rows


def best_rates(table: "pd.DataFrame", column: str) -> dict[Key, BestRate]:
    """The best rate of each network and depth, by a column of final losses; of fresh runs if there are any."""
    return {
        key: BestRate.choose(*by_rate(fresh(rows), column), grid=by_rate(screened(rows), column)[0])
        for key, rows in table.groupby(["network", "depth"], sort=False)
    }


def common_rates(rows: "pd.DataFrame") -> tuple[float, ...]:
    """The learning rates that serve all depths of one network best, the one shown first.

    A rate's score is its mean final loss over the least one of the same depth, at the worst depth. The rate shown is
    the smallest one whose score is within :data:`~resaudit.figures.rates.NEAR` of the least; the others within it
    follow. None if at every rate some run diverges at some depth. The screening chooses, if there is one.
    """
    scores: dict[float, float] = {}
    for _, group in at_the_end(screened(rows)).groupby("depth"):
        rates, losses = by_rate(group, "loss")
        means = losses.mean(axis=0)
        of_depth = dict(zip(rates, means / means.min() if np.isfinite(means.min()) else means, strict=True))
        scores = {rate: max(scores.get(rate, 0.0), score) for rate, score in of_depth.items()}
    least = min(scores.values(), default=np.inf)
    near = [rate for rate, score in scores.items() if score <= NEAR * least]
    return tuple(near) if np.isfinite(least) else ()


def bounding_rates(table: "pd.DataFrame", column: str) -> dict[Key, float]:
    """The rate with the fewest diverged fresh runs, where some diverge at each rate that the screening left.

    The runs that do not diverge bound the loss at the best rate from below, and that rate is at most the largest left.
    """
    bounds = dict[Key, float]()
    for key, rows in table.groupby(["network", "depth"], sort=False):
        (grid, losses), left = by_rate(screened(rows), column), by_rate(fresh(rows), column)
        trains = BestRate.choose(grid, losses).shown is not None
        if is_only_bounded(trains, grid, left[0], BestRate.choose(*left, grid=grid)):
            bounds[key] = least_diverged(*left)
    return bounds


def at_shown_rate(table: "pd.DataFrame", best: Mapping[Key, BestRate]) -> "pd.DataFrame":
    """The runs of each network and depth at the rate shown; none if every rate has a diverged run."""
    import pandas as pd

    keys = pd.MultiIndex.from_tuples([(*key, choice.shown) for key, choice in best.items()])
    return table[pd.MultiIndex.from_frame(table[["network", "depth", "learning_rate"]]).isin(keys)]
