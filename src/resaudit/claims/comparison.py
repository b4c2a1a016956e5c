"""Comparing tables of one plan, such as a drawn one with the committed reference: numbers and verdicts.

Rounding grows in chaotic trainings until a run is another one, on any other machine. Of columns that are ``chaotic``,
single rows may therefore be beyond their tolerance. What another machine does reproduce is judged: the state before the
first step, the mean over runs of each group (network, depth, rate, stage, epoch …), and the verdicts.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from resaudit.base.commands import run_command
from resaudit.base.errors import DifferenceError, ResauditError, TableError, in_one_line, listed
from resaudit.base.files import sha256_of, write_json
from resaudit.claims.decision import shared_level
from resaudit.claims.verdicts import judge
from resaudit.figures.curves import EPOCHS_IN_LARGE_REFERENCE, NO_EPOCH, snapshot_epochs
from resaudit.figures.draw import references
from resaudit.figures.drawing import read_about, read_csv, write_csv
from resaudit.figures.expected import ALONG
from resaudit.figures.sweeps import Stage, fresh, is_confirmed
from resaudit.figures.tables import Drawn, drawn, errors_naming
from resaudit.plan.figure import ColumnTolerance, Figure
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan

LARGE_REFERENCE_BYTES = 2**20
NUMBERED = ("run", "draw")
"""Keys that number what was drawn at random; negative in rows that are statistics over runs."""
RUNS = frozenset({"runs", "confirm"})
"""Settings that say how many runs there are."""
ACCUSED = 0.001
"""How often the means of a column's groups may be called apart, all together, although only rounding differs."""
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
            claims = [claim.partition("/")[2] for claim in claims_on(plan.config, name)]
            outcome = [*map(str, differences), f"judged by it: {', '.join(claims) or 'no claim'}"]
            differing.append(name)
        elif any(isinstance(note, TableError) for note in notes):
            outcome = []
        say(in_one_line(f"{name}: {'; '.join([*outcome, *map(str, notes)])}"))
    return differing


def compare(plan: Plan, name: str, reference: Path) -> tuple[list[ResauditError], list[ResauditError]]:
    """The differences of the drawn table of ``paper/figure`` from its reference, and notes; nothing is raised.

    Notes are how many rows, groups and verdicts agree, a table or reference that is missing, and the networks drawn at
    another tied learning rate.
    """
    try:
        table = drawn(plan, name)
        if table is None:
            return [], [TableError(f"not drawn in {plan.config.paths.figures}")]
        if not reference.is_file():
            return [], [TableError("no reference to compare with yet; resaudit reference makes one")]
        differences, notes = compare_table(table, reference, plan.figures[name].figure)
        if table.about["values"] == read_about(reference)["values"]:
            here, there = (verdicts_on(plan.config, name, each) for each in (thinned(table.table), read_csv(reference)))
            others = other_verdicts(here, there)
            if others:
                differences.append(DifferenceError(f"other verdicts than by the reference: {listed(others)}"))
            if here:
                notes.insert(1, DifferenceError(f"{len(here) - len(others)} of {len(here)} verdicts are equal"))
        return differences, notes
    except ResauditError as error:
        return [error], []


def compare_table(table: Drawn, reference: Path, figure: Figure) -> tuple[list[ResauditError], list[ResauditError]]:
    """As :func:`compare`, of a table that is drawn; an unreadable reference or odd values are raised."""
    settings, expected = table.about["values"], read_about(reference)["values"]
    differences: list[ResauditError] = [
        DifferenceError(f"{key} is {value}, in the reference {other}")
        for key, other in expected.items()
        if key not in MAY_BE_REDUCED and (value := settings.get(key)) != other
    ]
    same_runs = same_numbers_of_runs(settings, expected)
    with errors_naming(f"table of {table.name}, compared with its reference", table.name):
        tables = table.table, read_csv(reference)
        agreement = None if differences else agreement_of(*tables, figure, same_runs)
        agreeing = [DifferenceError(str(agreement))] if agreement else []
        return differences or list(differences_of(*tables, figure, same_runs)), [*agreeing, *other_rates(*tables)]


def same_numbers_of_runs(settings: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether tables of these settings have equally many runs, so that their statistics over runs are of the same."""
    return all(settings.get(key) == others.get(key) for key in RUNS)


def verdicts_on(config: Config, figure: str, table: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim about a figure, by ``paper/claim``; raises as :func:`judge`."""
    paper, scale, data = figure.split("/")[0], config.scale_of(figure), config.dataset_of(figure)
    claims = config.claims_of(paper)
    return {
        name: judge(claims[name.removeprefix(f"{paper}/")], table, scale, data, config.rung).verdict
        for name in claims_on(config, figure)
    }


def claims_on(config: Config, figure: str) -> list[str]:
    """The claims about a figure, as ``paper/claim``."""
    paper, _, evidence = figure.partition("/")
    return [f"{paper}/{name}" for name, claim in config.claims_of(paper).items() if claim.evidence == evidence]


def other_verdicts(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """The claims whose verdicts differ, each with both.

    >>> other_verdicts({"a/b": "supported", "a/c": "depends"}, {"a/b": "inconclusive", "a/c": "depends"})
    ['a/b (supported | inconclusive)']
    """
    return [f"{claim} ({first[claim]} | {second[claim]})" for claim in first if first[claim] != second[claim]]


def differences_of(
    table: pd.DataFrame, reference: pd.DataFrame, figure: Figure, same_runs: bool = True
) -> Iterator[ResauditError]:
    """The rows of the reference that a table lacks, and the columns that do not agree; nothing is raised.

    Rows are matched by the figure's key columns; a larger scale may have more rows. A value agrees if it is within
    absolute + relative * |reference|, or both are the same infinity or both missing; of a chaotic column, those before
    the first step and the means of groups must. The last digit can decide which rates are tied for the best, so the
    table may lack tied rates that the reference does not show, and fresh runs at rates that its screening did not
    leave.

    Args:
        table: a table of the figure.
        reference: another one.
        figure: its keys and tolerances.
        same_runs: whether both have equally many runs; else rows that are statistics over runs are not compared.
    """
    if set(table.columns) != set(reference.columns):
        yield DifferenceError(
            f"columns are {listed(sorted(table.columns))}; the reference has {listed(sorted(reference.columns))}"
        )
        return
    reference = _required(table, reference)
    both = _in_both(table, reference, figure)
    if len(both) < len(reference):
        yield DifferenceError(
            f"{len(reference) - len(both)} of the reference's {len(reference)} rows are missing (a smaller scale?)"
        )
    both = both if same_runs else both[of_single_runs(both, figure)]
    for column, tolerance in figure.tolerances.items():
        agreeing = _agreeing(both, column, tolerance)
        if tolerance.chaotic:
            started = np.logical_or.reduce([both[key] == 0 for key in ALONG if key in figure.keys])
            if (beyond := started & ~agreeing).any():
                yield _beyond(column, both, both[beyond], figure.keys)
            apart, groups = _means_apart(column, both, agreeing, figure.keys)
            if apart:
                by = [key for key in figure.keys if key not in NUMBERED]
                first = listed(f"{key} {value}" for key, value in zip(by, apart[0], strict=True))
                yield DifferenceError(
                    f"{column}: in {len(apart)} of {groups} groups the means over runs are apart by more than rounding "
                    f"explains, first at {first}"
                )
        elif not agreeing.all():
            yield _beyond(column, both, both[~agreeing], figure.keys)


@dataclass(frozen=True)
class Agreement:
    """How far two tables agree, also where rounding has parted single runs."""

    rows: int  # rows of which every value is within its tolerance
    of_rows: int
    groups: int  # groups whose means over runs are not apart, in every chaotic column
    of_groups: int  # 0: no column is chaotic

    def __str__(self) -> str:
        groups = f", {self.groups} of {self.of_groups} groups have means that agree within their intervals"
        return f"{self.rows} of {self.of_rows} rows are within the last digits{groups if self.of_groups else ''}"


def agreement_of(
    table: pd.DataFrame, reference: pd.DataFrame, figure: Figure, same_runs: bool = True
) -> Agreement | None:
    """How many rows and groups agree, args as :func:`differences_of`; None if the columns are others."""
    if set(table.columns) != set(reference.columns):
        return None
    both = _in_both(table, _required(table, reference), figure)
    both = both if same_runs else both[of_single_runs(both, figure)]
    agreeing = {column: _agreeing(both, column, tolerance) for column, tolerance in figure.tolerances.items()}
    chaotic = [
        _means_apart(column, both, agreeing[column], figure.keys)
        for column, t in figure.tolerances.items()
        if t.chaotic
    ]
    apart = {str(place) for places, _ in chaotic for place in places}  # a NaN in one equals no other
    groups = chaotic[0][1] if chaotic else 0
    rows = np.logical_and.reduce([*agreeing.values(), np.ones(len(both), dtype=bool)])
    return Agreement(int(np.count_nonzero(rows)), len(both), groups - len(apart), groups)


def _required(table: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """The rows of a reference that a table must have."""
    reference = reference[~_not_left(reference, table)]
    if "shown" in reference:
        followed = _followed(reference, table) | ~_followed(reference, reference)
        reference = reference[reference["shown"] | followed]
    return reference


def _in_both(table: pd.DataFrame, reference: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    return reference.merge(table, on=figure.keys, suffixes=("_reference", ""), validate="1:1")


def of_single_runs(table: pd.DataFrame, figure: Figure) -> np.ndarray:
    """Which rows are of single runs, not statistics over all."""
    number = next((key for key in NUMBERED if key in figure.keys), None)
    return (table[number] >= 0).to_numpy() if number else np.zeros(len(table), dtype=bool)


def _agreeing(both: pd.DataFrame, column: str, tolerance: ColumnTolerance) -> np.ndarray:
    """Which rows lie within a tolerance."""
    absolute = np.full(len(both), tolerance.absolute)
    if tolerance.of is not None:
        # Plus half of one, since shares are rounded.
        absolute += (tolerance.counts + 0.5) / both[tolerance.of].to_numpy()
    values, expected = both[column], both[f"{column}_reference"]
    return np.isclose(values, expected, rtol=tolerance.relative, atol=absolute, equal_nan=True)


def _means_apart(
    column: str, both: pd.DataFrame, agreeing: np.ndarray, keys: list[str]
) -> tuple[list[tuple[Any, ...]], int]:
    """The groups whose means over runs are apart by more than their joint interval, paired by run; and of how many."""
    by = [key for key in keys if key not in NUMBERED]
    rows = both.assign(_agreeing=agreeing)
    groups = list(rows.groupby(by, sort=False, dropna=False)) if by else [((), rows)]
    level = shared_level(len(groups), ACCUSED)
    return [
        place
        for place, group in groups
        if not group["_agreeing"].all() and _is_apart(group[column], group[f"{column}_reference"], level)
    ], len(groups)


def _is_apart(values: pd.Series, expected: pd.Series, level: float) -> bool:
    """Whether the mean difference of paired runs, of logarithms where all are positive, or who diverges, is not zero.

    Where only rounding differs either run could have been the other: who diverges is a fair coin (McNemar 1947), and
    differences are symmetric about zero (Student's t; fewer than two runs say nothing).
    """
    from scipy.special import bdtr, stdtrit

    ours, theirs = values.to_numpy(float), expected.to_numpy(float)
    diverging = np.isinf(ours).astype(int) - np.isinf(theirs)
    here, there = np.count_nonzero(diverging > 0), np.count_nonzero(diverging < 0)
    if 2 * bdtr(min(here, there), here + there, 0.5) < 1 - level:
        return True
    known = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = ours[known], theirs[known]
    if len(ours) < 2:
        return False
    both_positive = (ours > 0).all() and (theirs > 0).all()
    differences = np.log(ours / theirs) if both_positive else ours - theirs
    reach = stdtrit(len(differences) - 1, (1 + level) / 2) * differences.std(ddof=1) / np.sqrt(len(differences))
    return bool(abs(differences.mean()) > reach)


def _beyond(column: str, both: pd.DataFrame, beyond: pd.DataFrame, keys: list[str]) -> ResauditError:
    """A column beyond its tolerance: in how many rows, what only these share, and the furthest one, relatively."""
    values, expected = beyond[column], beyond[f"{column}_reference"]
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.abs(values - expected) / np.abs(expected)
    furthest = int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))
    shared = [f"{key} {beyond[key].iloc[0]}" for key in keys if beyond[key].nunique() == 1 < both[key].nunique()]
    place = listed(f"{key} {beyond[key].iloc[furthest]}" for key in keys)
    return DifferenceError(
        f"{column} is beyond its tolerance in {len(beyond)} of {len(both)} rows (in common: "
        f"{listed(shared if len(beyond) > 1 else [])}), furthest at {place}: {values.iloc[furthest]:.4g}, in the "
        f"reference {expected.iloc[furthest]:.4g}"
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
    return np.asarray((reference[Stage.COLUMN] == Stage.CONFIRMATION) & at_place & ~at_rate)


def _place(table: pd.DataFrame) -> list[str]:
    """The columns that name a network and depth."""
    return [column for column in _CURVE[:-1] if column in table]


def other_rates(table: pd.DataFrame, reference: pd.DataFrame) -> list[ResauditError]:
    """The networks measured or drawn at other tied learning rates than in the reference."""
    return [*_other_ties(table, reference), *_others_shown(table, reference)]


def _other_ties(table: pd.DataFrame, reference: pd.DataFrame) -> Iterator[ResauditError]:
    not_left = reference[_not_left(reference, table)]
    for place, rows in not_left.groupby(_place(reference), sort=False) if len(not_left) else ():
        rates = listed(f"{rate:.3g}" for rate in sorted(rows["learning_rate"].unique()))
        yield DifferenceError(
            f"{' '.join(map(str, place))} has no fresh runs at rates {rates}, which are tied for the best in the "
            "reference"
        )


def _others_shown(table: pd.DataFrame, reference: pd.DataFrame) -> list[ResauditError]:
    if "shown" not in reference:
        return []
    keys = _place(reference)
    shown = [rows.loc[rows["shown"], [*keys, "learning_rate"]].drop_duplicates() for rows in (table, reference)]
    return [
        DifferenceError(
            f"{' '.join(str(row[key]) for key in keys)} is drawn at rate {row['learning_rate']:.3g}, in the reference "
            f"at {row['learning_rate_reference']:.3g}"
        )
        for row in shown[0].merge(shown[1], on=keys, suffixes=("", "_reference")).to_dict("records")
        if row["learning_rate"] != row["learning_rate_reference"]
    ]


def write_references(plan: Plan, say: Callable[[str], None]) -> None:
    """Copy the drawn tables, with their ``.json``, to the references (see :func:`references`).

    Of a large table with more than 60 epochs, 60 are kept, evenly spaced on a logarithmic scale, and rows of no epoch.
    """
    files, figures = references(plan), []
    for name in plan.figures:
        figure = drawn(plan, name)
        if figure is None:
            raise TableError(f"{name} is not drawn in {plan.config.paths.figures} yet; run {run_command()}")
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
