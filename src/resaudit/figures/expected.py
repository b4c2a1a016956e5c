"""A table is held against the plan, row by row, before anything is judged by it."""

from collections.abc import Iterator, Sequence
from itertools import product as combinations
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype

from resaudit.figures.derived import contradictions, place_of
from resaudit.figures.doubled import doubled
from resaudit.figures.drawing import ODD_CONTENT
from resaudit.plan.experiment import Coordinates, Product, at, in_words
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

    It is held against the plan (:meth:`resaudit.plan.experiment.Experiment.expected`), its runs against each other
    (:func:`~resaudit.figures.doubled.doubled`), its columns against those that they follow from
    (:func:`~resaudit.figures.derived.contradictions`).
    """
    checks = (_keys, _numbers, _counts, _places, _doubled, _derived)
    try:
        return next((wrong for check in checks for wrong in check(table, part)), None)
    except ODD_CONTENT as error:
        return f"its columns or types are not those of the figure's table ({type(error).__name__}: {error})"


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
            there = table[name].notna()
            numbers = pd.to_numeric(table[name], errors="coerce").notna()
            # Numbers that are all written as text are text, too.
            text = there & ~numbers if (there & ~numbers).any() else there
            first = int(text.to_numpy().argmax())
            yield (
                f"{name} has text in {text.sum()} rows; {place_of(table, first, part.figure)} it is "
                f"{table[name].iloc[first]!r}, allowed: numbers"
            )


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
    if not set(keys) <= set(table):
        return
    expected = part.figure.protocol.expected(part.jobs, keys, table)
    inside, groups = np.zeros(len(table), bool), dict[tuple[str, ...], dict[tuple[Any, ...], list[int]]]()
    for place, products in expected.items():
        columns, values = tuple(dict(place)), tuple(dict(place).values())
        if columns not in groups:
            groups[columns] = _positions(table, columns)
        rows = groups[columns].get(values, [])
        inside[rows] = True
        if not rows:
            yield f"it has no rows of {in_words(place) or 'any place'}, which the plan has; allowed: all that it has"
        yield from _products(table.iloc[rows], place, products, keys)
    if expected and not inside.all():
        columns = tuple(dict.fromkeys(name for place in expected for name, _ in place))
        odd = tuple((name, table.loc[~inside, name].iloc[0]) for name in columns)
        yield f"it has rows of {in_words(odd)}; allowed: what the plan has"


def _doubled(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    return doubled(table, part.figure.keys)


def _derived(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    return contradictions(table, part.figure)


def _positions(table: pd.DataFrame, columns: Sequence[str]) -> dict[tuple[Any, ...], list[int]]:
    """The positions of a table's rows by their values in some columns, possibly none; None for NaN."""
    if not columns:
        return {(): [*range(len(table))]}
    values = (table[name].astype(object).where(table[name].notna(), None) for name in columns)
    groups = dict[tuple[Any, ...], list[int]]()
    for position, key in enumerate(zip(*values, strict=True)):
        groups.setdefault(key, []).append(position)
    return groups


def _products(
    rows: pd.DataFrame, place: Coordinates, products: Sequence[Product], keys: Sequence[str]
) -> Iterator[str]:
    """What a place's rows have more or less than its products, at each combination of the keys that these lack."""
    planned = list(products[0]) if products else []
    others = [key for key in keys if key not in planned and key not in dict(place)]
    free = [key for key in others if key not in ALONG]
    if not planned or rows.empty:
        return
    distinct = rows if others == free else rows[[*free, *planned]].drop_duplicates()
    every = list(zip(*(distinct[name].tolist() for name in planned), strict=True))
    wanted = {values for product in products for values in combinations(*product.values())}
    kinds = planned == ["run"] and any(not is_numeric_dtype(rows[name]) for name in free)
    for values, group in _positions(distinct, free).items():
        present = {every[position] for position in group}
        if present != wanted and not (kinds and frozenset(run for (run,) in present) in OF_NO_RUN):
            where = in_words((*place, *zip(free, values, strict=True))) or "it"
            yield f"{where} {_difference(planned, present, wanted)}"
    if others != free:
        yield from _prefixes(rows, place, free, next(key for key in others if key in ALONG))


def _difference(columns: Sequence[str], present: set[tuple[Any, ...]], wanted: set[tuple[Any, ...]]) -> str:
    """In words, a value that only one of two sets of rows has, or else a row."""
    for position, name in enumerate(columns):
        planned, own = ({row[position] for row in rows} for rows in (wanted, present))
        if planned != own:
            value = min(planned - own or own - planned, key=lambda each: (str(type(each)), each))
            span = f"the {len(planned)} of the plan, {min(planned)} to {max(planned)}"
            has = "has" if planned < own else "lacks"
            return f"{has} {in_words(at(**{name: value}))}; allowed: {name} as {span}, each"
    row = min(wanted - present or present - wanted)
    has = "lacks" if row in wanted else "has"
    return f"{has} {in_words(tuple(zip(columns, row, strict=True)))}; allowed: all rows of the plan, each once"


def _prefixes(rows: pd.DataFrame, place: Coordinates, free: list[str], along: str) -> Iterator[str]:
    """A run that ends early has the first of the recorded steps; one that is not followed, the last alone."""
    number = next((name for name in NUMBERED[:2] if name in rows and name not in free), None)
    rows = rows.dropna(subset=along)
    for values, group in rows.groupby(free, sort=False, dropna=False) if free else [((), rows)]:
        grid = np.sort(group[along].unique())
        for run, own in group.groupby(number)[along] if number else [(None, group[along])]:
            steps = np.sort(own.to_numpy())
            if len(steps) != len(grid) and not np.array_equal(steps, grid[: len(steps)]) and [*steps] != [grid[-1]]:
                lost = next(step for step in grid if step not in steps)
                where = in_words((*place, *zip(free, values, strict=True), (number or "run", run)))
                yield f"{where} lacks {along} {lost}; allowed: the first of the {len(grid)} recorded, or the last alone"
