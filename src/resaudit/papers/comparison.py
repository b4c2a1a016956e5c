"""Whether a fresh table agrees with the committed reference, within the tolerances that the figure states."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.config import Figure, Tolerance
from resaudit.errors import ResauditError
from resaudit.files import Layout
from resaudit.papers.drawing import read_csv
from resaudit.plan import Plan


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> bool:
    """Compare each chosen figure's table with its reference and say the outcome, a line each.

    Returns:
        Whether all agree.

    Raises:
        ResauditError: a table has not been drawn yet, or has no reference.
    """
    layout, agreed = Layout(plan.config.paths), True
    for name, part in plan.figures.items():
        failures = list(disagreements(_read(layout.figure(name, "csv")), _read(layout.reference(name)), part.figure))
        say(f"{name}: {'; '.join(failures) if failures else 'agrees with the reference'}")
        agreed = agreed and not failures
    return agreed


def disagreements(fresh: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> Iterator[str]:
    """What is wrong with a fresh table, if anything: missing rows, or columns beyond their tolerance.

    Rows are matched by the figure's key columns. A value agrees if it is within absolute + relative * |reference|,
    or both are the same infinity or both missing.
    """
    wanted = set(reference.columns)
    if set(fresh.columns) != wanted:
        yield f"columns are {sorted(fresh.columns)}, the reference has {sorted(wanted)}"
        return
    joined = fresh.merge(reference, on=figure.keys, suffixes=("", "_reference"), how="outer", indicator=True)
    unmatched = int((joined["_merge"] != "both").sum())
    if unmatched:
        yield f"{unmatched} of {len(joined)} rows are in only one of the two (another scale?)"
    both = joined[joined["_merge"] == "both"]
    for column, tolerance in figure.tolerances.items():
        agreeing = _agreeing(both[column], both[f"{column}_reference"], tolerance)
        if len(both) and agreeing.mean() < tolerance.share:
            worst = int((~agreeing).sum())
            yield f"{column} is beyond its tolerance in {worst} of {len(both)} rows"


def _agreeing(fresh: pd.Series, reference: pd.Series, tolerance: Tolerance) -> np.ndarray:
    return np.isclose(fresh, reference, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)


def _read(path: Path) -> pd.DataFrame:
    for candidate in (path, path.with_name(f"{path.name}.gz")):
        if candidate.is_file():
            return read_csv(candidate)
    raise ResauditError(f"{path} does not exist; draw the figure first, or commit its reference")
