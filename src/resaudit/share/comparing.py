"""Comparing imported results with what was recomputed here: by bytes, array by array within tolerances, by verdicts.

Tolerances bound how far each number may be off, not what follows from all of them together: a forger who stays within
every tolerance could still turn a verdict. So claims are judged again, with what was recomputed in place of what was
imported.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from resaudit.audit.models import Outcome
from resaudit.base.errors import ResauditError, TableError
from resaudit.base.files import read_json, sha256_of
from resaudit.base.models import one_line
from resaudit.claims.comparison import claims_on, verdicts_on
from resaudit.figures.drawing import ODD_CONTENT, read_csv, table_of, write_csv
from resaudit.figures.expected import unexpected
from resaudit.jobs.arrays import Tolerance
from resaudit.plan.plan import FigurePlan, Plan, with_inputs

_EXACT = Tolerance()


@dataclass(frozen=True)
class Compared:
    """What a comparison found."""

    outcome: Outcome  # one of the words of :data:`Outcome`
    difference: str = ""  # the difference in a line; empty if there is none


def compare(
    files: Iterable[str],
    ours: Path,
    theirs: Path,
    same_class: bool,
    tolerances: Mapping[str, Tolerance] | None,
) -> Compared:
    """Compare two folders of one job's results.

    Args:
        files: names of the job's result files.
        ours: folder of what was recomputed here.
        theirs: folder of what was imported.
        same_class: whether both are of one CPU platform, so that equal bytes are expected, and no run may part.
        tolerances: tolerances by array; None if only equal bytes count.
    """
    other = [name for name in files if sha256_of(ours / name) != sha256_of(theirs / name)]
    if not other:
        return Compared("equal")
    if tolerances is None and not same_class:
        return Compared("not confirmed", "made on another CPU platform, and this kind of job has no tolerances")
    if tolerances is not None and same_class:
        tolerances = {name: tolerance.of_rounding() for name, tolerance in tolerances.items()}
    beyond = [
        f"{name}: {one_line(line)}" for name in other for line in _differences(ours / name, theirs / name, tolerances)
    ]
    if beyond:
        return Compared("failed", "; ".join(beyond))
    if same_class:
        return Compared("warned", f"{', '.join(other)}: other bytes, apart by rounding alone")
    return Compared("within tolerance")


def _differences(ours: Path, theirs: Path, tolerances: Mapping[str, Tolerance] | None) -> Iterator[str]:
    if tolerances is None:
        yield "other bytes"
        return
    try:
        our_arrays, their_arrays = _content(ours), _content(theirs)
    # On damaged bytes zipfile, zlib, struct, json and NumPy each raise their own exceptions.
    except Exception as error:
        yield f"cannot be read ({error or type(error).__name__})"
        return
    if sorted(our_arrays) != sorted(their_arrays):
        yield f"it has {', '.join(sorted(their_arrays))} instead of {', '.join(sorted(our_arrays))}"
        return
    for name, array in our_arrays.items():
        tolerance = tolerances.get(ours.name if ours.suffix == ".json" else name, _EXACT)
        # The bound on rounding, the limit and the rows are ours: a forger would choose wide ones.
        bound = our_arrays.get(tolerance.rounding or tolerance.limit or "")
        same_shape = array.shape == their_arrays[name].shape
        for words, limit, rows in _by_rows(our_arrays, tolerance) if same_shape else [("", tolerance, np.s_[...])]:
            line = difference(array[rows], their_arrays[name][rows], limit, None if bound is None else bound[rows])
            if line:
                yield f"{name}{words} {line}"


def _by_rows(arrays: dict[str, np.ndarray], tolerance: Tolerance) -> list[tuple[str, Tolerance, Any]]:
    """The rows with one tolerance: in words, the tolerance, their index."""
    if tolerance.first is not None:
        first, relative = tolerance.first
        at_first = replace(tolerance, relative=relative, differing=0.0, first=None)
        at_start = (np.s_[:],) * tolerance.epochs + (np.s_[:first],)
        return [(f" (first {first} epochs)", at_first, at_start), ("", tolerance, np.s_[...])]
    if tolerance.rows is None:
        return [("", tolerance, np.s_[...])]
    column, text = tolerance.rows
    chosen = arrays[column] == text
    return [
        (f" ({column} {text})", tolerance, chosen),
        (f" (not {column} {text})", tolerance.others or _EXACT, ~chosen),
    ]


def difference(
    ours: np.ndarray, theirs: np.ndarray, tolerance: Tolerance, bound: np.ndarray | None = None
) -> str | None:
    """Where two arrays differ by more than a tolerance, in words; None if they do not.

    Args:
        ours: the array that was computed here.
        theirs: the imported array of the same name.
        tolerance: the tolerance of this array.
        bound: the array of the tolerance's ``rounding`` or ``limit``, if it has one, computed here.
    """
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return f"has shape {theirs.shape} of {theirs.dtype}, expected {ours.shape} of {ours.dtype}"
    agrees = np.asarray(ours == theirs)
    if ours.dtype.kind == "f":
        bound = np.full(ours.shape, np.inf) if bound is None else bound
        is_bounded = np.isfinite(bound)
        absolute = tolerance.absolute + (np.where(is_bounded, bound, 0.0) if tolerance.rounding else 0.0)
        agrees = np.isclose(ours, theirs, rtol=tolerance.relative, atol=absolute, equal_nan=True)
        if tolerance.limit:
            agrees = np.where(is_bounded, (ours <= bound) == (theirs <= bound), agrees)
        if tolerance.runs is not None:
            agrees |= stays(~np.isfinite(ours) & ~np.isfinite(theirs), tolerance.epochs)
    units = np.atleast_1d(agrees)
    if tolerance.runs is not None:
        others = tuple(i for i in range(agrees.ndim) if i != tolerance.runs % agrees.ndim)
        units = np.atleast_1d(agrees.all(axis=others))
    wrong = int(np.count_nonzero(~units))
    if wrong <= math.floor(tolerance.differing * units.size + 1e-9):
        return None
    what = "runs" if tolerance.runs is not None else "entries"
    allowed = f" (allowed: {tolerance.differing:.0%})" if tolerance.differing else ""
    return f"differs in {wrong} of {units.size} {what}{allowed}, {_furthest(agrees, ours, theirs)}"


def stays(flags: np.ndarray, axis: int) -> np.ndarray:
    """Whether each flag is set from there to the end of an axis.

    >>> stays(np.array([True, False, True, True]), 0).tolist()
    [False, False, True, True]
    """
    return np.flip(np.logical_and.accumulate(np.flip(flags, axis), axis), axis)


def _furthest(agrees: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> str:
    """The entry that is furthest from ours, relative to ours."""
    places = np.argwhere(~np.atleast_1d(agrees))
    if ours.dtype.kind == "f":
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distance = np.atleast_1d(np.abs(ours - theirs) / np.abs(ours))[tuple(places.T)]
        places = places[[int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))]]
    place = tuple(int(i) for i in places[0])
    return f"at {list(place)} {np.atleast_1d(theirs)[place]} instead of {np.atleast_1d(ours)[place]}"


def _content(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` by name, or the numbers and texts of JSON by place."""
    if path.suffix == ".json":
        return {place: np.asarray(value) for place, value in _leaves(read_json(path), "")}
    with np.load(path, allow_pickle=False) as file:
        return {name: np.asarray(file[name]) for name in file.files}


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{place}[{number}]")
    else:
        yield place, value


@dataclass(frozen=True)
class JudgedTwice:
    """A claim that was judged by what was imported, and again with what was recomputed in its place."""

    imported: str | None = None  # the verdict by what was imported; None with an obstacle
    recomputed: str | None = None  # the verdict with what was recomputed; None likewise
    obstacle: str = ""  # why it cannot be judged, such as that other results are not here; empty if it can

    @property
    def same(self) -> bool:
        """Whether both verdicts are there, and the same."""
        return self.imported is not None and self.imported == self.recomputed


def judge_twice(
    plan: Plan, results: Path, claims: Collection[str], recomputed: Mapping[str, Path]
) -> dict[str, JudgedTwice]:
    """Judge claims by the results that are here, and with recomputed ones (their folders by key) in place of these."""
    judged: dict[str, JudgedTwice] = {}
    for figure, figure_plan in plan.figures.items():
        names = set(claims).intersection(claims_on(plan.config, figure))
        if not names:
            continue
        try:
            before = verdicts_on(plan.config, figure, audited_table(figure_plan, results))
            with TemporaryDirectory() as folder:
                # Links to the results, to the recomputed ones where there are any.
                for key, job in with_inputs(figure_plan.jobs.values()).items():
                    if job.files:
                        link = job.folder(Path(folder))
                        link.parent.mkdir(parents=True, exist_ok=True)
                        link.symlink_to(recomputed.get(key, job.folder(results)).resolve())
                after = verdicts_on(plan.config, figure, audited_table(figure_plan, Path(folder)))
        except (ResauditError, *ODD_CONTENT) as error:
            judged |= dict.fromkeys(names, JudgedTwice(obstacle=one_line(str(error) or type(error).__name__)))
        else:
            judged |= {name: JudgedTwice(imported=before[name], recomputed=after[name]) for name in names}
    return judged


def audited_table(figure_plan: FigurePlan, results: Path) -> pd.DataFrame:
    """A figure's table as the drawing writes it and the audit reads it."""
    with TemporaryDirectory() as folder:
        csv = Path(folder) / "figure.csv"
        write_csv(csv, table_of(figure_plan, results)[1])
        table = read_csv(csv)
    if fault := unexpected(table, figure_plan):
        raise TableError(f"the table is not the planned one: {fault}")
    return table
