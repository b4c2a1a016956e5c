"""Comparing an imported result with what was recomputed here: by bytes, or array by array within tolerances."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.audit.spot_checks import Outcome
from resaudit.base.files import read_json, sha256_of
from resaudit.base.models import one_line
from resaudit.jobs.tolerance import Tolerance

_EXACT = Tolerance()


@dataclass(frozen=True)
class Compared:
    """What a comparison found.

    Attributes:
        outcome: in one of the words of :data:`Outcome`.
        difference: what differs, in a line; empty if nothing does.
    """

    outcome: Outcome
    difference: str = ""


def compare(
    files: Iterable[str],
    ours: Path,
    theirs: Path,
    same_class: bool,
    tolerances: Mapping[str, Tolerance] | None,
) -> Compared:
    """Compare two folders of one job's results.

    Args:
        files: names of its result files.
        ours: recomputed here.
        theirs: imported.
        same_class: whether both were made on one CPU platform, so that equal bytes are expected, and no run may part.
        tolerances: by array; None if only equal bytes count.
    """
    other = [name for name in files if sha256_of(ours / name) != sha256_of(theirs / name)]
    if not other:
        return Compared("equal")
    if tolerances is None and not same_class:
        return Compared("not confirmed", "made on another CPU platform, and this kind of job has no tolerances")
    if tolerances is not None and same_class:
        tolerances = {name: tolerance.of_rounding() for name, tolerance in tolerances.items()}
    found = [(name, line) for name in other for line in _differences(ours / name, theirs / name, tolerances)]
    beyond = [f"{name}: {one_line(line)}" for name, line in found]
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
        here, there = _content(ours), _content(theirs)
    # On damaged bytes zipfile, zlib, struct, json and NumPy each raise their own exceptions.
    except Exception as error:
        yield f"cannot be read ({error or type(error).__name__})"
        return
    if sorted(here) != sorted(there):
        yield f"it holds {', '.join(sorted(there))} instead of {', '.join(sorted(here))}"
        return
    for name, array in here.items():
        tolerance = tolerances.get(ours.name if ours.suffix == ".json" else name, _EXACT)
        # The bound on rounding, the limit and the rows are ours: a forger would choose wide ones.
        bound = here.get(tolerance.rounding or tolerance.limit or "")
        same_shape = array.shape == there[name].shape
        for words, limit, rows in _parts(here, tolerance) if same_shape else [("", tolerance, np.s_[...])]:
            line = difference(array[rows], there[name][rows], limit, None if bound is None else bound[rows])
            if line:
                yield f"{name}{words} {line}"


def _parts(here: dict[str, np.ndarray], tolerance: Tolerance) -> list[tuple[str, Tolerance, Any]]:
    """The rows with one tolerance: in words, the tolerance, their index."""
    if tolerance.first is not None:
        first, relative = tolerance.first
        at_first = replace(tolerance, relative=relative, differing=0.0, first=None)
        at_start = (np.s_[:],) * tolerance.epochs + (np.s_[:first],)
        return [(f" (first {first} epochs)", at_first, at_start), ("", tolerance, np.s_[...])]
    if tolerance.rows is None:
        return [("", tolerance, np.s_[...])]
    column, text = tolerance.rows
    chosen = here[column] == text
    return [
        (f" ({column} {text})", tolerance, chosen),
        (f" (not {column} {text})", tolerance.others or _EXACT, ~chosen),
    ]


def difference(
    ours: np.ndarray, theirs: np.ndarray, tolerance: Tolerance, bound: np.ndarray | None = None
) -> str | None:
    """Where two arrays differ by more than a tolerance, in words; None if they do not.

    Args:
        ours: computed here.
        theirs: of the same name.
        tolerance: of this array.
        bound: computed here, of the same shape: the tolerance's ``rounding`` or ``limit``, if it has one.
    """
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return f"has shape {theirs.shape} of {theirs.dtype}, expected {ours.shape} of {ours.dtype}"
    agrees = np.asarray(ours == theirs)
    if ours.dtype.kind == "f":
        known = np.full(ours.shape, np.inf) if bound is None else bound
        is_known = np.isfinite(known)
        absolute = tolerance.absolute + (np.where(is_known, known, 0.0) if tolerance.rounding else 0.0)
        agrees = np.isclose(ours, theirs, rtol=tolerance.relative, atol=absolute, equal_nan=True)
        if tolerance.limit:
            agrees = np.where(is_known, (ours <= known) == (theirs <= known), agrees)
        if tolerance.runs is not None:
            agrees |= stays(~np.isfinite(ours) & ~np.isfinite(theirs), tolerance.epochs)
    units = _by_runs(agrees, tolerance.runs)
    wrong = int(np.count_nonzero(~units))
    if wrong <= math.floor(tolerance.differing * units.size + 1e-9):
        return None
    what = "runs" if tolerance.runs is not None else "entries"
    allowed = f" (allowed: {tolerance.differing:.0%})" if tolerance.differing else ""
    return f"differs in {wrong} of {units.size} {what}{allowed}, {_furthest(agrees, ours, theirs)}"


def _by_runs(agrees: np.ndarray, axis: int | None) -> np.ndarray:
    if axis is None:
        return np.atleast_1d(agrees)
    others = tuple(i for i in range(agrees.ndim) if i != axis % agrees.ndim)
    return np.atleast_1d(agrees.all(axis=others))


def stays(flags: np.ndarray, axis: int) -> np.ndarray:
    """Where a flag is set from there to the end of an axis.

    >>> stays(np.array([True, False, True, True]), 0).tolist()
    [False, False, True, True]
    """
    return np.flip(np.logical_and.accumulate(np.flip(flags, axis), axis), axis)


def _furthest(agrees: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> str:
    """The entry that is furthest from ours, relative to ours."""
    where = np.argwhere(~np.atleast_1d(agrees))
    if ours.dtype.kind == "f":
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distance = np.atleast_1d(np.abs(ours - theirs) / np.abs(ours))[tuple(where.T)]
        where = where[[int(np.argmax(np.where(np.isnan(distance), np.inf, distance)))]]
    place = tuple(int(i) for i in where[0])
    return f"at {list(place)} {np.atleast_1d(theirs)[place]} instead of {np.atleast_1d(ours)[place]}"


def _content(path: Path) -> dict[str, np.ndarray]:
    """Arrays by name: of an ``.npz`` its own, of JSON the numbers and texts by their place."""
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
