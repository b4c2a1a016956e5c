"""A table is held against the plan, row by row, before anything is judged by it; and its runs against each other."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product as combinations
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype, is_numeric_dtype

from resaudit.figures.drawing import ODD_CONTENT, figure_module
from resaudit.plan.experiment import in_words
from resaudit.plan.plan import FigurePlan

WITHIN = ("learning_rate", "property", "layer", "units", "epoch", "step")
"""Keys along which a run has several values; the others, but for its stage, say of what it is a run."""
SAME = 1e-9
"""Values are the same if their relative difference is at most this."""
DIGITS = 8
"""Numbers with no more are counts, shares or settings."""
ALONE = 1e-6
"""No other run has a value so near, relatively."""
LEAST = 1e-12
"""Numbers below it may be roundings of zero, of which there are few."""
NUMBERED = ("run", "draw", "depth")
"""Keys that are integers in every table."""
ALONG = ("epoch", "step")
"""Keys along which a run is measured; the plan does not say at which."""
OF_NO_RUN = (-1, 0)
"""The run of rows of a kind that is of no single run; the plan does not know a table's kinds."""
CLOSE = 3e-7
"""Relative difference that rounding may make, also in single precision, which a variant of the spectra has."""
WHOLE = "whole table"
"""A column that is the same in all rows, so that a plan without places has one."""


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
        pairs = pairs[:, np.flatnonzero(np.isclose(*both, rtol=SAME, atol=0, equal_nan=True).all(axis=1))]
        found = Counter(zip(place[pairs[0]].tolist(), *np.sort(runs[pairs], axis=0).tolist(), strict=True))
        for pair in [pair for pair in found if pair not in seen]:
            at, first, second = pair
            of_both = (rows[(place == at) & (runs == run)].set_index(within or by) for run in (first, second))
            one, other = next(of_both).align(next(of_both), join="inner", axis=0)
            if (
                2 * found[pair] > drawn[(place == at) & (runs == first)].sum()
                and np.isclose(one[columns], other[columns], rtol=SAME, atol=0, equal_nan=True).all()
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
    clusters = np.concatenate([[0], np.cumsum(~_near(values[order], SAME))])
    each = np.unique(np.stack([clusters, runs[order]]), axis=1)[0]
    few = np.empty(len(values), bool)
    few[order] = np.bincount(each)[clusters] <= max(2, len(np.unique(runs)) // 3)
    order = np.lexsort((values, groups))
    values, joined = values[order], np.diff(groups[order]) == 0
    same, near = joined & _near(values, SAME), joined & _near(values, ALONE)
    padded = np.concatenate([[False], near & ~same, [False]])
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    last = np.concatenate([first[1:], [len(values)]]) - 1
    varied = ~np.isclose(values[first], values[last], rtol=SAME, atol=0).repeat(last - first + 1)
    chosen = same & varied[1:] & few[order][1:] & ~(padded[:-2] | padded[2:])
    return order[:-1][chosen], order[1:][chosen]


def _near(values: np.ndarray, share: float) -> np.ndarray:
    """Whether each of ascending values is so near to the next, shape (values - 1,)."""
    return np.asarray(np.diff(values) <= share * np.abs(values[1:]))


def unexpected(table: pd.DataFrame, part: FigurePlan) -> str | None:
    """What a table of this figure cannot contain, in words, with what is allowed; None: nothing.

    It is held against the plan (:meth:`resaudit.plan.experiment.Experiment.expected`), its runs against each other
    (:func:`~resaudit.figures.expected.doubled`), and its columns against those that they follow from, by the functions
    ``DERIVED`` of the figure's module; those that its ``COUNTED`` names count some of the column ``runs``.
    """
    checks = (_keys, _numbers, _counts, _rows, lambda *_: doubled(table, part.figure.keys), _derived)
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
            text = there & pd.to_numeric(table[name], errors="coerce").isna()
            # Numbers that are all written as text are text, too.
            text = text if text.any() else there
            yield f"{name} has text in {text.sum()} rows; {_first(table, name, text, part)}, allowed: numbers"


def _counts(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    if "runs" not in table or not is_numeric_dtype(table["runs"]):
        return
    runs = table["runs"]
    counted = getattr(figure_module(part.figure.name), "COUNTED", ())
    for name in [name for name in counted if name in table]:
        count = pd.to_numeric(table[name], errors="coerce")
        of_no_runs = table[name].isna() & runs.isna() & ("run" in part.figure.keys)
        if not (of_no_runs | count.between(0, runs) & (count % 1 + runs % 1 == 0)).all():
            yield f"{name} is not a count of runs everywhere; allowed: whole numbers from 0 to runs"


def _rows(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    """The plan's rows must be there, at each combination of the keys that the plan leaves open, and no others."""
    keys = part.figure.keys
    if not set(keys) <= set(table):
        return
    table, inside = table.assign(**{WHOLE: 0}), np.zeros(len(table), bool)
    for place, product, rows in _planned(part, table):
        plan = pd.DataFrame(rows, columns=[*place, *product])
        plan = plan.astype({name: table[name].dtype for name in plan})
        of_place = table[place].merge(plan[place].drop_duplicates(), how="left", indicator=True)["_merge"]
        inside |= (here := (of_place == "both").to_numpy())
        others = [key for key in keys if key not in plan]
        # Keys that the plan leaves open, but for those along which a run is measured, have the plan's rows each.
        at = [*place, *(key for key in others if key not in ALONG)]
        found = table.loc[here, [*at, *product]].drop_duplicates()
        both = plan.merge(found[at].drop_duplicates(), how="left", on=place).merge(found, how="outer", indicator=True)
        both = both[both["_merge"] != "both"].sort_values("_merge", kind="stable")
        # But rows of another kind, which a key in words tells, may be of no single run.
        if product == ["run"] and not all(is_numeric_dtype(table[key]) for key in at[len(place) :]):
            alone = found[
                found["run"].isin(OF_NO_RUN) & (found.groupby(at, dropna=False)["run"].transform("size") == 1)
            ]
            both = both[both[at].merge(alone[at], how="left", indicator=True)["_merge"].ne("both").to_numpy()]
        for row in both[:1].to_dict("records"):
            has = "lacks" if row["_merge"] == "left_only" else "has"
            where, which = [_words(row, at), _words(row, product)] if product else ["", _words(row, at)]
            yield f"{where or 'it'} {has} {which}; allowed: all rows of the plan, and no others"
        for along in (key for key in others if product and key in ALONG):
            yield from _prefixes(table[here], at, along)
    if inside.any() and not inside.all():
        odd = table[~inside].iloc[0].to_dict()
        yield f"it has rows of {_words(odd, keys)}; allowed: what the plan has"


def _planned(part: FigurePlan, table: pd.DataFrame) -> Iterator[tuple[list[str], list[str], list[tuple[Any, ...]]]]:
    """The planned rows with the same columns: those of their place, those of its products, and the values."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[Any, ...]]] = {}
    for place, products in part.figure.protocol.expected(part.jobs, part.figure.keys, table).items():
        for product in products:
            columns = (WHOLE, *dict(place)), tuple(product)
            rows = groups.setdefault(columns, [])
            rows += [(0, *dict(place).values(), *values) for values in combinations(*product.values())]
    return ((list(place), list(product), rows) for (place, product), rows in groups.items())


def _prefixes(rows: pd.DataFrame, at: list[str], along: str) -> Iterator[str]:
    """A run that ends early has the first of the recorded steps; one that is not followed, the last alone."""
    number = next((name for name in NUMBERED[:2] if name in rows and name not in at), None)
    if number is None:
        return
    rows = rows.dropna(subset=along)
    rank = rows.groupby(at, dropna=False)[along].rank("dense")
    recorded = rank.groupby([rows[name] for name in at], dropna=False).transform("max")
    of_run = rank.groupby([rows[name] for name in (*at, number)], dropna=False)
    steps, last = of_run.transform("nunique"), of_run.transform("max")
    for row in rows[(last > steps) & ((steps > 1) | (last < recorded))][:1].to_dict("records"):
        where = _words(row, [*at, number])
        yield f"{where} lacks a recorded {along}; allowed: the first ones, or the last alone"


def _words(row: Mapping[Any, Any], columns: Sequence[str]) -> str:
    """A row's values in some columns in words, without empty ones."""
    return in_words(tuple((name, row[name]) for name in columns if name != WHOLE and row[name] == row[name]))


def _derived(table: pd.DataFrame, part: FigurePlan) -> Iterator[str]:
    """Columns that do not follow from the others as ``DERIVED`` of the figure's module has them.

    It names functions of a table by column; they return the column again, NaN in rows that they say nothing of.
    """
    functions = getattr(figure_module(part.figure.name), "DERIVED", {})
    for name in [name for name in functions if name in table]:
        again, column = functions[name](table), table[name]
        same = column == again
        if is_numeric_dtype(column) and is_numeric_dtype(again):
            same |= np.isclose(column.astype(float), again.astype(float), rtol=CLOSE, atol=0)
        if (wrong := again.notna() & ~same).any():
            first = _first(table, name, wrong, part)
            yield (
                f"{name} does not follow from the other columns in {wrong.sum()} rows; {first}, allowed: "
                f"{again[wrong].iloc[0]}"
            )


def _first(table: pd.DataFrame, name: str, rows: "pd.Series[bool]", part: FigurePlan) -> str:
    """The first of some rows in words: its keys, its line in the file, and its value in a column."""
    position = int(rows.to_numpy().argmax())
    row = table.iloc[position].to_dict()
    where = _words(row, [key for key in part.figure.keys if key in table])
    return f"at {where} (line {position + 2}) it is {row[name]!r}"
