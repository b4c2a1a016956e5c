"""A table is held against the plan, row by row, before anything is judged by it."""

from collections.abc import Iterator

import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from resaudit.plan.experiment import in_words
from resaudit.plan.plan import FigurePlan

NUMBERED = ("run", "draw", "depth")
"""Keys that are integers in every table."""
ALONG = ("epoch", "step")
"""Keys along which a run is measured; the plan does not say at which."""
OF_NO_RUN = (frozenset({-1}), frozenset({0}))
"""Run numbers of rows of a kind that is of no single run; the plan does not know a table's kinds."""
COUNTED = ("successes", "trapped", "undecided", "inside")
"""Columns that count some of ``runs``."""


def unexpected(table: pd.DataFrame, part: FigurePlan) -> str | None:
    """What a table of this figure cannot contain, in words, with what is allowed; None: nothing.

    Nothing is checked that the plan does not know, such as columns that are no keys of the figure.
    """
    return next((wrong for check in (_keys, _numbers, _counts, _places) for wrong in check(table, part)), None)


def _keys(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    keys = part.figure.keys
    if set(keys) <= set(table) and table.duplicated(keys).any():
        yield f"it has rows of the same {', '.join(keys)} twice; allowed: each once"
    for key in (key for key in keys if key in table):
        column, optional = table[key], key in part.figure.protocol.of_some_rows
        if column.isna().any() and not optional:
            yield f"{key} is empty in {column.isna().sum()} rows; allowed: none"
        if optional or is_integer_dtype(column):
            continue
        integers = key in NUMBERED or any(type(dict(place).get(key)) is int for place in part.jobs)
        whole = "run" in keys and key in ALONG and is_numeric_dtype(column) and (column % 1 == 0).all()
        if integers or whole:
            yield f"{key} is written as {column.dtype}; allowed: integers"


def _numbers(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    for name in part.figure.tolerances:
        if name not in table:
            yield f"it has no column {name}; allowed: {', '.join([*part.figure.keys, *part.figure.tolerances])}"
        elif not is_numeric_dtype(table[name]):
            yield f"{name} is not a number everywhere; allowed: numbers"


def _counts(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    if "runs" not in table or not is_numeric_dtype(table["runs"]):
        return
    runs = table["runs"]
    for name in [name for name in COUNTED if name in table]:
        count = table[name]
        if not is_numeric_dtype(count):
            yield f"{name} is not a number everywhere; allowed: numbers from 0 to runs"
        elif (count.isna() != runs.isna()).any() or ("run" not in part.figure.keys and runs.isna().any()):
            yield f"{name} or runs is empty in some rows; allowed: neither"
        elif not (runs.isna() | ((runs >= 0) & (count >= 0) & (count <= runs) & (runs % 1 + count % 1 == 0))).all():
            yield f"{name} is not a count of runs everywhere; allowed: whole numbers from 0 to runs"


def _places(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    keys = part.figure.keys
    expected = part.figure.protocol.expected(part.jobs, keys)
    if not expected or not set(keys) <= set(table):
        return
    shared = [name for name, _ in next(iter(expected))]
    planned = {tuple(value for _, value in place): runs for place, runs in expected.items()}
    if shared:
        present = set(table[shared].drop_duplicates().itertuples(index=False, name=None))
        for values in [values for values in planned if values not in present]:
            place = in_words(tuple(zip(shared, values, strict=True)))
            yield f"it has no rows of {place}, which the plan has; allowed: all that it has"
        for values in present - planned.keys():
            yield f"it has rows of {in_words(tuple(zip(shared, values, strict=True)))}; allowed: what the plan has"
    if "run" in keys:
        yield from _runs(table, keys, planned, shared)


def _runs(
    table: pd.DataFrame, keys: list[str], planned: dict[tuple[object, ...], frozenset[int]], shared: list[str]
) -> Iterator[str]:
    """Each group of rows that differ only in run, epoch and step has the runs of its place."""
    by = [key for key in keys if key not in ("run", *ALONG)]
    pairs = table[[*by, "run"]].drop_duplicates()
    kinds = any(name not in shared and not is_numeric_dtype(table[name]) for name in by)
    for values, group in pairs.groupby(by, sort=False) if by else [((), pairs)]:
        place = dict(zip(by, values, strict=True))
        runs, present = planned[tuple(place[name] for name in shared)], frozenset(group["run"])
        if runs and present != runs and not (kinds and present in OF_NO_RUN):
            odd = min(present ^ runs)
            yield (
                f"{in_words(tuple(place.items())) or 'it'} {'lacks' if odd in runs else 'has'} run {odd}; allowed: "
                f"the {len(runs)} runs of the plan, {min(runs)} to {max(runs)}, each"
            )
