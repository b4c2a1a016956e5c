"""Comparing drawn tables with the committed references, within each figure's tolerances."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from resaudit.base.errors import ResauditError, in_one_line
from resaudit.base.files import sha256_of, write_json
from resaudit.figures.drawing import read_about, read_csv, write_csv
from resaudit.figures.references import references
from resaudit.figures.snapshots import EPOCHS_IN_LARGE_REFERENCE, NO_EPOCH, snapshot_epochs
from resaudit.figures.sweeps import CONFIRMATION, STAGE, fresh, is_confirmed
from resaudit.figures.tables import Drawn, drawn, errors_naming
from resaudit.plan.figure import Figure
from resaudit.plan.plan import Plan

LARGE_REFERENCE_BYTES = 2**20
MAY_BE_REDUCED = frozenset({"depths", "runs", "learning rates", "per network", "hessian epochs"})
_CURVE = ("network", "depth", "learning_rate")


def compare_with_references(plan: Plan, say: Callable[[str], None]) -> list[str]:
    """Compare each chosen figure's table with its reference, if it is drawn, and say one line each.

    Returns:
        The figures that have a reference and could not be shown to agree with it.
    """
    differing, files = [], references(plan)
    for name in plan.figures:
        differences, notes = compare(plan, name, files[name])
        outcome = ["agrees with the reference"]
        if differences:
            paper, figure = name.split("/")
            claims = [key for key, claim in plan.config.claims_of(paper).items() if claim.evidence == figure]
            outcome = [*map(str, differences), f"judged by it: {', '.join(claims) or 'no claim'}"]
            differing.append(name)
        elif any(note.code.startswith("missing") for note in notes):
            outcome = []
        say(in_one_line(f"{name}: {'; '.join([*outcome, *map(str, notes)])}"))
    return differing


def compare(plan: Plan, name: str, reference: Path) -> tuple[list[ResauditError], list[ResauditError]]:
    """The differences of the drawn table of ``paper/figure`` from its reference, and notes; nothing is raised.

    Notes are a table or reference that is missing, and the networks drawn at another tied learning rate.
    """
    try:
        table = drawn(plan, name)
        if table is None:
            return [], [ResauditError("missing-table", "not drawn in {folder}", folder=plan.config.paths.figures)]
        if not reference.is_file():
            return [], [
                ResauditError("missing-reference", "no reference to compare with yet; resaudit reference makes one")
            ]
        return compare_table(table, reference, plan.figures[name].figure)
    except ResauditError as error:
        return [error], []


def compare_table(table: Drawn, reference: Path, figure: Figure) -> tuple[list[ResauditError], list[ResauditError]]:
    """As :func:`compare`, of a table that is drawn; an unreadable reference or odd values are raised."""
    settings, expected = table.about["values"], read_about(reference)["values"]
    differences = [
        ResauditError(
            "other-settings", "{key} is {value}, in the reference {expected}", key=key, value=value, expected=other
        )
        for key, other in expected.items()
        if key not in MAY_BE_REDUCED and (value := settings.get(key)) != other
    ]
    with errors_naming(f"table of {table.name}, compared with its reference", table.name):
        tables = table.table, read_csv(reference)
        return differences or list(differences_of(*tables, figure)), other_rates(*tables)


def differences_of(table: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> Iterator[ResauditError]:
    """The rows of the reference that a table lacks, and the columns that exceed their tolerance; nothing is raised.

    Rows are matched by the figure's key columns; a larger scale may have more rows. A value agrees if it is within
    absolute + relative * |reference|, or both are the same infinity or both missing. The last digit can decide which
    rates are tied for the best, so the table may lack tied rates that the reference does not show, and fresh runs at
    rates that its screening did not leave.
    """
    if set(table.columns) != set(reference.columns):
        yield ResauditError(
            "other-columns",
            "columns are {columns}; the reference has {expected}",
            columns=sorted(table.columns),
            expected=sorted(reference.columns),
        )
        return
    reference = reference[~_not_left(reference, table)]
    if "shown" in reference:
        followed = _followed(reference, table) | ~_followed(reference, reference)
        reference = reference[reference["shown"] | followed]
    joined = reference.merge(
        table, on=figure.keys, suffixes=("_reference", ""), how="left", indicator=True, validate="1:1"
    )
    both = joined[joined["_merge"] == "both"]
    if len(both) < len(reference):
        yield ResauditError(
            "missing-rows",
            "{missing} of the reference's {rows} rows are missing (a smaller scale?)",
            missing=len(reference) - len(both),
            rows=len(reference),
        )
    for column, tolerance in figure.tolerances.items():
        values, expected = both[column], both[f"{column}_reference"]
        absolute = np.full(len(both), tolerance.absolute)
        if tolerance.eigenvalues:
            # Plus half an eigenvalue, since shares are rounded.
            absolute += (tolerance.eigenvalues + 0.5) / both["eigenvalues"].to_numpy()
        agreeing = np.isclose(values, expected, rtol=tolerance.relative, atol=absolute, equal_nan=True)
        if len(both) and agreeing.mean() < tolerance.share:
            yield _beyond(column, both, both[~agreeing], figure.keys)


def _beyond(column: str, both: pd.DataFrame, beyond: pd.DataFrame, keys: list[str]) -> ResauditError:
    """A column beyond its tolerance: in how many rows, what only these share, and the furthest one, relatively."""
    values, expected = beyond[column], beyond[f"{column}_reference"]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(values - expected) / np.abs(expected)
    furthest = int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))
    shared = [f"{key} {beyond[key].iloc[0]}" for key in keys if beyond[key].nunique() == 1 < both[key].nunique()]
    return ResauditError(
        "beyond-tolerance",
        "{column} is beyond its tolerance in {beyond} of {rows} rows (in common: {shared}), furthest at {place}: "
        "{value:.4g}, in the reference {expected:.4g}",
        column=column,
        beyond=len(beyond),
        rows=len(both),
        shared=shared if len(beyond) > 1 else [],
        place=[f"{key} {beyond[key].iloc[furthest]}" for key in keys],
        value=values.iloc[furthest],
        expected=expected.iloc[furthest],
    )


def _followed(rows: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Which rows belong to a network, depth and learning rate for which a table has all epochs, not just the last."""
    columns = [column for column in _CURVE if column in table]
    curves = pd.MultiIndex.from_frame(table.loc[table["epoch"] == 0, columns])
    return np.asarray(pd.MultiIndex.from_frame(rows[columns]).isin(curves))


def _not_left(reference: pd.DataFrame, table: pd.DataFrame) -> np.ndarray:
    """Which rows of a reference are fresh runs at a rate at which a table has none, but some at another rate."""
    if not is_confirmed(reference):
        return np.zeros(len(reference), dtype=bool)
    place, measured = _place(reference), fresh(table)
    at_place, at_rate = (
        pd.MultiIndex.from_frame(reference[columns]).isin(pd.MultiIndex.from_frame(measured[columns]))
        for columns in (place, [*place, _CURVE[-1]])
    )
    return np.asarray((reference[STAGE] == CONFIRMATION) & at_place & ~at_rate)


def _place(table: pd.DataFrame) -> list[str]:
    """The columns that name a network and depth."""
    return [column for column in _CURVE[:-1] if column in table]


def other_rates(table: pd.DataFrame, reference: pd.DataFrame) -> list[ResauditError]:
    """The networks measured or drawn at other tied learning rates than in the reference."""
    return [*_other_ties(table, reference), *_others_shown(table, reference)]


def _other_ties(table: pd.DataFrame, reference: pd.DataFrame) -> Iterator[ResauditError]:
    not_left = reference[_not_left(reference, table)]
    for place, rows in not_left.groupby(_place(reference), sort=False) if len(not_left) else ():
        yield ResauditError(
            "other-ties",
            "{network} has no fresh runs at rates {rates}, which are tied for the best in the reference",
            network=" ".join(map(str, place)),
            rates=[f"{rate:.3g}" for rate in sorted(rows["learning_rate"].unique())],
        )


def _others_shown(table: pd.DataFrame, reference: pd.DataFrame) -> list[ResauditError]:
    if "shown" not in reference:
        return []
    keys = _place(reference)
    shown = [rows.loc[rows["shown"], [*keys, "learning_rate"]].drop_duplicates() for rows in (table, reference)]
    return [
        ResauditError(
            "other-rate",
            "{network} is drawn at rate {rate:.3g}, in the reference at {expected:.3g}",
            network=" ".join(str(row[key]) for key in keys),
            rate=row["learning_rate"],
            expected=row["learning_rate_reference"],
        )
        for row in shown[0].merge(shown[1], on=keys, suffixes=("", "_reference")).to_dict("records")
        if row["learning_rate"] != row["learning_rate_reference"]
    ]


def write_references(plan: Plan, say: Callable[[str], None]) -> None:
    """Copy the drawn tables, with their ``.json``, to the references (see :func:`references`).

    Of a large table with more than 60 epochs, 60 are kept, evenly spaced on a logarithmic scale, and rows of no epoch.

    Raises:
        ResauditError: a table has not been drawn.
    """
    files, figures = references(plan), []
    for name in plan.figures:
        figure = drawn(plan, name)
        if figure is None:
            raise ResauditError(
                "missing-table",
                "{figure} is not drawn in {folder} yet; run snakemake --cores all",
                figure=name,
                folder=plan.config.paths.figures,
            )
        figures.append(figure)
    for figure in figures:
        reference, table = files[figure.name], thinned(figure.table)
        write_csv(reference, table)
        write_json(reference.with_suffix(".json"), figure.about | {"sha256": sha256_of(reference)})
        say(f"{figure.name}: {len(table)} rows in {reference}")


def thinned(table: pd.DataFrame) -> pd.DataFrame:
    """A table as its reference: a large one with fewer epochs."""
    # A table of few epochs has a grid of its own, little of which would lie on another.
    if "epoch" not in table or table["epoch"].nunique() <= EPOCHS_IN_LARGE_REFERENCE:
        return table
    if len(table.to_csv(index=False)) <= LARGE_REFERENCE_BYTES:
        return table
    epochs = snapshot_epochs(int(table["epoch"].max()), EPOCHS_IN_LARGE_REFERENCE)
    return table[table["epoch"].isin([NO_EPOCH, *epochs])]
