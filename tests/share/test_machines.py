"""Devices and kernels of a provenance against the jobs of a plan; oracle: what every job of a real run recorded.

Sees a sender who chooses how strictly he is compared, and an honest run that is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest

from resaudit.base.errors import ArchiveError, ResauditError
from resaudit.base.files import read_json
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.results import JobProvenance
from resaudit.jobs.simulation import Simulation
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.share.checking import check_machine

GPU = "NVIDIA H100 80GB HBM3"
LANES = {"training": 16, "counts": 8}
KERNELS = (
    None, "x", "torch, as configured", "fused kernel, vectors of 16 floats", "fused kernel, vectors of 8 floats",
    "moments of the data in torch", "LAPACK", "compiled counts, vectors of 8 doubles",
    "compiled counts, vectors of 4 doubles", "LAPACK up to 3200 parameters",
)  # fmt: skip


@cache
def jobs() -> Mapping[str, Job]:
    planned = make_plan(load(["scale=smoke"]).with_every_figure()).jobs
    return {key: job for key, job in planned.items() if job.files}


def is_taken(
    job: Job, kernel: str | None, device: str = "cpu", lanes: Any = LANES, of_class: str | None = None
) -> bool:
    """Whether the gate takes this provenance of a job."""
    ran: dict[str, Any] = {
        "device": device,
        "seconds": 1.0,
        "started": "2026-11-22T12:00:00+00:00",
        "finished": "2026-11-22T12:00:00+00:00",
        "python": "3.11",
        "packages": {},
        "code": "0" * 64,
    }
    ran |= {"machine class": {"device": of_class or device, "vector lanes": lanes}, "sha256": {}, "inputs": {}}
    ran |= {"code": "0" * 64, "kernel": kernel}
    try:
        check_machine(job, JobProvenance.model_validate(ran), "provenance.json")
    except ResauditError as error:
        return not isinstance(error, ArchiveError)
    return True


MOMENTS, LAPACK, ITERATED = "moments of the data in torch", "LAPACK", "LAPACK up to 3200 parameters"
TORCH, FUSED, COUNTS = KERNELS[2], KERNELS[3], KERNELS[7]


def allowed(device: str = "cpu", lanes: Any = LANES) -> dict[str, set[str | None]]:
    """The kernels that the gate takes, by what kind of job it is."""
    found: dict[str, set[str | None]] = {}
    for job in jobs().values():
        if device == "cpu" or job.cost(Execution("cuda")).wants_gpu:
            name = "other"
            if job.kind == "train":
                name = "train, linear" if job.ensemble.network.is_linear else "train, ReLU"
            elif job.kind == "hessians":
                name = job.method
            taken = {kernel for kernel in KERNELS if is_taken(job, kernel, device, lanes)}
            assert found.setdefault(name, taken) == taken, job.key
    return found


def test_a_job_has_the_kernels_that_it_can_have_and_no_other() -> None:
    assert allowed() == {
        "train, linear": {MOMENTS},
        "train, ReLU": {TORCH, FUSED},
        "dense": {LAPACK},
        "counts": {COUNTS},
        "other": {None},
    }


@pytest.mark.parametrize("lanes", [None, {}, {"training": None, "counts": None}, {"training": "16", "counts": [8]}])
def test_without_vectors_there_is_no_compiled_kernel(lanes: Any) -> None:
    found = allowed(lanes=lanes)
    assert found["train, ReLU"] == {TORCH}
    assert found["counts"] == {ITERATED}


def test_on_a_gpu_networks_with_activations_train_by_torch() -> None:
    assert allowed(GPU)["train, ReLU"] == {TORCH}


def test_a_network_that_no_fused_kernel_can_compute_has_torch_alone() -> None:
    (job, *_) = (job for job in jobs().values() if job.kind == "train" and not job.ensemble.network.is_linear)
    for network in (replace(job.ensemble.network, width=20), replace(job.ensemble.network, mid="tanh")):
        other = replace(job, ensemble=replace(job.ensemble, network=network))
        assert [kernel for kernel in KERNELS if is_taken(other, kernel)] == [TORCH]


def test_no_job_is_of_a_gpu_that_it_does_not_use_or_of_a_class_of_another_device() -> None:
    for job in jobs().values():
        taken = [kernel for kernel in KERNELS if is_taken(job, kernel, GPU)]
        assert bool(taken) == job.cost(Execution("cuda")).wants_gpu
        assert not any(is_taken(job, kernel, of_class=GPU) for kernel in KERNELS)
        assert not any(is_taken(job, kernel, GPU, of_class="cpu") for kernel in KERNELS)


@dataclass(frozen=True)
class Outside(Simulation):
    """A kind whose result states no types."""

    kind: ClassVar[str] = "outside"
    result: ClassVar[type[Any]] = make_dataclass("Result", ["losses"])

    def simulate(self) -> Any:
        raise NotImplementedError


def test_kinds_of_jobs_from_outside_say_what_they_like() -> None:
    assert is_taken(Outside(), "x", GPU, of_class="cpu")


def test_what_a_real_run_recorded_is_taken(smoked: Path) -> None:
    made = {key: job for key, job in jobs().items() if (smoked / "results" / key).is_dir()}
    assert {"train", "hessians", "train_scaled"} <= {job.kind for job in made.values()}
    for key, job in made.items():
        content = read_json(smoked / "results" / key / "provenance.json")
        check_machine(job, JobProvenance.model_validate(content), key)
