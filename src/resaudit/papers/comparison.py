"""Whether a fresh table agrees with the committed reference, within the tolerances that the figure states."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.composition import config_folder
from resaudit.config import Figure, Tolerance
from resaudit.errors import ResauditError, in_one_line
from resaudit.files import Layout, write_json
from resaudit.papers.drawing import ODD_CONTENT, read_about, read_csv, write_csv
from resaudit.plan import Plan, snapshot_epochs

EPOCHS_IN_LARGE_REFERENCE = 60
LARGE_REFERENCE_BYTES = 2**20
MAY_BE_REDUCED = frozenset({"depths", "runs", "learning rates", "otherwise", "hessian epochs"})


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> bool:
    """Compare each chosen figure's table with its reference and say the outcome, a line each.

    Returns:
        Whether all agree.
    """
    layout, agreed = Layout(plan.config.paths), True
    for name, part in plan.figures.items():
        try:
            failures = _disagreements_of_files(layout.figure(name, "csv"), reference_file(name), part.figure)
        except ResauditError as error:
            failures = [str(error)]
        say(f"{name}: {in_one_line('; '.join(failures)) or 'agrees with the reference'}")
        agreed = agreed and not failures
    return agreed


def _disagreements_of_files(fresh: Path, reference: Path, figure: Figure) -> list[str]:
    if not reference.is_file():
        raise ResauditError(f"{reference} does not exist: this figure has no reference yet")
    drawn_of, reference_of = (read_about(file)["values"] for file in (_drawn(fresh), reference))
    others = [
        f"{key} is {drawn_of.get(key)}, in the reference {reference_of[key]}"
        for key in reference_of
        if key not in MAY_BE_REDUCED and drawn_of.get(key) != reference_of[key]
    ]
    try:
        return others or list(disagreements(read_csv(fresh), read_csv(reference), figure))
    except ODD_CONTENT as error:
        told = f"{type(error).__name__}: {error}"
        raise ResauditError(f"{fresh} cannot be compared with its reference ({told}); draw the figure again") from error


def _drawn(table: Path) -> Path:
    if not table.is_file():
        raise ResauditError(f"{table} does not exist; draw the figure first (snakemake --cores all)")
    return table


def disagreements(fresh: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> Iterator[str]:
    """What of the reference a fresh table does not have, if anything: rows, or values within their tolerance.

    Rows are matched by the figure's key columns; a larger scale may have more of them. A value agrees if it is
    within absolute + relative * |reference|, or both are the same infinity or both missing.
    """
    if set(fresh.columns) != set(reference.columns):
        yield f"columns are {sorted(fresh.columns)}, the reference has {sorted(reference.columns)}"
        return
    joined = reference.merge(
        fresh, on=figure.keys, suffixes=("_reference", ""), how="left", indicator=True, validate="1:1"
    )
    both = joined[joined["_merge"] == "both"]
    if len(both) < len(reference):
        yield f"{len(reference) - len(both)} of the reference's {len(reference)} rows are missing (a smaller scale?)"
    for column, tolerance in figure.tolerances.items():
        agreeing = _agreeing(both[column], both[f"{column}_reference"], tolerance)
        if len(both) and agreeing.mean() < tolerance.share:
            yield f"{column} is beyond its tolerance in {int((~agreeing).sum())} of {len(both)} rows"


def write_references(plan: Plan, say: Callable[[str], None]) -> None:
    """Make the tables drawn here the references, each with the ``.json`` that says what it is of.

    A table too large to commit keeps 60 of its epochs, evenly on a logarithmic scale.

    Raises:
        ResauditError: a table has not been drawn yet.
    """
    layout = Layout(plan.config.paths)
    for name in plan.figures:
        drawn, kept = _drawn(layout.figure(name, "csv")), reference_file(name)
        about, table = read_about(drawn), read_csv(drawn)
        if drawn.stat().st_size > LARGE_REFERENCE_BYTES and "epoch" in table:
            epochs = snapshot_epochs(int(table["epoch"].max()), EPOCHS_IN_LARGE_REFERENCE)
            table = table[table["epoch"].isin(epochs)]
        write_csv(kept, table)
        write_json(kept.with_suffix(".json"), about)
        say(f"{name}: {len(table)} rows in {kept}")


def reference_file(name: str) -> Path:
    """The committed table of ``paper/figure``."""
    return config_folder().parent / "figures" / "reference" / f"{name}.csv"


def _agreeing(fresh: pd.Series, reference: pd.Series, tolerance: Tolerance) -> np.ndarray:
    return np.isclose(fresh, reference, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)
