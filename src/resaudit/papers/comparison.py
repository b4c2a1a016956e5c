"""Whether a fresh table agrees with the committed reference, within the tolerances that the figure states."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.composition import config_folder, load
from resaudit.config import Figure, Tolerance
from resaudit.errors import ResauditError
from resaudit.explanation import deviations
from resaudit.files import Layout, write_json
from resaudit.papers.drawing import read_csv, write_csv
from resaudit.plan import Plan, snapshot_epochs
from resaudit.provenance import provenance

EPOCHS_IN_LARGE_REFERENCE = 60
LARGE_REFERENCE_BYTES = 2**20


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> bool:
    """Compare each chosen figure's table with its reference and say the outcome, a line each.

    Returns:
        Whether all agree.

    Raises:
        ResauditError: a table has not been drawn yet, or has no reference.
    """
    layout, agreed = Layout(plan.config.paths), True
    for name, part in plan.figures.items():
        fresh, reference = _read(layout.figure(name, "csv")), _read(reference_file(name))
        failures = list(disagreements(fresh, reference, part.figure))
        rows = f"{len(reference)} rows of the reference"
        say(f"{name}: {'; '.join(failures) if failures else f'agrees with all {rows}'}")
        agreed = agreed and not failures
    return agreed


def disagreements(fresh: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> Iterator[str]:
    """What of the reference a fresh table does not have, if anything: rows, or values within their tolerance.

    Rows are matched by the figure's key columns; a larger scale may have more of them. A value agrees if it is
    within absolute + relative * |reference|, or both are the same infinity or both missing.
    """
    if set(fresh.columns) != set(reference.columns):
        yield f"columns are {sorted(fresh.columns)}, the reference has {sorted(reference.columns)}"
        return
    joined = reference.merge(fresh, on=figure.keys, suffixes=("_reference", ""), how="left", indicator=True)
    both = joined[joined["_merge"] == "both"]
    if len(both) < len(reference):
        yield f"{len(reference) - len(both)} of the reference's {len(reference)} rows are missing (a smaller scale?)"
    for column, tolerance in figure.tolerances.items():
        agreeing = _agreeing(both[column], both[f"{column}_reference"], tolerance)
        if len(both) and agreeing.mean() < tolerance.share:
            yield f"{column} is beyond its tolerance in {int((~agreeing).sum())} of {len(both)} rows"


def write_references(plan: Plan, say: Callable[[str], None]) -> None:
    """Make the tables drawn here the references, each with what it is of in a ``.json`` beside it.

    A table too large to commit keeps 60 of its epochs, evenly on a logarithmic scale.

    Raises:
        ResauditError: a table has not been drawn yet.
    """
    layout, paper = Layout(plan.config.paths), load(["scale=paper"])
    for name in plan.figures:
        drawn, kept = layout.figure(name, "csv"), reference_file(name)
        table = _read(drawn)
        if drawn.stat().st_size > LARGE_REFERENCE_BYTES and "epoch" in table:
            epochs = snapshot_epochs(int(table["epoch"].max()), EPOCHS_IN_LARGE_REFERENCE)
            table = table[table["epoch"].isin(epochs)]
        write_csv(kept, table)
        about = {"scale": plan.config.scale.name, "differs from the protocol in": deviations(plan.config, paper, name)}
        write_json(kept.with_suffix(".json"), about | {"provenance": provenance()})
        say(f"{name}: {len(table)} rows in {kept}")


def reference_file(name: str) -> Path:
    """The committed table of ``paper/figure``."""
    return config_folder().parent / "figures" / "reference" / f"{name}.csv"


def _agreeing(fresh: pd.Series, reference: pd.Series, tolerance: Tolerance) -> np.ndarray:
    return np.isclose(fresh, reference, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise ResauditError(f"{path} does not exist; draw the figure first (snakemake --cores all)")
    return read_csv(path)
