"""Comparing new tables with the committed references, within each figure's tolerances."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.config.composition import config_folder
from resaudit.config.models import Figure, Tolerance
from resaudit.errors import ResauditError, in_one_line
from resaudit.papers.drawing import ODD_CONTENT, read_about, read_csv, write_csv
from resaudit.plan.layout import Layout
from resaudit.plan.plan import Plan
from resaudit.store.files import sha256_of, write_json
from resaudit.training.snapshots import snapshot_epochs

EPOCHS_IN_LARGE_REFERENCE = 60
LARGE_REFERENCE_BYTES = 2**20
MAY_BE_REDUCED = frozenset({"depths", "runs", "learning rates", "per network", "hessian epochs"})


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> bool:
    """Compare each chosen figure's table with its reference and report one line each.

    Returns:
        Whether all agree.
    """
    layout, agreed = Layout(plan.config.paths), True
    for name, part in plan.figures.items():
        notes: list[str] = []
        try:
            failures, notes = _compared(layout.figure(name, "csv"), reference_file(name), part.figure)
        except ResauditError as error:
            failures = [str(error)]
        say(f"{name}: {in_one_line('; '.join([*(failures or ['agrees with the reference']), *notes]))}")
        agreed = agreed and not failures
    return agreed


def _compared(fresh: Path, reference: Path, figure: Figure) -> tuple[list[str], list[str]]:
    """The disagreements of a table with its reference, and the networks drawn at another tied learning rate."""
    if not reference.is_file():
        raise ResauditError(f"{reference} does not exist: this figure has no reference yet")
    drawn_of, reference_of = (read_about(file)["values"] for file in (_drawn(fresh), reference))
    others = [
        f"{key} is {drawn_of.get(key)}, in the reference {reference_of[key]}"
        for key in reference_of
        if key not in MAY_BE_REDUCED and drawn_of.get(key) != reference_of[key]
    ]
    try:
        tables = read_csv(fresh), read_csv(reference)
        return others or list(disagreements(*tables, figure)), other_choices(*tables)
    except ODD_CONTENT as error:
        reason = f"{type(error).__name__}: {error}"
        raise ResauditError(
            f"{fresh} cannot be compared with its reference ({reason}); draw the figure again"
        ) from error


def _drawn(table: Path) -> Path:
    if not table.is_file():
        raise ResauditError(f"{table} does not exist; draw the figure first (snakemake --cores all)")
    return table


def disagreements(fresh: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> Iterator[str]:
    """The rows of the reference that a new table lacks, and the columns that exceed their tolerance.

    Rows are matched by the figure's key columns; a larger scale may have more rows. A value agrees if it is within
    absolute + relative * |reference|, or both are the same infinity or both missing. The last digit can decide which
    rates are tied for the best, so the table may lack tied rates that the reference does not show.
    """
    if set(fresh.columns) != set(reference.columns):
        yield f"columns are {sorted(fresh.columns)}, the reference has {sorted(reference.columns)}"
        return
    if "shown" in reference:
        followed = _followed(reference, fresh) | ~_followed(reference, reference)
        reference = reference[reference["shown"] | followed]
    joined = reference.merge(
        fresh, on=figure.keys, suffixes=("_reference", ""), how="left", indicator=True, validate="1:1"
    )
    both = joined[joined["_merge"] == "both"]
    if len(both) < len(reference):
        yield f"{len(reference) - len(both)} of the reference's {len(reference)} rows are missing (a smaller scale?)"
    for column, tolerance in figure.tolerances.items():
        agreeing = _agreeing(both, column, tolerance)
        if len(both) and agreeing.mean() < tolerance.share:
            yield (
                f"{column} is beyond its tolerance in {int((~agreeing).sum())} of {len(both)} rows, "
                f"furthest at {_furthest(both[~agreeing], column, figure.keys)}"
            )


def write_references(plan: Plan, say: Callable[[str], None]) -> None:
    """Copy the drawn tables, with their ``.json``, to the references.

    Of a large table with epochs, 60 epochs are kept, evenly spaced on a logarithmic scale.

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
        write_json(kept.with_suffix(".json"), about | {"sha256": sha256_of(kept)})
        say(f"{name}: {len(table)} rows in {kept}")


def reference_file(name: str) -> Path:
    """The committed table of ``paper/figure``."""
    return config_folder().parent / "figures" / "reference" / f"{name}.csv"


def _agreeing(both: pd.DataFrame, column: str, tolerance: Tolerance) -> np.ndarray:
    fresh, reference, absolute = both[column], both[f"{column}_reference"], np.full(len(both), tolerance.absolute)
    if tolerance.eigenvalues:
        # Plus half an eigenvalue, since shares are rounded.
        absolute += (tolerance.eigenvalues + 0.5) / both["eigenvalues"].to_numpy()
    return np.isclose(fresh, reference, rtol=tolerance.relative, atol=absolute, equal_nan=True)


def _furthest(beyond: pd.DataFrame, column: str, keys: list[str]) -> str:
    """The row with the largest relative difference from its reference, in words."""
    fresh, reference = beyond[column], beyond[f"{column}_reference"]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(fresh - reference) / np.abs(reference)
    row = beyond.iloc[int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))]
    place = ", ".join(f"{key} {row[key]}" for key in keys)
    return f"{place}: {row[column]:.4g}, in the reference {row[f'{column}_reference']:.4g}"


def _followed(rows: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Which rows belong to a network, depth and learning rate for which a table has all epochs, not just the last."""
    of_curve = [column for column in _CURVE if column in table]
    curves = pd.MultiIndex.from_frame(table.loc[table["epoch"] == 0, of_curve])
    return np.asarray(pd.MultiIndex.from_frame(rows[of_curve]).isin(curves))


def other_choices(fresh: pd.DataFrame, reference: pd.DataFrame) -> list[str]:
    """The networks that are drawn at another tied learning rate than in the reference."""
    if "shown" not in reference:
        return []
    of_network = [column for column in _CURVE[:-1] if column in reference]
    here, there = (
        table.loc[table["shown"], [*of_network, "learning_rate"]].drop_duplicates() for table in (fresh, reference)
    )
    both = there.merge(here, on=of_network, suffixes=("_there", ""))
    return [
        f"{' '.join(str(row[key]) for key in of_network)} is drawn at rate {row['learning_rate']:.3g}, "
        f"in the reference at {row['learning_rate_there']:.3g}"
        for row in both.to_dict("records")
        if row["learning_rate"] != row["learning_rate_there"]
    ]


_CURVE = ("network", "depth", "learning_rate")
