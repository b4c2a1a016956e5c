"""Comparing results: against a plain loop over runs, and what each outcome needs.

Sees tolerances that forgive too many runs, that a forger can widen, or that forget inf, NaN, shape or type.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resaudit.base.files import write_json
from resaudit.jobs.arrays import Tolerance
from resaudit.jobs.job import Job
from resaudit.jobs.plan_files import computing_kinds
from resaudit.jobs.results import save_arrays
from resaudit.plan.plan import make_plan
from resaudit.share.comparing import Compared, compare, difference
from tests.conftest import configured


@cache
def every_job() -> tuple[Job, ...]:
    """The jobs of every figure at scale paper."""
    return tuple(make_plan(configured("scale=paper").with_every_figure()).jobs.values())


def tables() -> dict[str, Mapping[str, Tolerance]]:
    """The tolerances of every kind of job, of trainings with activations too."""
    activations = {True: "", False: ", with activations"}
    return {
        job.kind + (activations[job.ensemble.network.is_linear] if job.kind == "train" else ""): job.tolerances() or {}
        for job in every_job()
    }


CHANCE = np.random.default_rng(3)
LOSSES = CHANCE.lognormal(size=(30, 20))
LOOSE = Tolerance(relative=1e-3, absolute=1e-6, differing=0.1, runs=1)
FILES = ("result.npz",)


@dataclass
class Result:
    loss: np.ndarray
    rate: np.ndarray


@dataclass
class Rows:
    loss: np.ndarray
    method: np.ndarray


def agree_one_by_one(ours: np.ndarray, theirs: np.ndarray, tolerance: Tolerance) -> bool:
    """The plain twin for arrays (epochs, runs)."""
    wrong = 0
    for run in range(ours.shape[1]):
        pairs = list(zip(ours[:, run].tolist(), theirs[:, run].tolist(), strict=True))
        while pairs and not np.isfinite(pairs[-1]).any():
            pairs.pop()
        wrong += not all(a == b or abs(a - b) <= tolerance.absolute + tolerance.relative * abs(b) for a, b in pairs)
    return wrong <= tolerance.differing * ours.shape[1] + 1e-9


@pytest.mark.parametrize("size", [1e-5, 9e-4, 2e-3])
@pytest.mark.parametrize("runs", [0, 1, 2, 3, 20])
def test_differences_against_a_loop(size: float, runs: int) -> None:
    theirs = LOSSES.copy()
    theirs[CHANCE.integers(30, size=runs), np.arange(runs)] *= 1 + size
    assert (difference(LOSSES, theirs, LOOSE) is None) == agree_one_by_one(LOSSES, theirs, LOOSE)
    for first, back in ((5, 30), (7, 30), (5, 29), (29, 30)):
        theirs[first:back, 18:] = np.nan
        diverged = LOSSES.copy()
        diverged[7:, 18:] = np.inf
        assert (difference(diverged, theirs, LOOSE) is None) == agree_one_by_one(diverged, theirs, LOOSE)


def test_a_run_that_diverged_on_one_machine_alone_differs() -> None:
    theirs = LOSSES.copy()
    theirs[-1, :3] = np.inf
    line = difference(LOSSES, theirs, LOOSE)
    assert line is not None
    assert "3 of 20 runs (allowed: 10%)" in line


@pytest.mark.parametrize("epochs", [0, 1])
def test_runs_that_diverge_agree_from_there_to_the_end_alone(epochs: int) -> None:
    """Whatever is not finite there, whoever holds the run to be lost, and wherever its axes lie."""
    strict = Tolerance(relative=1e-6, runs=-1, epochs=epochs)
    ours = CHANCE.lognormal(size=(30, 4, 20))
    ours[20:, :, 3] = np.inf

    def agrees(at: int, value: float) -> bool:
        theirs = ours.copy()
        theirs[20:, :, 3] = np.nan
        theirs[at, :, 3] = value
        arrays = (np.moveaxis(array, 0, epochs) for array in (ours, theirs))
        return difference(*arrays, strict) is None

    assert agrees(20, -np.inf)
    # Earlier than ours, later, back at the end, lost for one epoch, and different before.
    for at, value in ((19, np.inf), (20, 1.0), (29, 1.0), (3, np.nan), (3, 2.0)):
        assert not agrees(at, value), (at, value)


def test_errors_lie_on_the_same_side_of_our_limit(tmp_path: Path) -> None:
    """Below it they are rounding, whose digits every machine has of its own; theirs would be as wide as it takes."""
    table = {"error": Tolerance(relative=1e-3, limit="tolerance"), "tolerance": Tolerance(relative=1e-6)}

    def found(errors: list[float], limits: list[float]) -> list[str]:
        """The array that differs, in how many of how many entries."""
        np.savez(tmp_path / "ours.npz", error=[1e-15, 3e-14, 0.5], tolerance=[1e-14, 1e-14, np.inf])
        np.savez(tmp_path / "theirs.npz", error=errors, tolerance=limits)
        for name in ("ours", "theirs"):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / f"{name}.npz").rename(tmp_path / name / FILES[0])
        line = compare(FILES, tmp_path / "ours", tmp_path / "theirs", False, table).difference
        return re.findall(r"(?<=: )\w+|\d+(?= of)|(?<=of )\d+", line)[:3]

    limits = [1e-14, 1e-14, np.inf]
    assert found([9e-15, 1.0, 0.5001], limits) == []
    # In the last, no limit is no permission.
    for errors in ([2e-14, 1.0, 0.5], [0.0, 1e-15, 0.5], [np.nan, 1.0, 0.5], [0.0, 1.0, 0.6]):
        assert found(errors, limits) == ["error", "1", "3"]
    # Limits may not differ, however small they are.
    assert found([0.0, 1.0, 0.5], [1e-14, 1.1e-14, np.inf]) == ["tolerance", "1", "3"]


def test_a_limit_is_held_relatively_alone_in_every_kind_of_job() -> None:
    limits = {(kind, t.limit): table for kind, table in tables().items() for t in table.values() if t.limit}
    assert len(limits) > 3
    assert {where: table[where[1]].absolute for where, table in limits.items() if table[where[1]].absolute} == {}


def test_an_index_may_differ_by_whole_eigenvalues_of_its_matrix() -> None:
    sizes = {job.ensemble.network.parameters: job for job in every_job() if job.kind == "hessians"}
    assert len(sizes) > 2
    for size, job in sizes.items():
        tolerances = job.tolerances()
        assert tolerances is not None
        for name in ("index", "sizeable_index"):
            for by, agrees in ((8, True), (9, False)):
                ours = np.array([size // 4 / size])
                assert (difference(ours, ours + by / size, tolerances[name]) is None) == agrees, (size, name)


def test_another_shape_or_type_differs() -> None:
    assert difference(LOSSES, LOSSES[:-1], LOOSE)
    assert difference(LOSSES, np.zeros(LOSSES.shape, dtype=int), LOOSE)
    names = np.array(["a", "b"])
    assert difference(names, names, Tolerance()) is None
    assert difference(names, names[::-1], Tolerance())


def test_errors_of_rounding_may_differ_as_much_as_rounding_allows_here() -> None:
    by_rounding = Tolerance(rounding="tolerance")
    ours, theirs, allowed = np.array([1e-15, 1e-15]), np.array([3e-15, 3e-13]), np.array([1e-14, 1e-14])
    assert difference(ours[:1], theirs[:1], by_rounding, allowed[:1]) is None
    assert difference(ours, theirs, by_rounding, allowed)
    # No bound is no permission.
    assert difference(ours, theirs, by_rounding, np.array([1e-14, np.inf]))


def both(tmp_path: Path, theirs: Result) -> tuple[Path, Path]:
    rates = np.array([0.1, 0.2])
    save_arrays(tmp_path / "ours" / FILES[0], Result(LOSSES, rates))
    save_arrays(tmp_path / "theirs" / FILES[0], theirs)
    return tmp_path / "ours", tmp_path / "theirs"


TABLE = {"loss": LOOSE}


def test_the_class_of_machine_decides_whether_bytes_or_tolerances_count(tmp_path: Path) -> None:
    near = both(tmp_path, Result(LOSSES * (1 + 1e-12), np.array([0.1, 0.2])))
    assert compare(FILES, near[0], near[0], True, TABLE).outcome == "equal"
    assert compare(FILES, *near, True, TABLE).outcome == "warned"
    assert compare(FILES, *near, False, TABLE).outcome == "within tolerance"
    assert compare(FILES, *near, False, None).outcome == "not confirmed"
    assert compare(FILES, *near, True, None).outcome == "failed"


def lowered(losses: np.ndarray, runs: int) -> np.ndarray:
    """A thousandfold in some runs, after the first epochs."""
    found = losses.copy()
    found[3:, :runs] /= 1000
    return found


ERRORS = {"value": np.full(20, 5e-15), "tolerance": np.full(20, 1e-14)}
SEARCHES = {"norm": np.ones(2), "method": np.array(["proof", "search"])}
FORGED = {
    "train, with activations": ({"excess_loss": LOSSES[:, :6]}, {"excess_loss": lowered(LOSSES[:, :6], 4)}),
    "train": ({"excess_loss": LOSSES}, {"excess_loss": lowered(LOSSES, 1)}),
    "theorem": (ERRORS, {"value": np.array([1e6] + [5e-15] * 19)}),
    "train_images": ({"test_error": np.full(20, 0.1)}, {"test_error": np.full(20, 0.05)}),
    "factorize": (SEARCHES, {"norm": np.array([1, 1.04])}),
}


@pytest.mark.parametrize("kind", FORGED)
def test_what_chaos_may_do_elsewhere_is_a_forgery_on_the_same_class_of_machine(kind: str, tmp_path: Path) -> None:
    ours, changed = FORGED[kind]

    def found(theirs: Mapping[str, np.ndarray], same_class: bool) -> str:
        for name, arrays in (("ours", ours), ("theirs", {**ours, **theirs})):
            (tmp_path / name).mkdir(exist_ok=True)
            np.savez(tmp_path / name / FILES[0], **arrays)  # type: ignore[arg-type]
        return compare(FILES, tmp_path / "ours", tmp_path / "theirs", same_class, tables()[kind]).outcome

    assert found(changed, same_class=False) == "within tolerance"
    assert found(changed, same_class=True) == "failed"


@pytest.mark.parametrize("same_class", [True, False])
def test_settings_must_be_equal_on_every_machine(tmp_path: Path, same_class: bool) -> None:
    folders = both(tmp_path, Result(LOSSES, np.array([0.1, 0.2 + 1e-15])))
    found = compare(FILES, *folders, same_class, TABLE)
    assert found.outcome == "failed"
    assert found.difference.startswith("result.npz: rate ")
    assert "1 of 2" in found.difference


@pytest.mark.parametrize("epochs", [0, 1])
def test_runs_that_part_later_must_have_begun_alike(epochs: int, tmp_path: Path) -> None:
    """As another seed's do not, however chaotic the training is."""
    chaotic = {"loss": Tolerance(relative=1e-3, differing=0.4, runs=1 - epochs, first=(10, 1e-6), epochs=epochs)}
    rates, parted, other_seed = np.array([0.1, 0.2]), LOSSES.copy(), LOSSES.copy()

    def compared(theirs: np.ndarray) -> Compared:
        folders = both(tmp_path, Result(theirs, rates))
        for folder in folders:
            with np.load(folder / FILES[0]) as file:
                loss = np.moveaxis(file["loss"], 0, epochs)
            save_arrays(folder / FILES[0], Result(loss, rates))
        return compare(FILES, *folders, False, chaotic)

    parted[10:, :8] *= 2
    assert compared(parted).outcome == "within tolerance"
    other_seed[:, 7] *= 1 + 1e-5
    found = compared(other_seed)
    assert found.outcome == "failed"
    assert found.difference.startswith("result.npz: loss (")
    assert "1 of 20" in found.difference


def test_a_wide_tolerance_for_some_rows_is_no_permission_for_the_others(tmp_path: Path) -> None:
    """Which rows these are, we say: theirs cannot rename one."""
    table = {"loss": Tolerance(relative=0.5, rows=("method", "search"), others=Tolerance(relative=1e-9))}
    methods = np.array(["proof", "search", "proof"])

    def found(loss: list[float], names: np.ndarray) -> Compared:
        save_arrays(tmp_path / "ours" / FILES[0], Rows(np.ones(3), methods))
        save_arrays(tmp_path / "theirs" / FILES[0], Rows(np.array(loss), names))
        return compare(FILES, tmp_path / "ours", tmp_path / "theirs", False, table)

    assert found([1 + 1e-12, 1.3, 1.0], methods).outcome == "within tolerance"
    others = np.array(["proof", "proof", "search"])
    assert "(method search)" in found([1.0, 3.0, 1.0], methods).difference
    for names in (methods, others):
        line = found([1.0, 1.0, 1.3], names).difference
        assert ("(method search)" in line, "1 of 2" in line) == (False, True)


@pytest.mark.parametrize("names", [("loss",), ("loss", "rate", "more"), ("loss", "more")])
def test_another_set_of_arrays_is_a_difference_whatever_they_hold(names: tuple[str, ...], tmp_path: Path) -> None:
    rates = np.array([0.1, 0.2])
    ours, theirs = both(tmp_path, Result(LOSSES, rates))
    np.savez(theirs / FILES[0], **{name: LOSSES if name == "loss" else rates for name in names})  # type: ignore[arg-type]
    found = compare(FILES, ours, theirs, False, TABLE)
    assert found.outcome == "failed"
    assert set(re.findall(r"\w+", found.difference.partition(": ")[2])) >= {"loss", "rate", *names}


@pytest.mark.parametrize("limits", [{"rounding": "tolerance"}, {"limit": "tolerance"}])
def test_the_bound_on_an_error_is_ours(limits: dict[str, str], tmp_path: Path) -> None:
    """Theirs would be as wide as it takes."""
    table = {"error": Tolerance(**limits), "tolerance": Tolerance(relative=1.0)}  # type: ignore[arg-type]

    def found(error: float, limit: float) -> str:
        for name, values in (("ours", (1e-15, 1e-14)), ("theirs", (error, limit))):
            (tmp_path / name).mkdir(exist_ok=True)
            np.savez(tmp_path / name / FILES[0], error=values[:1], tolerance=values[1:])
        return compare(FILES, tmp_path / "ours", tmp_path / "theirs", False, table).outcome

    assert found(9e-15, 2e-14) == "within tolerance"
    assert found(1.5e-14, 2e-14) == "failed"


@pytest.mark.parametrize("few", [{"first": (10, 1e-6)}, {"rows": ("method", "search")}])
def test_another_shape_is_a_difference_also_where_rows_differ_in_tolerance(few: Any, tmp_path: Path) -> None:
    methods = np.array(["proof", "search", "proof"])
    save_arrays(tmp_path / "ours" / FILES[0], Rows(np.ones(3), methods))
    save_arrays(tmp_path / "theirs" / FILES[0], Rows(np.ones((1, 2)), methods))
    found = compare(FILES, tmp_path / "ours", tmp_path / "theirs", False, {"loss": Tolerance(**few)})
    assert found.outcome == "failed"
    assert "(1, 2)" in found.difference


def test_a_damaged_file_is_a_difference(tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, Result(LOSSES, np.array([0.1, 0.2])))
    (theirs / FILES[0]).write_bytes(b"PK\x03\x04 nothing")
    assert compare(FILES, ours, theirs, False, TABLE).outcome == "failed"


def test_numbers_in_json_have_the_tolerance_of_their_file(tmp_path: Path) -> None:
    for folder, value in (("ours", 1.0), ("theirs", 1.0 + 1e-12)):
        write_json(tmp_path / folder / "summary.json", {"samples": 3, "variance": [value]})
    folders, table = (tmp_path / "ours", tmp_path / "theirs"), {"summary.json": Tolerance(relative=1e-3)}
    assert compare(("summary.json",), *folders, False, table).outcome == "within tolerance"
    write_json(folders[1] / "summary.json", {"samples": 4, "variance": [1.0]})
    assert compare(("summary.json",), *folders, False, table).outcome == "failed"


def test_every_kind_of_job_has_tolerances() -> None:
    kinds = {job.kind for job in every_job() if job.tolerances() is not None}
    assert kinds == set(computing_kinds())


def test_tolerances_name_arrays_that_results_have(smoked: Path) -> None:
    for job in make_plan(configured("scale=smoke")).jobs.values():
        found = {name for name in job.files if name.endswith(".json")}
        for file in (job.folder(smoked / "results") / name for name in job.files if name.endswith(".npz")):
            with np.load(file, allow_pickle=False) as arrays:
                found |= set(arrays.files)
        assert set(job.tolerances() or {}) <= found, job.key
