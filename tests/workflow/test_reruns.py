"""What an edit of the code makes again, and what it does not. Oracle: Snakemake's own dry runs in a copied checkout.

Sees a comment that costs a night, an edit after which old results stay, and a kind of job that knows another's modules.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, Completed, run_command, smoke_command

NOTHING = "Nothing to be done"
FOLDERS = ("src", "config", "workflow")
SHOWN = {"draw", "show", "report", "all"}
OF_WHITENED = {"train", "hessians", "theorem", "factorize", "descents"}


def snakemake(checkout: Path, *arguments: str, config: tuple[str, ...] = ()) -> Completed:
    """``snakemake`` at scale smoke, by the copied checkout's rules and package."""
    command = smoke_command(*arguments, config=config)
    command[command.index("--snakefile") + 1] = str(checkout / "Snakefile")
    run = run_command(*command, cwd=checkout, timeout=300, environment={"PYTHONPATH": str(checkout / "src")})
    assert run.returncode == 0, run.stderr[-3000:]
    return run


def copied_checkout(finished: Path, folder: Path) -> Path:
    """A copy of the checkout with a finished run in it."""
    shutil.copytree(finished, folder)
    for name in FOLDERS:
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "Snakefile", folder)
    return folder


def finished_checkout(finished: Path, folder: Path) -> Path:
    """A copy of the checkout with a finished run, whose page knows that the committed matrix lies elsewhere now."""
    copied_checkout(finished, folder)
    assert rules_in(snakemake(folder)) <= {"report", "all"}
    return folder


@pytest.fixture(scope="module")
def checkout(smoked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the finished smoke run in it."""
    return finished_checkout(smoked, tmp_path_factory.mktemp("copied") / "checkout")


@contextmanager
def edited(file: Path, edit: Callable[[str], str]) -> Iterator[None]:
    before = file.read_text(encoding="utf-8")
    after = edit(before)
    assert after != before
    file.write_text(after, encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(before, encoding="utf-8")


def planned(checkout: Path, config: tuple[str, ...] = ()) -> set[str]:
    """The rules that a run would call."""
    run = snakemake(checkout, "--dry-run", config=config)
    rules = rules_in(run)
    assert rules or NOTHING in run.stdout + run.stderr
    return rules


def rules_in(run: Completed) -> set[str]:
    return set(re.findall(r"^(?:local)?rule (\w+):$", run.stdout + run.stderr, re.MULTILINE))


def with_comment(text: str) -> str:
    return text + "# A comment.\n"


def with_name(text: str) -> str:
    return text + "CHANGED = 1\n"


@pytest.mark.parametrize(
    ("file", "edit", "made_again"),
    [
        ("training/ensemble.py", with_comment, set()),
        ("training/ensemble.py", with_name, {"train", "hessians", "descents", *SHOWN}),
        ("curvature/structured.py", with_name, {"hessians", *SHOWN}),
        ("theory/checks.py", with_name, {"theorem", *SHOWN}),
        ("datasets/whitening.py", with_name, {"whiten", *OF_WHITENED, *SHOWN}),
        ("papers/demystifying_resnet/fig07.py", with_name, SHOWN),
        ("claims/checks/depths.py", with_name, {"report", "all"}),
        ("report/templates/page.css", lambda text: text + "p {}\n", {"report", "all"}),
        ("cli.py", with_name, set()),
    ],
)
def test_an_edit_makes_again_what_it_can_change(
    file: str, edit: Callable[[str], str], made_again: set[str], checkout: Path
) -> None:
    with edited(checkout / "src" / "resaudit" / file, edit):
        assert planned(checkout) == made_again


def test_a_date_alone_makes_nothing_again(checkout: Path) -> None:
    for file in (checkout / "src").rglob("*.py"):
        file.touch()
    assert planned(checkout) == set()
