"""What asking for something else, moving a checkout and copying results home leave as it is.

Oracle: Snakemake's own dry runs in a copied checkout, and the bytes of figures. Sees work that is destroyed or done
again though its results are there.
"""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, Completed, in_process
from tests.workflow.conftest import SHOWN, copied_checkout, planned, rules_in, snakemake

PAPER = "demystifying_resnet"
FEW = ("figures=[theorem2]",)
COPIED = SHOWN - {"draw"}


def with_this_package(checkout: Path) -> Path:
    """A copied checkout that has this one's package, which is loaded already: no test here edits it."""
    shutil.rmtree(checkout / "src")
    (checkout / "src").symlink_to(CHECKOUT / "src")
    return checkout


@pytest.fixture
def checkout(checkout: Path) -> Path:
    return with_this_package(checkout)


def a_clone(folder: Path) -> Path:
    """A copy of the checkout in which nothing was run."""
    (empty := folder.parent / "empty").mkdir()
    return with_this_package(copied_checkout(empty, folder))


def shown(checkout: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((checkout / "figures" / PAPER).glob("theorem2.*"))}


def resaudit(checkout: Path, *arguments: str) -> Completed:
    return in_process(*arguments, "figures=[theorem2]", cwd=checkout)


def test_another_seed_keeps_what_was_drawn_and_going_back_only_copies(checkout: Path) -> None:
    before = shown(checkout)
    other = (*FEW, f"overrides=[paths.data={CHECKOUT / 'data'},seed=2]")
    assert {"theorem", "draw"} <= rules_in(snakemake(checkout, config=other))
    assert shown(checkout).keys() == before.keys()
    assert shown(checkout)["theorem2.csv"] != before["theorem2.csv"]
    refused = resaudit(checkout, "audit", "scale=smoke")
    assert refused.returncode == 1
    assert {"seed=1", "seed=2"} <= set(re.findall(r"seed=\d", refused.stderr))
    assert resaudit(checkout, "audit", "scale=smoke", "seed=2").returncode == 0
    assert rules_in(snakemake(checkout, config=FEW)) == COPIED
    assert shown(checkout) == before
    assert planned(checkout, config=FEW) == set()
    assert planned(checkout, config=other) == COPIED


def test_a_renamed_checkout_computes_nothing(checkout: Path) -> None:
    renamed = checkout.rename(checkout.parent / "another name")
    assert planned(renamed) == set()


def test_results_come_home_as_the_readme_says(checkout: Path, tmp_path: Path) -> None:
    """Copied without their dates, into a clone whose raw data were fetched anew and that Snakemake knows nothing of."""
    home = a_clone(tmp_path / "home")
    shutil.copytree(checkout / "results", home / "results", copy_function=shutil.copy)
    for file in home.glob("results/whiten/*/*"):
        file.touch()
    assert "theorem" in planned(home, config=FEW)  # the dates alone would do it all again
    text = (CHECKOUT / "profiles" / "README.md").read_text(encoding="utf-8")
    section = text.split("## Bring it home")[1].split("## ")[0]
    (options,) = re.findall(r"^snakemake --cores all (.*--touch.*) --config", section, re.MULTILINE)
    snakemake(home, *options.split(), config=FEW)
    assert rules_in(snakemake(home, config=FEW)) == COPIED
    assert shown(home) == shown(checkout)
    assert planned(home, config=FEW) == set()


def test_figures_alone_are_enough_to_read(checkout: Path, tmp_path: Path) -> None:
    home = a_clone(tmp_path / "home")
    shutil.copytree(checkout / "figures", home / "figures")
    run = resaudit(home, "audit", "scale=smoke")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("scale smoke ")
