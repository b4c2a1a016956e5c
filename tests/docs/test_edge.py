"""Oracle: dense Hessians, made curves, and a job of examples/edge that nothing stops.

Sees a wrong eigenvalue, state that a checkpoint lacks, runs that depend on their block, and NaN in a table.
"""

import importlib
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from resaudit.base.papers import add_papers
from resaudit.claims.verdicts import judge
from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, run_planned

EXAMPLES = CHECKOUT / "examples"
OFTEN = Execution(checkpoint_seconds=0.05)
pytestmark = pytest.mark.usefixtures("mnist_config", "no_paper_stays")


def configured(*overrides: str) -> Config:
    add_papers(EXAMPLES)
    return load(["figures=[edge]", f"paths.data={CHECKOUT / 'data'}", *overrides])


def descents(config: Config) -> dict[str, Any]:
    return {job.id: job for job in make_plan(config).jobs.values() if job.kind == "edge_descend"}


@pytest.fixture
def job() -> Any:
    """Three runs of a small network."""
    first = next(iter(descents(configured("scale=smoke")).values()))
    return replace(first, runs=3, width=4, samples=30, steps=40)


def test_the_sharpness_is_the_largest_eigenvalue_of_the_dense_hessian(job: Any) -> None:
    images, labels = job.data.training_set()
    network = importlib.import_module("edge.network").Network(images[:30, ::4, ::4], labels[:30], 3, "cpu")
    weights = torch.tensor(network.initial(1.0, 1, range(3)), requires_grad=True)
    values, _ = network.sharpness(weights, torch.ones_like(weights), 300)
    for value, run in zip(values, weights.detach(), strict=True):
        hessian = torch.func.hessian(lambda each: network.losses(each[None])[0])(run)
        assert value == pytest.approx(torch.linalg.eigvalsh(hessian)[-1].item(), rel=1e-4)


def test_a_run_is_the_same_in_every_block(job: Any, tmp_path: Path) -> None:
    last = replace(job, first=1, runs=2)
    for each in (job, last):
        run_planned(each, tmp_path)
    np.testing.assert_allclose(last.read(tmp_path).losses, job.read(tmp_path).losses[:, 1:], rtol=1e-5)
    np.testing.assert_allclose(last.read(tmp_path).sharpness, job.read(tmp_path).sharpness[:, 1:], rtol=1e-4)


def test_more_runs_compute_new_blocks_alone() -> None:
    few, many = (set(descents(configured(f"protocol.runs={runs}"))) for runs in (4, 12))
    assert few < many
    assert len(many - few) == 4


def test_a_diverged_run_is_infinite(job: Any, tmp_path: Path) -> None:
    diverging = replace(job, learning_rate=1e30)
    run_planned(diverging, tmp_path)
    table = importlib.import_module("edge.sharpness").table([(diverging, diverging.read(tmp_path))])
    assert not table["value"].isna().any()
    assert (table.loc[table["property"] == "final sharpness", "value"] == np.inf).all()
    assert len(table) == 3 * (40 + 4 + 1)


def command(job: Any) -> list[str]:
    return [sys.executable, "-m", "resaudit", f"papers_path={EXAMPLES}", "run", job.key]


def result_of(folder: Path, job: Any) -> bytes:
    done = subprocess.run(command(job), cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "resumes from" in done.stderr or folder.name == "undisturbed"
    return (folder / job.folder(Path("results")) / "descent.npz").read_bytes()


def test_stopped_and_killed_it_ends_with_the_same_bytes(job: Any, tmp_path: Path) -> None:
    long = replace(job, steps=800)
    for name in ("undisturbed", "stopped"):
        (tmp_path / name).mkdir()
        write_job(long, OFTEN, tmp_path / name / "results")
    folder = tmp_path / "stopped"
    checkpoint = folder / "results" / "checkpoints" / long.key / "checkpoint"
    for number in (signal.SIGTERM, signal.SIGKILL):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        process = subprocess.Popen(command(long), cwd=folder, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
            time.sleep(0.005)
        process.send_signal(number)
        assert process.wait(60) != 0
    assert checkpoint.exists()
    assert result_of(folder, long) == result_of(tmp_path / "undisturbed", long)


def rows_of(name: str, *curves: list[float]) -> pd.DataFrame:
    columns = [{"property": name, "learning_rate": 0.4, "run": run, "step": step, "value": value}
               for run, curve in enumerate(curves) for step, value in enumerate(curve)]  # fmt: skip
    return pd.DataFrame(columns)


RISING, FALLING, MIXED = [0.1, 0.2, 0.3, 0.4, 1.2, 0.9, 0.8], [0.9, 0.8, 0.7, 0.6, 0.5], [0.1, 0.2, 0.3, 0.2, 0.3]


@pytest.mark.parametrize(
    ("curves", "verdict"),
    [
        ([RISING] * 3, "supported"),
        ([FALLING] * 3, "contradicted"),
        ([RISING, RISING, MIXED, FALLING], "inconclusive"),
        ([[1.5, 1.4, 1.3]] * 3, "inconclusive"),
    ],
)
def test_the_papers_own_check_gives_every_verdict(curves: list[list[float]], verdict: str) -> None:
    """A rise after the first value of 1 does not count; without two values before it, there is nothing to count."""
    claim = configured().claims["edge"]["progressive-sharpening"]
    assert judge(claim, rows_of("sharpness", *curves), "laptop").verdict == verdict


def test_the_papers_own_check_takes_means_over_spans_after_a_share_of_the_steps() -> None:
    check = configured().claims["edge"]["loss-not-monotone"].checks["long"]
    falling = [9.0] * 20 + [value for span in range(20, 0, -1) for value in (span, span + 1.5)]
    (point,) = check.measure(rows_of("loss", falling), 1).points
    assert point.shown.value == 0.0
    (point,) = check.model_copy(update={"span": 0.0}).measure(rows_of("loss", falling), 1).points
    assert point.shown.value > 0.4
