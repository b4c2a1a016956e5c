"""Taking values out of a table, so that nothing counts that should not."""

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from resaudit.errors import ResauditError

# What lies under a spectrum's noise floor is not evidence; these columns are known only where `resolved` is true.
ONLY_IF_RESOLVED = ("condition_number", "lambda_p10")
# What says which observation a row is: it is there whatever became of the run, and need not be a number.
KEYS = ("network", "depth", "learning_rate", "run", "epoch")
WORDS = ("network", "run", "draw", "property", "data", "activations")


def take(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table, if it has these columns and no value is missing that should be there.

    Raises:
        ResauditError: a column or a value is missing.
    """
    lacking = [column for column in columns if column not in table]
    if lacking:
        raise ResauditError(f"column {', '.join(lacking)} is missing; there are {', '.join(table.columns)}")
    # Where a run has diverged it has no spectrum: the one reason for a value to be missing.
    excused = ~resolved(table) if "resolved" in table else pd.Series(False, index=table.index)
    for column in columns:
        bad = table[column].isna() & (~excused | (column in KEYS))
        _refuse(table, bad, f"column {column} has no number")
        if column not in WORDS and not is_numeric_dtype(table[column]):
            numbers = pd.to_numeric(table[column], errors="coerce").notna()
            _refuse(
                table, ~numbers if not numbers.all() else numbers, f"column {column} has text where a number is needed"
            )
    return table


def resolved(table: pd.DataFrame) -> pd.Series:
    """Whether each row's spectrum lies above its noise floor.

    Raises:
        ResauditError: the column is missing, or has something else than True and False.
    """
    if "resolved" not in table:
        raise ResauditError(f"column resolved is missing; there are {', '.join(table.columns)}")
    # Text would count as true, whatever it says.
    _refuse(table, ~table["resolved"].isin([True, False]), "column resolved has something else than True and False")
    return table["resolved"].astype(bool)


def not_negative(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table, if these columns, which cannot be negative, are not.

    Raises:
        ResauditError: a column or a value is missing, or negative.
    """
    for column in columns:
        _refuse(table, take(table, column)[column] < 0, f"column {column} has a negative number")
    return table


def _refuse(table: pd.DataFrame, bad: pd.Series, what: str) -> None:
    if bad.any():
        line = int(table.index[bad][0]) + 2
        raise ResauditError(f"{what} in line {line} ({int(bad.sum())} such lines)")


def values_of(rows: pd.DataFrame, column: str) -> pd.Series:
    """A column as numbers, NaN where it is not evidence."""
    if column == "value":
        take(rows, "error", "tolerance")
        return rows[column].where(rows["error"] <= rows["tolerance"])
    if column in ONLY_IF_RESOLVED:
        return rows[column].where(resolved(rows))
    return rows[column]


def logarithm(values: np.ndarray, what: str) -> np.ndarray:
    """Natural logarithms for ratios of geometric means; of zero, minus infinity.

    Raises:
        ResauditError: a value is negative.
    """
    if (values < 0).any():
        raise ResauditError(
            f"column {what} has negative numbers, which have no ratio (the least is {np.nanmin(values):.3g})"
        )
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def logarithms(values: pd.Series, what: str) -> pd.Series:
    """The same by run; raises as :func:`logarithm`."""
    return pd.Series(logarithm(values.to_numpy(dtype=float), what), index=values.index)


def by_run(rows: pd.DataFrame, column: str, where: str) -> pd.Series:
    """A column as numbers, NaN where it is not evidence, by the number of the run (or draw), ascending.

    Raises:
        ResauditError: a run stands there more than once.
    """
    key = next((name for name in ("run", "draw") if name in rows), None)
    if key is None:
        return values_of(rows, column).reset_index(drop=True)
    if rows[key].duplicated().any():
        raise ResauditError(f"{where} has a {key} more than once; a table with epochs needs epochs in the check")
    return values_of(rows, column).set_axis(rows[key]).sort_index()


def at_tied_rates(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """One network's rows (at one depth) at the learning rate that is shown, then at each one tied with it.

    Of the others those runs count that did not diverge. A table that does not say which rate is shown has one.
    """
    if "shown" not in rows or rows["shown"].all():
        return [rows]
    others = [part for _, part in rows[~rows["shown"]].groupby("learning_rate") if (part["epoch"] == 0).any()]
    return [rows[rows["shown"]], *(part[~part["run"].isin(diverged(part))] for part in others)]


def diverged(rows: pd.DataFrame) -> set[int]:
    """The runs that are infinite at some epoch."""
    measures = [column for column in ("loss", "mean_frobenius_norm") if column in rows]
    return set(rows["run"][np.isinf(rows[measures].to_numpy()).any(axis=1)])


def of_network(table: pd.DataFrame, network: str) -> pd.DataFrame:
    """The rows of a network, possibly none."""
    return take(table, "network")[table["network"] == network]


def epoch_at(table: pd.DataFrame, share: float) -> int:
    """The last recorded epoch that is not after a share of the training, or the first one."""
    epochs = np.sort(take(table, "epoch")["epoch"].unique())
    before = epochs[epochs <= share * epochs[-1] + 1e-9]
    return int(before[-1] if len(before) else epochs[0])
