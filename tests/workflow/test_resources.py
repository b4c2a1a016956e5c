"""What the rules ask for, by dry runs. Sees a job that asks for a GPU and does not use it, and the reverse."""

import re
from pathlib import Path

import pytest

from tests.conftest import run_command, snakemake_command


def resources(folder: Path, *overrides: str, more: tuple[str, ...] = ()) -> list[tuple[str, str, dict[str, str]]]:
    """Rule, first output and resources of every job."""
    command = snakemake_command("--dry-run", *more, "--config", "scale=smoke", f"overrides=[{','.join(overrides)}]")
    run = run_command(*command, cwd=folder)
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


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_gpus_are_asked_for_by_what_uses_one(device: str, tmp_path: Path) -> None:
    jobs = resources(tmp_path, f"device={device}")
    with_gpu = [(rule, output) for rule, output, asked in jobs if asked.get("gpu") == "1"]
    assert {rule for rule, _ in with_gpu} == ({"train", "curvature"} if device == "cuda" else set())
    assert not [output for _, output in with_gpu if "-counts/" in output]
    if device == "cuda":
        assert len([output for _, output in with_gpu if "-dense/" in output]) > 1
        assert len([rule for rule, _ in with_gpu if rule == "train"]) > 1


def test_every_job_says_what_it_needs_and_after_a_failure_asks_for_more(tmp_path: Path) -> None:
    """At an attempt whose number divides nothing by chance, set by the option that Snakemake gives its own jobs."""
    attempt = 97
    jobs = resources(tmp_path, more=("all", "robustness", "--attempt", str(attempt)))
    assert {rule for rule, _, _ in jobs} > {"whiten", "train", "curvature", "verify", "draw", "draw_variant", "vary"}
    for rule, _, asked in jobs:
        if rule not in ("all", "robustness", "fetch_mnist", "fetch_fashion_mnist"):
            assert int(asked["mem_mb"]) % attempt == int(asked["runtime"]) % attempt == 0, (rule, asked)
            assert 500 <= int(asked["mem_mb"]) / attempt < 8000, (rule, asked)
            assert 5 <= int(asked["runtime"]) / attempt < 120, (rule, asked)
