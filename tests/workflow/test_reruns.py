"""What an edit of the code makes again, and what it does not. Oracle: Snakemake's own dry runs in a copied checkout.

Sees a comment that costs a night, an edit after which old results stay, and a kind of job that knows another's modules.
"""

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, run_command
from tests.workflow.conftest import SHOWN, planned, rules_in, snakemake

OF_WHITENED = {"train", "hessians", "theorem", "factorize", "descents"}
NAME = "CHANGED = 1\n"
PAPER = "residual/demystifying_resnet"


def append(checkout: Path, file: str, text: str) -> None:
    with (checkout / "src" / file).open("a", encoding="utf-8") as edited:
        edited.write(text)


# By default one edit of each kind of rule; which modules a job's code is, tests/engine/test_code.py has of made ones.
@pytest.mark.parametrize(
    ("file", "text", "made_again"),
    [
        (f"{PAPER}/training/ensemble.py", NAME, {"train", "hessians", *SHOWN}),
        pytest.param(f"{PAPER}/curvature/structured.py", NAME, {"hessians", *SHOWN}, marks=pytest.mark.slow),
        pytest.param(f"{PAPER}/theory/checks.py", NAME, {"theorem", *SHOWN}, marks=pytest.mark.slow),
        pytest.param("resaudit/data/whiten.py", NAME, {"whiten", *OF_WHITENED, *SHOWN}, marks=pytest.mark.slow),
        (f"{PAPER}/fig07.py", NAME, SHOWN),
        pytest.param("resaudit/claims/checks/depths.py", NAME, {"audit", "all"}, marks=pytest.mark.slow),
        ("resaudit/audit/templates/page.css", "p {}\n", {"audit", "all"}),
    ],
)
def test_an_edit_makes_again_what_it_can_change(file: str, text: str, made_again: set[str], checkout: Path) -> None:
    append(checkout, file, text)
    assert planned(checkout) == made_again


def test_a_comment_a_command_and_dates_make_nothing_again(checkout: Path) -> None:
    """Dates of results too, as after `cp -r`, which copies in any order: inputs newer than what was made from them."""
    shutil.copytree(CHECKOUT / "profiles", checkout / "profiles")
    for file in (checkout / "src").rglob("*.py"):
        file.touch()
    results = [file for file in (checkout / "results").rglob("*") if file.is_file()]
    for seconds, file in enumerate(sorted(results, key=lambda file: file.stat().st_mtime_ns, reverse=True)):
        os.utime(file, (seconds, 1_700_000_000 + seconds))
    append(checkout, f"{PAPER}/training/ensemble.py", "# A comment.\n")
    append(checkout, "resaudit/cli/commands.py", NAME)
    assert planned(checkout) == set()


def test_a_result_that_snakemake_did_not_run_is_made_again_after_an_edit(checkout: Path) -> None:
    """As after `resaudit run` by hand alone, or where results came without .snakemake; `--touch` accepts them."""
    shutil.rmtree(checkout / ".snakemake")
    assert planned(checkout) == set()
    append(checkout, f"{PAPER}/theory/checks.py", NAME)
    assert planned(checkout) == {"theorem", *SHOWN}
    assert rules_in(snakemake(checkout, "--dry-run", "--rerun-triggers", "mtime")) == set()
    snakemake(checkout, "--touch", "--forceall")
    assert planned(checkout) == set()


def test_a_result_made_by_hand_since_is_made_again_and_a_table_of_mixed_code_says_so(checkout: Path) -> None:
    source = checkout / "src/residual/demystifying_resnet/curvature/counts.py"
    before = source.read_bytes()
    append(checkout, f"{PAPER}/curvature/counts.py", NAME)
    time.sleep(1)  # Provenance tells seconds.
    by_hand = next((checkout / "results" / "hessians").iterdir())
    for key in (f"hessians/{by_hand.name}", *drawings_of(checkout, by_hand.name)):
        run = run_command(sys.executable, "-m", "resaudit", "run", key, cwd=checkout, environment=package_of(checkout))
        assert run.returncode == 0, run.stderr
    (mixed,) = {about.read_bytes() for about in checkout.glob(f"results/{key}/figure.json")}
    assert len(json.loads(mixed)["codes"]["hessians"]) == 2
    assert rules_in(snakemake(checkout, "--rerun-triggers", "mtime")) >= {"show", "audit"}
    said = run_command("resaudit", "audit", "scale=smoke", cwd=checkout, environment=package_of(checkout))
    assert re.search(r"^mixed code: \S+: \d+ and 1 .*hessians", said.stdout, re.MULTILINE), said.stderr
    source.write_bytes(before)
    assert planned(checkout) >= {"hessians", *SHOWN}
    run = snakemake(checkout)
    assert re.search(rf"^other code: \S+/{by_hand.name} ", run.stdout + run.stderr, re.MULTILINE)
    assert planned(checkout) == set()
    for about in checkout.glob("figures/*/*.json"):
        assert all(len(of) == 1 for of in json.loads(about.read_bytes()).get("codes", {}).values())


def package_of(checkout: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(checkout / "src")}


def drawings_of(checkout: Path, job: str) -> list[str]:
    """The keys of the drawings that rest on a job."""
    drawn = (checkout / "results" / "draw").glob("*/figure.json")
    return [f"draw/{about.parent.name}" for about in drawn if job in about.read_text(encoding="utf-8")]
