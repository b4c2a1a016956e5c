"""Comparing new tables with the committed references, within each figure's tolerances."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.base.errors import ResauditError, in_one_line
from resaudit.base.files import sha256_of, write_json
from resaudit.figures.drawing import read_about, read_csv, write_csv
from resaudit.figures.references import references
from resaudit.figures.snapshots import snapshot_epochs
from resaudit.figures.tables import Drawn, drawn, errors_naming
from resaudit.plan.layout import Layout
from resaudit.plan.models import ColumnTolerance, Figure
from resaudit.plan.plan import Plan

EPOCHS_IN_LARGE_REFERENCE = 60
LARGE_REFERENCE_BYTES = 2**20
NO_EPOCH = -1
MAY_BE_REDUCED = frozenset({"depths", "runs", "learning rates", "per network", "hessian epochs"})


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> list[str]:
    """Compare each chosen figure's table with its reference, if it is drawn, and report one line each.

    Returns:
        The figures that have a reference and could not be shown to agree with it.
    """
    failed, kept, layout = [], references(plan), Layout(plan.config.paths)
    for name, part in plan.figures.items():
        if not layout.figure(name, "csv").is_file():
            say(f"{name}: not drawn in {layout.figures}")
            continue
        reference, failures, notes = kept[name], list[str](), list[str]()
        try:
            if reference.is_file():
                failures, notes = _compared(_drawn(plan, name), reference, part.figure)
                notes.insert(0, _judged_by(name, plan) if failures else "agrees with the reference")
            else:
                notes = ["no reference to compare with yet; resaudit reference makes one"]
        except ResauditError as error:
            failures = [str(error)]
        say(in_one_line(f"{name}: {'; '.join([*failures, *notes])}"))
        failed += [name] if failures else []
    return failed


def _compared(fresh: Drawn, reference: Path, figure: Figure) -> tuple[list[str], list[str]]:
    """The disagreements of a table with its reference, and the networks drawn at another tied learning rate."""
    drawn_of, reference_of = fresh.about["values"], read_about(reference)["values"]
    others = [
        f"{key} is {drawn_of.get(key)}, in the reference {reference_of[key]}"
        for key in reference_of
        if key not in MAY_BE_REDUCED and drawn_of.get(key) != reference_of[key]
    ]
    with errors_naming(f"table of {fresh.name}, compared with its reference", fresh.name):
        tables = fresh.table, read_csv(reference)
        return others or list(disagreements(*tables, figure)), other_choices(*tables)


def _judged_by(name: str, plan: Plan) -> str:
    paper, figure = name.split("/")
    claims = [key for key, claim in plan.config.claims_of(paper).items() if claim.evidence == figure]
    return f"judged by it: {', '.join(claims) or 'no claim'}"


def _drawn(plan: Plan, name: str) -> Drawn:
    figure = drawn(plan, name)
    if figure is None:
        raise ResauditError(f"{name} is not drawn in {plan.config.paths.figures} yet (snakemake --cores all)")
    return figure


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
            beyond = both[~agreeing]
            yield (
                f"{column} is beyond its tolerance in {len(beyond)} of {len(both)} rows"
                f"{_shared(beyond, both, figure.keys)}, furthest at {_furthest(beyond, column, figure.keys)}"
            )


def write_references(plan: Plan, say: Callable[[str], None], force: bool = False) -> None:
    """Copy the drawn tables, with their ``.json``, to the references; of other data, under that data set's name.

    Of a large table with more than 60 epochs, 60 are kept, evenly spaced on a logarithmic scale, and rows of no epoch.

    Raises:
        ResauditError: a table has not been drawn, or, without ``force``, its reference is of another scale.
    """
    figures, files = [_drawn(plan, name) for name in plan.figures], references(plan)
    for figure in figures if not force else ():
        kept, scale = files[figure.name], figure.about["scale"]
        if kept.is_file() and (known := read_about(kept).get("scale")) != scale:
            raise ResauditError(f"{kept} is of scale {known}, the drawn table of scale {scale}; --force replaces it")
    for figure in figures:
        kept, table = files[figure.name], _thinned(figure.table)
        write_csv(kept, table)
        write_json(kept.with_suffix(".json"), figure.about | {"sha256": sha256_of(kept)})
        say(f"{figure.name}: {len(table)} rows in {kept}")


def _thinned(table: pd.DataFrame) -> pd.DataFrame:
    # A table of few epochs has a grid of its own, little of which would lie on another.
    if "epoch" not in table or table["epoch"].nunique() <= EPOCHS_IN_LARGE_REFERENCE:
        return table
    if len(table.to_csv(index=False)) <= LARGE_REFERENCE_BYTES:
        return table
    epochs = snapshot_epochs(int(table["epoch"].max()), EPOCHS_IN_LARGE_REFERENCE)
    return table[table["epoch"].isin([NO_EPOCH, *epochs])]


def _agreeing(both: pd.DataFrame, column: str, tolerance: ColumnTolerance) -> np.ndarray:
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


def _shared(beyond: pd.DataFrame, both: pd.DataFrame, keys: list[str]) -> str:
    """The keys that all of several rows share and the others do not, in words."""
    shared = [f"{key} {beyond[key].iloc[0]}" for key in keys if beyond[key].nunique() == 1 < both[key].nunique()]
    return f", all of {', '.join(shared)}" if shared and len(beyond) > 1 else ""


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
