"""Shapes against every array of a real run of all figures, and against arrays that its jobs could not give.

Sees a kind without a statement, a statement that refuses honest results, and one that lets other arrays through.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest

from resaudit.base.errors import ArchiveError, ResauditError
from resaudit.jobs.arrays import Shape, Text, Tolerance, Type
from resaudit.jobs.job import Job
from resaudit.jobs.plan_files import computing_kinds, read_job
from resaudit.jobs.simulation import Simulation
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.share.checking import check_arrays, check_shapes
from tests.refusals import refused


def test_every_result_of_a_run_of_all_figures_is_taken(smoked: Path) -> None:
    results, kinds = smoked / "results", set()
    for file in results.glob("*/*/*.npz"):
        job, _ = read_job(results, f"{file.parts[-3]}/{file.parts[-2]}")
        check_arrays(file, job)
        kinds.add(job.kind)
    assert len(kinds) > 10


@pytest.mark.parametrize("kind", ["train", "train_scaled", "simulate"])
def test_a_run_that_diverges_and_comes_back_is_refused(kind: str, smoked: Path, tmp_path: Path) -> None:
    tried = 0
    for file in sorted((smoked / "results").glob(f"{kind}/*/*.npz")):
        job, _ = read_job(smoked / "results", f"{kind}/{file.parts[-2]}")
        with np.load(file) as content:
            arrays = dict(content)
        for name, tolerance in (job.tolerances() or {}).items():
            array = arrays[name]
            if tolerance.runs is None or array.size == 0 or array.shape[tolerance.epochs] < 3:
                continue
            for part, taken in ((slice(1, None), True), (slice(1, 2), False), (slice(0, -1), False)):
                changed = array.copy()
                np.moveaxis(changed, tolerance.epochs, 0)[part, ..., :1] = np.nan
                np.savez(tmp_path / file.name, **arrays | {name: changed})
                assert taken == is_taken(tmp_path / file.name, job), (file, name, part)
            tried += 1
    assert tried


def is_taken(file: Path, job: Job) -> bool:
    try:
        check_arrays(file, job)
    except ResauditError as error:
        return not isinstance(error, ArchiveError)
    return True


def test_every_array_of_every_kind_has_a_type() -> None:
    jobs = make_plan(load(["scale=smoke"]).with_every_figure()).jobs.values()
    assert {job.kind for job in jobs} >= set(computing_kinds())
    files = ((job, file) for job in jobs for file in job.files if file.endswith(".npz"))
    assert {
        (job.kind, name) for job, file in files for name, said in job.arrays_of(file).items() if not said.type
    } == set()


@dataclass(frozen=True)
class Result:
    heads: Annotated[np.ndarray, Type("b1"), Shape("tosses", 2)]
    names: Text
    loss: Annotated[np.ndarray, Type("precision"), Tolerance(relative=1e-3)]
    free: np.ndarray


@dataclass(frozen=True)
class Stated(Simulation):
    """A kind of a paper outside that states its arrays: its types and sizes are checked too."""

    kind: ClassVar[str] = "stated"
    result: ClassVar[type[Any]] = Result

    tosses: int
    precision: str = "float32"

    def simulate(self) -> Any:
        raise NotImplementedError


STATED = {"heads": np.ones((3, 2), bool), "names": np.full(4, "a"), "loss": np.ones(4, "f4"), "free": np.ones((9, 9))}
FILE = Path("result.npz")


def test_tolerances_are_those_of_the_fields() -> None:
    assert Stated(3).tolerances() == {"loss": Tolerance(relative=1e-3)}


def test_arrays_as_a_kind_states_them_are_taken() -> None:
    check_shapes(Stated(3), FILE, STATED)
    check_shapes(Stated(3), FILE, STATED | {"free": np.array("a")})


@pytest.mark.parametrize(
    ("name", "forged", "allowed"),
    [
        ("heads", np.ones((4, 2), bool), "bool[3, 2]"),
        ("heads", np.ones((3, 1), bool), "bool[3, 2]"),
        ("names", np.ones(4, int), "text[rows]"),
        ("loss", np.ones(4), "float32[4]"),
        ("loss", np.ones(5, "f4"), "float32[4]"),
    ],
)
def test_arrays_that_a_kind_does_not_state_are_refused(name: str, forged: np.ndarray, allowed: str) -> None:
    with refused(ArchiveError, name, allowed):
        check_shapes(Stated(3), FILE, STATED | {name: forged})


@pytest.fixture(scope="module")
def training(smoked: Path) -> tuple[Job, dict[str, np.ndarray]]:
    """A training at given rates, and the arrays of its result."""
    results = smoked / "results"
    for file in sorted(results.glob("train/*/trajectory.npz")):
        job, _ = read_job(results, f"train/{file.parts[-2]}")
        if job.sweep is None:
            with np.load(file) as arrays:
                return job, dict(arrays)
    raise AssertionError("no training at given rates")


@pytest.mark.parametrize(
    ("name", "forged", "fact"),
    [
        ("excess_loss", np.ones((1, 1), "f4"), ": excess_loss is "),
        ("excess_loss", np.ones(3), ": excess_loss is "),
        ("excess_loss", np.ones((10**6, 3)), ": excess_loss is "),
        ("learning_rate", np.ones(1), ": learning_rate is "),
        ("baseline_loss", np.array(1), ": baseline_loss is "),
        ("snapshots", None, "has the arrays"),
        ("more", np.array(1.0), "has the arrays"),
    ],
)
def test_arrays_that_a_training_cannot_give_are_refused(
    name: str, forged: np.ndarray | None, fact: str, training: tuple[Job, dict[str, np.ndarray]]
) -> None:
    job, arrays = training
    others = {key: array for key, array in arrays.items() if key != name}
    changed = others if forged is None else others | {name: forged}
    with refused(ArchiveError, Path("trajectory.npz"), fact):
        check_shapes(job, Path("trajectory.npz"), changed)
