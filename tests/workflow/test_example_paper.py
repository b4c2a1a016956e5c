"""Oracle: a made-up paper put into a copy of the checkout. Sees code that must be told of a paper or a kind of job."""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import CHECKOUT, Completed, run_command

EXAMPLE = CHECKOUT / "tests" / "example_paper"
ADDED = {"config/paper/coins", "src/residual/coins"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, as git sees it, with the example put in."""
    copy = tmp_path_factory.mktemp("checkout")
    for part in (".gitignore", "Snakefile", "pyproject.toml", "config", "profiles", "src", "workflow"):
        source = CHECKOUT / part
        shutil.copytree(source, copy / part) if source.is_dir() else shutil.copy(source, copy / part)
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=copy, check=True)
    for part in ("config", "src"):
        shutil.copytree(EXAMPLE / part, copy / part, dirs_exist_ok=True)
    return copy


def run(checkout: Path, *command: str) -> Completed:
    program, *arguments = command
    environment = {"PYTHONPATH": str(checkout / "src")}
    start = forked.snakemake if program == "snakemake" else partial(run_command, program)
    done = start(*arguments, cwd=checkout, environment=environment)
    assert done.returncode == 0, done.stderr
    return done


def test_a_paper_is_one_folder_and_one_package(checkout: Path) -> None:
    run(checkout, "snakemake", "--cores", "all", "--config", "figures=[coins/fig01]", "--", "robustness")
    audit = json.loads((checkout / "figures" / "audit.json").read_text(encoding="utf-8"))
    (claim,) = (claim for paper in audit["papers"] for claim in paper["claims"] if claim["id"].startswith("coins/"))
    assert claim["verdict"] == "supported"
    assert [point["where"] for result in claim["checks"] for point in result["points"]] == [
        "bias 0.2", "bias 0.5", "bias 0.8",
    ]  # fmt: skip
    assert [(each["id"], each["verdict"]) for each in claim["variants"]] == [
        ("control", None), ("other-seed", "supported"), ("fewer-tosses", "supported"),
    ]  # fmt: skip
    assert len(list((checkout / "results" / "toss").iterdir())) == 9
    changed = run(checkout, "git", "status", "--porcelain", "--", "config", "src", "workflow").stdout.splitlines()
    assert {line.rstrip("/") for line in changed} == {f"?? {path}" for path in ADDED}


def test_it_says_of_a_figure_without_data_that_there_are_none(checkout: Path) -> None:
    lines = run(checkout, "resaudit", "explain", "coins/fig01").stdout
    assert "MNIST" not in lines
    assert "toss/coin20-" in lines
