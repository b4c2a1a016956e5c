"""What the rules ask for, by dry runs. Sees a job that asks for a GPU and does not use it, and the reverse."""

import os
import re
from pathlib import Path

import pytest

from tests.conftest import run_snakemake

Asked = list[tuple[str, str, dict[str, str]]]


def resources(
    folder: Path, *overrides: str, more: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> Asked:
    """Rule, first output and resources of every job."""
    asked = ("--dry-run", *more, "--config", "scale=smoke", f"overrides=[{','.join(overrides)}]")
    run = run_snakemake(*asked, cwd=folder, environment=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    parts = re.split(r"^(?:local)?rule (\w+):$", run.stdout + run.stderr, flags=re.MULTILINE)
    jobs = zip(parts[1::2], parts[2::2], strict=True)
    found = []
    for rule, block in jobs:
        asked = re.search(r"resources: (.*)", block)
        output = re.search(r"output: (.*)", block)
        pairs = dict(item.split("=", 1) for item in asked[1].split(", ")) if asked else {}
        found.append((rule, output[1] if output else "", pairs))
    return found


def a_torch_that(folder: Path, available: bool) -> dict[str, str]:
    """The environment of a machine with two GPUs, made up, with a torch that can or cannot use them."""
    (folder / "torch").mkdir()
    usable = f"""
from array import array
class cuda: is_available = lambda: {available}
ones = lambda size, device: array("f", [1] * size)
"""
    (folder / "torch" / "__init__.py").write_text(usable)
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": "0,1"}


@pytest.mark.parametrize(
    ("device", "usable", "asked_for"),
    [
        ("auto", True, True),
        ("auto", False, False),
        pytest.param("cuda", False, True, marks=pytest.mark.slow),  # as tests/engine/test_jobs.py has of each job
        pytest.param("cpu", True, False, marks=pytest.mark.slow),
    ],
)
def test_gpus_are_asked_for_by_what_wants_one(device: str, usable: bool, asked_for: bool, tmp_path: Path) -> None:
    """Trainings with ReLUs, and Hessians whose eigenvalues are all computed, if they are large."""
    large = [f"figure.demystifying_resnet.fig05.protocol.{key}" for key in ("hessian_method=dense", "depths=[16]")]
    jobs = resources(tmp_path, f"device={device}", *large, environment=a_torch_that(tmp_path, usable))
    with_gpu = [output for _, output, asked in jobs if asked.get("gpu") == "1"]
    wanting = [
        output
        for rule, output, _ in jobs
        if rule == "train_scaled"
        or (rule == "train" and "-relu" in output)
        or (rule == "hessians" and "depth16" in output and "-dense" in output)
    ]
    assert len([output for output in wanting if "/train/" in output]) > 1
    assert len([output for output in wanting if "/hessians/" in output]) > 1
    assert sorted(with_gpu) == (sorted(wanting) if asked_for else [])


def test_every_job_says_what_it_needs_and_after_a_failure_asks_for_more(tmp_path: Path) -> None:
    """At an attempt whose number divides nothing by chance, set by the option that Snakemake gives its own jobs."""
    attempt = 97
    jobs = resources(tmp_path, more=("all", "robustness", "--attempt", str(attempt)))
    assert {rule for rule, _, _ in jobs} > {"whiten", "train", "hessians", "theorem", "draw", "robustness_matrix"}
    for rule, _, asked in jobs:
        if rule not in ("all", "show", "robustness", "fetch_mnist", "fetch_fashion_mnist"):
            assert int(asked["mem_mb"]) % attempt == int(asked["runtime"]) % attempt == 0, (rule, asked)
            assert 500 <= int(asked["mem_mb"]) / attempt < 8000, (rule, asked)
            assert 5 <= int(asked["runtime"]) / attempt < 120, (rule, asked)
