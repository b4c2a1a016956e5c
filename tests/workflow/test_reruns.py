"""What an edit of the code makes again, and what it does not. Oracle: Snakemake's own dry runs in a copied checkout.

Sees a comment that costs a night, an edit after which old results stay, and a kind of job that knows another's modules.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.workflow.conftest import SHOWN, planned

OF_WHITENED = {"train", "hessians", "theorem", "factorize", "descents"}
NAME = "CHANGED = 1\n"


def append(checkout: Path, file: str, text: str) -> None:
    with (checkout / "src" / "resaudit" / file).open("a", encoding="utf-8") as edited:
        edited.write(text)


# By default one edit of each kind of rule; which modules a job's code is, tests/unit/test_code.py has of made ones.
@pytest.mark.parametrize(
    ("file", "text", "made_again"),
    [
        ("training/ensemble.py", NAME, {"train", "hessians", "descents", *SHOWN}),
        pytest.param("curvature/structured.py", NAME, {"hessians", *SHOWN}, marks=pytest.mark.slow),
        pytest.param("theory/checks.py", NAME, {"theorem", *SHOWN}, marks=pytest.mark.slow),
        pytest.param("datasets/whitening.py", NAME, {"whiten", *OF_WHITENED, *SHOWN}, marks=pytest.mark.slow),
        ("papers/demystifying_resnet/fig07.py", NAME, SHOWN),
        pytest.param("claims/checks/depths.py", NAME, {"report", "all"}, marks=pytest.mark.slow),
        ("report/templates/page.css", "p {}\n", {"report", "all"}),
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
    append(checkout, "training/ensemble.py", "# A comment.\n")
    append(checkout, "cli.py", NAME)
    assert planned(checkout) == set()
