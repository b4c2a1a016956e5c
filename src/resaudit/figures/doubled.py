"""Runs that are no independent draws, since another one has all of their values."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype

from resaudit.plan.experiment import in_words

WITHIN = ("learning_rate", "property", "layer", "units", "epoch", "step")
"""Keys along which a run has several values; the others, but for its stage, say of what it is a run."""
CLOSE = 1e-9
"""Values are the same if their relative difference is at most this."""
DIGITS = 8
"""Numbers with no more are counts, shares or settings."""
ALONE = 1e-6
"""No other run has a value so near, relatively."""
LEAST = 1e-12
"""Numbers below it may be roundings of zero, of which there are few."""


def doubled(table: pd.DataFrame, keys: Sequence[str]) -> Iterator[str]:
    """In words, two runs or draws of one network, depth and so on that have the same values.

    Evidence are numbers that few other runs have, and none nearly, in most rows of a column: not those of all runs, as
    from a deterministic start, nor of several that are stuck.
    """
    number = next((name for name in ("run", "draw") if name in keys), None)
    if number is None or not is_integer_dtype(table[number]):
        return
    rows = table[table[number] >= 0].reset_index(drop=True)
    columns = [name for name in rows if name not in keys and is_float_dtype(rows[name])]
    within = [key for key in WITHIN if key in keys]
    by = [key for key in keys if key not in (number, "stage", *within)]
    place, alike, runs = _numbered(rows, by), _numbered(rows, [*by, *within]), rows[number].to_numpy()
    values = rows[columns].to_numpy()
    seen = set[tuple[int, ...]]()
    for column in values.T:
        drawn = _drawn(column)
        pairs = np.stack(_pairs(np.where(drawn, column, np.nan), alike, runs))
        both = values[pairs[0]], values[pairs[1]]
        pairs = pairs[:, np.flatnonzero(np.isclose(*both, rtol=CLOSE, atol=0, equal_nan=True).all(axis=1))]
        found = Counter(zip(place[pairs[0]].tolist(), *np.sort(runs[pairs], axis=0).tolist(), strict=True))
        for pair in [pair for pair in found if pair not in seen]:
            at, first, second = pair
            of_both = (rows[(place == at) & (runs == run)].set_index(within or by) for run in (first, second))
            one, other = next(of_both).align(next(of_both), join="inner", axis=0)
            if (
                2 * found[pair] > drawn[(place == at) & (runs == first)].sum()
                and np.isclose(one[columns], other[columns], rtol=CLOSE, atol=0, equal_nan=True).all()
            ):
                seen.add(pair)
                where = in_words(tuple(rows.loc[place == at, by].iloc[0].items())) or "it"
                yield f"{where} has the same values in {number} {first} and {second}; allowed: independent draws"


def _numbered(rows: pd.DataFrame, keys: list[str]) -> np.ndarray:
    """The number of each row's combination of keys, shape (rows,)."""
    if not keys:
        return np.zeros(len(rows), int)
    return rows.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()


def _drawn(values: np.ndarray) -> np.ndarray:
    """Whether values have the digits of a number that was drawn."""
    with np.errstate(all="ignore"):
        scaled = values / 10.0 ** (np.floor(np.log10(np.abs(values))) - DIGITS + 1)
        return np.asarray((np.abs(values) > LEAST) & (np.abs(scaled - np.rint(scaled)) > 1e-6))


def _pairs(values: np.ndarray, groups: np.ndarray, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one group with the same value, which is evidence, as two arrays of positions; NaN: none."""
    order = np.argsort(values)
    clusters = np.concatenate([[0], np.cumsum(~_near(values[order], CLOSE))])
    each = np.unique(np.stack([clusters, runs[order]]), axis=1)[0]
    few = np.empty(len(values), bool)
    few[order] = np.bincount(each)[clusters] <= max(2, len(np.unique(runs)) // 3)
    order = np.lexsort((values, groups))
    values, joined = values[order], np.diff(groups[order]) == 0
    same, near = joined & _near(values, CLOSE), joined & _near(values, ALONE)
    padded = np.concatenate([[False], near & ~same, [False]])
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    last = np.concatenate([first[1:], [len(values)]]) - 1
    varied = ~np.isclose(values[first], values[last], rtol=CLOSE, atol=0).repeat(last - first + 1)
    chosen = same & varied[1:] & few[order][1:] & ~(padded[:-2] | padded[2:])
    return order[:-1][chosen], order[1:][chosen]


def _near(values: np.ndarray, share: float) -> np.ndarray:
    """Whether each of ascending values is so near to the next, shape (values - 1,)."""
    return np.asarray(np.diff(values) <= share * np.abs(values[1:]))
