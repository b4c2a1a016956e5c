"""Shapes against every array of a real run of all figures, and against arrays that its jobs could not give.

Sees a kind without a statement, a statement that refuses honest results, and one that lets other arrays through.
"""

from pathlib import Path

import numpy as np
import pytest

from resaudit.errors import ResauditError
from resaudit.jobs.train import Train
from resaudit.plan.files import computing_kinds, read_job
from resaudit.travel.arrays import check_arrays
from resaudit.travel.shapes import ARRAYS, Header, check_headers


def test_every_result_of_a_run_of_all_figures_is_taken(smoked: Path) -> None:
    results, kinds = smoked / "results", set()
    for file in results.glob("*/*/*.npz"):
        job, _ = read_job(results, f"{file.parts[-3]}/{file.parts[-2]}")
        check_arrays(file, job)
        kinds.add(job.kind)
    assert {kind for kind in computing_kinds() if not any(key.startswith(f"{kind}/") for key in ARRAYS)} == set()
    assert len(kinds) > 10


@pytest.fixture(scope="module")
def training(smoked: Path) -> tuple[Train, dict[str, Header]]:
    """A training at given rates, and the headers of its result."""
    results = smoked / "results"
    for file in sorted(results.glob("train/*/trajectory.npz")):
        job, _ = read_job(results, f"train/{file.parts[-2]}")
        if isinstance(job, Train) and job.sweep is None:
            with np.load(file) as arrays:
                return job, {name: Header(arrays[name].dtype, arrays[name].shape) for name in arrays.files}
    raise AssertionError("no training at given rates")


FLOAT = np.dtype("f8")


@pytest.mark.parametrize(
    ("name", "forged", "said"),
    [
        ("excess_loss", Header(np.dtype("f4"), (0, 0)), "excess_loss is float32"),
        ("excess_loss", Header(FLOAT, (3,)), "excess_loss is float64[3]; its job can only give float64["),
        ("excess_loss", Header(FLOAT, (10**6, 3)), "excess_loss is float64[1000000, 3]"),
        ("learning_rate", Header(FLOAT, (1,)), "learning_rate is float64[1]; its job can only give float64["),
        ("baseline_loss", Header(np.dtype("i8"), ()), "baseline_loss is int64[]; its job can only give float64[]"),
        ("snapshots", None, "its job gives baseline_loss, "),
        ("more", Header(FLOAT, ()), ", more, "),
    ],
)
def test_arrays_that_a_training_cannot_give_are_refused(
    name: str, forged: Header | None, said: str, training: tuple[Train, dict[str, Header]]
) -> None:
    job, headers = training
    others = {key: header for key, header in headers.items() if key != name}
    with pytest.raises(ResauditError) as error:
        check_headers(job, "trajectory.npz", others | ({name: forged} if forged else {}), "it")
    assert said in str(error.value)
    assert "\n" not in str(error.value)
