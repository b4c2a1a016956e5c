"""Taking values out of a table, so that nothing counts that should not."""

import numpy as np
import pandas as pd

from resaudit.errors import ResauditError

# What lies under a spectrum's noise floor is not evidence; these columns are known only where `resolved` is true.
ONLY_IF_RESOLVED = ("condition_number", "lambda_p10")


def take(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The table, if it has these columns and no value is missing that should be there.

    Raises:
        ResauditError: a column or a value is missing.
    """
    lacking = [column for column in columns if column not in table]
    if lacking:
        raise ResauditError(f"column {', '.join(lacking)} is missing; there are {', '.join(table.columns)}")
    # Where a run has diverged it has no spectrum: the one reason for a value to be missing.
    excused = ~table["resolved"].astype(bool) if "resolved" in table else pd.Series(False, index=table.index)
    for column in columns:
        bad = table[column].isna() & ~excused
        if bad.any():
            row = int(np.flatnonzero(bad)[0]) + 2
            raise ResauditError(f"column {column} has no number in line {row} ({int(bad.sum())} such lines)")
    return table


def values_of(rows: pd.DataFrame, column: str) -> pd.Series:
    """A column as numbers, NaN where it is not evidence."""
    if column == "value":
        take(rows, "error", "tolerance")
        return rows[column].where(rows["error"] <= rows["tolerance"])
    if column in ONLY_IF_RESOLVED:
        take(rows, "resolved")
        return rows[column].where(rows["resolved"].astype(bool))
    return rows[column]


def of_network(table: pd.DataFrame, network: str) -> pd.DataFrame:
    """The rows of a network, possibly none."""
    return take(table, "network")[table["network"] == network]


def epoch_at(table: pd.DataFrame, share: float) -> int:
    """The last recorded epoch that is not after a share of the training, or the first one."""
    epochs = np.sort(take(table, "epoch")["epoch"].unique())
    before = epochs[epochs <= share * epochs[-1] + 1e-9]
    return int(before[-1])
