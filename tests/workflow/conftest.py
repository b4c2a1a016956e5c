"""A copy of the checkout with a finished smoke run, to be edited, moved or copied."""

import re
import shutil
from pathlib import Path

import pytest

from tests import forked
from tests.conftest import AT_SMOKE, CHECKOUT, Completed, made_once

NOTHING = "Nothing to be done"
FOLDERS = ("src", "config", "workflow")
SHOWN = {"draw", "show", "audit", "all"}


def snakemake(checkout: Path, *arguments: str, config: tuple[str, ...] = ()) -> Completed:
    """``snakemake`` at scale smoke, by the copied checkout's rules and package."""
    asked, source = ("--cores", "all", *arguments, *AT_SMOKE, *config), checkout / "src"
    environment = {} if source.is_symlink() else {"PYTHONPATH": str(source)}
    run = forked.snakemake(*asked, cwd=checkout, environment=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    return run


def copied_checkout(finished: Path, folder: Path) -> Path:
    """A copy of the checkout with a finished run in it."""
    shutil.copytree(finished, folder, dirs_exist_ok=True)
    for name in FOLDERS:
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "Snakefile", folder)
    return folder


def finished_checkout(finished: Path, folder: Path) -> None:
    """A copy of the checkout with a finished run, whose page knows that the committed matrix lies elsewhere now."""
    copied_checkout(finished, folder)
    assert rules_in(snakemake(folder)) <= {"audit", "all"}


def planned(checkout: Path, config: tuple[str, ...] = ()) -> set[str]:
    """The rules that a run would call."""
    run = snakemake(checkout, "--dry-run", config=config)
    rules = rules_in(run)
    assert rules or NOTHING in run.stdout + run.stderr
    return rules


def rules_in(run: Completed) -> set[str]:
    return set(re.findall(r"^(?:local)?rule (\w+):$", run.stdout + run.stderr, re.MULTILINE))


@pytest.fixture(scope="session")
def one_checkout(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "checkout", lambda folder: finished_checkout(finished, folder))


@pytest.fixture
def checkout(one_checkout: Path, tmp_path: Path) -> Path:
    """A copy of the checkout with the finished smoke run in it."""
    return Path(shutil.copytree(one_checkout, tmp_path / "checkout"))
