"""Oracle: the job that was written. Sees a setting lost on the way, a file of another job run, Hydra in a job."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resaudit.base.errors import ResauditError, ResultsError
from resaudit.data.whiten import Whiten
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import computing_kinds, plan_file, read_job, write_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, make_plan
from tests.conftest import first_of, run_command
from tests.refusals import refused

EXECUTION = Execution("cuda", "torch", 7.5)


def few(*overrides: str) -> Plan:
    """A plan with jobs of every kind."""
    return make_plan(
        load(["scale=smoke", "figures=[demystifying_resnet/fig04,demystifying_resnet/fig05,fig08,fig11]", *overrides])
    )


@pytest.fixture(scope="module")
def plan() -> Plan:
    return few()


@pytest.fixture(scope="module")
def whiten(plan: Plan) -> Whiten:
    return first_of(plan, "whiten")


def test_every_job_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    jobs = make_plan(load(["scale=paper"]).with_every_figure()).jobs
    for job in jobs.values():
        write_job(job, EXECUTION, tmp_path)
    for key, job in jobs.items():
        assert read_job(tmp_path, key) == (job, EXECUTION)
    kinds = {"fetch", *computing_kinds()}
    assert {job.kind for job in jobs.values()} == {file.name for file in (tmp_path / "plan").iterdir()} == kinds


def test_a_job_is_written_with_what_it_reads(plan: Plan, tmp_path: Path) -> None:
    job = next(job for job in plan.jobs_of("hessians").values() if job.training)
    assert write_job(job, EXECUTION, tmp_path) == tmp_path / "plan" / f"{job.key}.json"
    written = {str(file.relative_to(tmp_path / "plan").with_suffix("")) for file in tmp_path.glob("plan/*/*")}
    assert job.training is not None
    assert job.training.sweep is not None
    assert written == {needed.key for needed in (job, job.training, job.training.sweep, job.data, job.data.data)}


def test_a_job_that_is_planned_again_keeps_its_file(whiten: Whiten, tmp_path: Path) -> None:
    """Else planning would write to a results folder at which a run is at work."""
    before = write_job(whiten, EXECUTION, tmp_path).stat().st_ino
    assert write_job(whiten, EXECUTION, tmp_path).stat().st_ino == before
    write_job(whiten, Execution(), tmp_path, again=False)
    assert read_job(tmp_path, whiten.key)[1] == EXECUTION
    write_job(whiten, Execution(), tmp_path)
    assert read_job(tmp_path, whiten.key)[1] == Execution()


def test_a_damaged_file_is_written_again(whiten: Whiten, tmp_path: Path) -> None:
    write_job(whiten, EXECUTION, tmp_path).write_text("{")
    write_job(whiten, EXECUTION, tmp_path)
    assert read_job(tmp_path, whiten.key) == (whiten, EXECUTION)


def test_an_unknown_job_is_refused(whiten: Whiten, tmp_path: Path) -> None:
    write_job(whiten, EXECUTION, tmp_path)
    for key in ("train/nothing", "nothing/nothing", "whiten", "../whiten"):
        with refused(ResultsError, key, tmp_path):
            read_job(tmp_path, key)


def test_an_input_that_is_not_planned_is_named(whiten: Whiten, tmp_path: Path) -> None:
    write_job(whiten, EXECUTION, tmp_path)
    plan_file(tmp_path, whiten.data.key).unlink()
    with refused(ResultsError, whiten.data.key):
        read_job(tmp_path, whiten.key)


def edited(**changes: Any) -> Callable[[str], str]:
    return lambda text: json.dumps(json.loads(text) | changes)


@pytest.mark.parametrize(
    ("edit", "fact", "mentioned"),
    [
        (lambda text: text[:-20], "cannot be read", ""),
        (lambda _: "[]", "cannot be read", ""),
        (edited(settings={}), "cannot be read", "(2 "),
        (edited(settings=3), "cannot be read", ""),
        (edited(inputs=[]), "cannot be read", ""),
        (edited(execution={"device": []}), "cannot be read", ""),
        (edited(kind="nothing"), "unknown kind of job", "'nothing'"),
        (edited(settings={"components": 9, "centered": True}), "describes the job", "whiten/mnist-pca9-centered-"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    edit: Callable[[str], str], fact: str, mentioned: str, whiten: Whiten, tmp_path: Path
) -> None:
    file = write_job(whiten, EXECUTION, tmp_path)
    file.write_text(edit(file.read_text()))
    with refused(ResauditError, fact) as caught:
        read_job(tmp_path, whiten.key)
    assert mentioned in str(caught.value)


def test_the_file_of_another_job_is_refused(plan: Plan, tmp_path: Path) -> None:
    one, other = [job for job in plan.jobs_of("train").values() if job.sweep is None][:2]
    plan_file(tmp_path, one.key).parent.mkdir(parents=True)
    write_job(other, EXECUTION, tmp_path).rename(plan_file(tmp_path, one.key))
    with refused(ResultsError, plan_file(tmp_path, one.key), other.key):
        read_job(tmp_path, one.key)


RUN = """
import sys
from resaudit.cli.commands import main
for key in sys.argv[1:]:
    sys.argv[1:] = ["run", key]
    assert main() == 0, key
loaded = {"hydra", "snakemake", "resaudit.plan"} & set(sys.modules)
assert not loaded, loaded
"""


def test_a_job_of_every_kind_runs_without_the_configuration(mnist_config: Config, tmp_path: Path) -> None:
    asked = few(
        f"paths.data={mnist_config.paths.data}", "figure.demystifying_resnet.fig11.protocol.units=[1]",
    )  # fmt: skip
    jobs: list[Job] = [first_of(asked, kind) for kind in ("fetch", "whiten", "train", "hessians", "theorem")]
    for job in jobs:
        write_job(job, Execution(), tmp_path / "results")
    run = run_command(sys.executable, "-c", RUN, *(job.key for job in jobs), cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    for job in jobs[1:]:
        assert all((tmp_path / file).is_file() for file in job.written(Path("results")))


IMPORT = """
import sys
sys.modules |= dict.fromkeys(("hydra", "omegaconf", "snakemake"))  # as if not installed
from resaudit.figures.drawing import figure_module
for name in sys.argv[1:]:
    figure_module(name)
"""


def test_figures_are_drawn_without_the_configuration(tmp_path: Path) -> None:
    """On a machine that lacks Hydra and Snakemake, as :mod:`benchmarks.on_gpu` allows."""
    run = run_command(sys.executable, "-c", IMPORT, *load().figure, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
