"""Checked access to the values of a table."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from resaudit.base.errors import CheckError, ResauditError, TableError, listed
from resaudit.claims.checks.measured import Counted
from resaudit.figures.sweeps import fresh

if TYPE_CHECKING:
    import pandas as pd

# Values under a spectrum's noise floor are not evidence; these columns are known only where `resolved` is true.
ONLY_IF_RESOLVED = ("condition_number", "lambda_p10")
# Columns that identify a row; they have values even if the run diverged.
KEYS = ("network", "depth", "learning_rate", "run", "epoch")
SHARES = ("index",)
"""Columns of shares, from 0 to 1."""
TEXTS = ("network", "run", "draw", "property")
"""Columns whose values may be text; so may any that a check groups or chooses rows by."""


def take(table: "pd.DataFrame", *columns: str, by: Collection[str] = ()) -> "pd.DataFrame":
    """Return the table after checking that it has these columns and no required value is missing.

    Args:
        table: a figure's table.
        columns: columns of numbers, or of :data:`TEXTS`.
        by: the columns that rows are grouped or chosen by; their values may be text, except of :data:`KEYS`.
    """
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    lacking = [column for column in columns if column not in table]
    if lacking:
        raise _missing_column(table, lacking)
    # Only a diverged run may lack values: it has no spectrum.
    may_be_missing = ~resolved(table) if "resolved" in table else pd.Series(False, index=table.index)
    for column in columns:
        lacks = table[column].isna() & (~may_be_missing | (column in KEYS))
        refuse(table, column, lacks, "no value", "a value, which is inf where a run diverged")
        may_be_text = column in TEXTS or (column in by and column not in KEYS)
        if not may_be_text and not is_numeric_dtype(table[column]):
            numbers = pd.to_numeric(table[column], errors="coerce").notna()
            refuse(table, column, numbers if numbers.all() else ~numbers, "text", "numbers")
    return table


def resolved(table: "pd.DataFrame") -> "pd.Series":
    """Whether each row's spectrum lies above its noise floor."""
    if "resolved" not in table:
        raise _missing_column(table, ["resolved"])
    # Any text would count as true.
    refuse(table, "resolved", ~table["resolved"].isin([True, False]), "another value", "True, False")
    return table["resolved"].astype(bool)


def not_negative(table: "pd.DataFrame", *columns: str) -> "pd.DataFrame":
    """Return the table after checking that these columns are not negative."""
    for column in columns:
        refuse(table, column, take(table, column)[column] < 0, "a negative number", "≥ 0")
    return table


def _missing_column(table: "pd.DataFrame", lacking: list[str]) -> ResauditError:
    return CheckError(f"column {listed(lacking)} is missing; there are {listed(list(table.columns))}")


def refuse(table: "pd.DataFrame", column: str, bad: "pd.Series", fault: str, allowed: str) -> None:
    """Raise an error that names the first of the bad rows of a column, if there is one."""
    if bad.any():
        raise TableError(
            f"column {column} has {fault} in line {int(table.index[bad][0]) + 2} ({int(bad.sum())} such lines); "
            f"allowed: {allowed}",
            row=int(bad.to_numpy().argmax()),
        )


def values_of(rows: "pd.DataFrame", column: str) -> "pd.Series":
    """A column as numbers, NaN where unresolved: a ``value`` whose ``error``, if known, exceeds its ``tolerance``."""
    if column == "value" and {"error", "tolerance"} <= set(rows):
        take(rows, "error", "tolerance")
        return rows[column].where(rows["error"] <= rows["tolerance"])
    if column in ONLY_IF_RESOLVED:
        return rows[column].where(resolved(rows))
    return rows[column]


def bounds_of_difference(column: str) -> tuple[float, float]:
    """The least and the largest difference of two values of a column."""
    return (-1.0, 1.0) if column in SHARES else (-np.inf, np.inf)


def logarithm(values: np.ndarray, what: str) -> np.ndarray:
    """Natural logarithms; minus infinity for zero."""
    if (values < 0).any():
        raise CheckError(
            f"column {what} has negative numbers, which have no ratio (the least is {np.nanmin(values):.3g})",
            least_of=what,
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def logarithms(values: "pd.Series", what: str) -> "pd.Series":
    """Natural logarithms of a series; raises as :func:`logarithm`."""
    import pandas as pd

    return pd.Series(logarithm(values.to_numpy(dtype=float), what), index=values.index, name=values.name)


def by_run(rows: "pd.DataFrame", column: str, where: str) -> "pd.Series":
    """A column as numbers, NaN where unresolved, by run (or draw) number, ascending; its name is :func:`rate_of`."""
    key = next((name for name in ("run", "draw") if name in rows), None)
    if key is None:
        return values_of(rows, column).reset_index(drop=True).rename(rate_of(rows))
    if rows[key].duplicated().any():
        raise CheckError(f"{where} has a {key} more than once; a table with epochs needs epochs in the check")
    return values_of(rows, column).set_axis(rows[key]).sort_index().rename(rate_of(rows))


def rate_of(rows: "pd.DataFrame") -> float | None:
    """The learning rate of rows that have one."""
    rates = set(rows["learning_rate"]) if "learning_rate" in rows else set()
    return float(rates.pop()) if len(rates) == 1 else None


def at_tied_rates(rows: "pd.DataFrame") -> "list[pd.DataFrame]":
    """One network's rows (at one depth) at the learning rate shown, then at each one tied with it.

    With a confirmation, the rows of its runs. A table without the column ``shown`` has one rate.
    """
    rows = fresh(rows)
    if "shown" not in rows or rows["shown"].all():
        return [rows]
    shown = rows[rows["shown"]]
    # Of a rate that is not tied a table has the end alone.
    ends = rows["epoch"].max() if rows["epoch"].max() > rows["epoch"].min() else np.inf
    others = [rate for _, rate in rows[~rows["shown"]].groupby("learning_rate") if (rate["epoch"] < ends).any()]
    return [shown, *others]


def of_network(table: "pd.DataFrame", network: str) -> "pd.DataFrame":
    """The rows of a network, possibly none."""
    return take(table, "network")[table["network"] == network]


def diverged_in(rows: "pd.DataFrame", *columns: str) -> Counted:
    """How many of how many runs have an infinite loss, or value of another column, at some epoch."""
    lost = (rows[["loss", *columns]] == np.inf).any(axis=1).groupby(rows["run"]).any()
    return int(lost.sum()), len(lost)


def epoch_at(table: "pd.DataFrame", share: float) -> int | None:
    """The last recorded epoch that is not after a share of the training; None if it is not near.

    Recorded epochs are even, or even in their logarithm, so that steps grow: the place is at most as far behind the
    epoch as that after the next one is long, and one for rounding. The start is near to no other place.
    """
    epochs = np.sort(take(table, "epoch")["epoch"].unique())
    place = share * epochs[-1]
    before, after = (epochs[chosen] for chosen in (epochs <= place + 1e-9, epochs > place + 1e-9))
    step = np.diff(after)[:1].sum() + 1
    near = len(before) and (place - before[-1] < 1e-6 or (before[-1] > 0 and place - before[-1] < step))
    return int(before[-1]) if near else None


def not_near(table: "pd.DataFrame", share: float) -> str:
    """That no recorded epoch is near a share of the training, as a missing place."""
    return f"epoch {share * table['epoch'].max():g}: no recorded epoch is near"


def rows_with(table: "pd.DataFrame", values: Mapping[str, str]) -> "pd.DataFrame":
    """The rows that have these values in these columns."""
    for column, value in values.items():
        table = table[table[column].astype(str) == value]
    return table


def by_values(table: "pd.DataFrame", columns: Sequence[str]) -> "list[tuple[str, pd.DataFrame]]":
    """The rows of each combination of these columns' values, by its name."""
    return [
        (", ".join(f"{words(column)} {value}" for column, value in zip(columns, values, strict=True)), rows)
        for values, rows in table.groupby(list(columns), sort=False)
    ]


def pieces(
    table: "pd.DataFrame", values: Mapping[str, str], per: Sequence[str], columns: Sequence[str]
) -> "list[tuple[str, pd.DataFrame]]":
    """The rows that have these values, of each combination of the values of ``per``, by name; raises as :func:`take`.

    Args:
        table: a figure's table.
        values: values that select rows, by column.
        per: the columns whose combinations are told apart; at least one.
        columns: further columns that must be there, of numbers or of :data:`TEXTS`.
    """
    take(table, *values, *per, *columns, by=(*values, *per))
    return by_values(rows_with(table, values), per)


def words(column: str) -> str:
    """A column's name in a text."""
    return column.replace("_", " ")
