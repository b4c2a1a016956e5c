"""A run's whole journey by the commands that a user types. Oracles: the run's own files, and Snakemake's list of jobs.

Sees commands that work alone and not one after the other: what import keeps, the workflow draws, a spot-check adds and
forgetting removes.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from resaudit.store.files import read_json
from tests.conftest import CHECKOUT, Completed, run_command, smoke_command
from tests.travel.archives import BY

pytest.importorskip("rocrate", reason="the extra crate is not installed")

FIGURE = "demystifying_resnet/theorem1"
RULES = re.compile(r"^(?:local)?rule (\w+):$", re.MULTILINE)
OVERRIDES = ("scale=smoke", f"paths.data={CHECKOUT / 'data'}", f"figures=[{FIGURE}]")


def succeeded(*command: str, cwd: Path) -> Completed:
    run = run_command(*command, cwd=cwd, timeout=900)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-3000:]
    return run


def drawn(folder: Path) -> set[str]:
    """Draw and judge; the rules that ran."""
    run = succeeded(*smoke_command(f"figures=[{FIGURE}]"), cwd=folder)
    return set(RULES.findall(run.stdout + run.stderr))


@pytest.mark.slow
def test_a_run_is_packed_imported_drawn_judged_checked_and_forgotten(smoked: Path, tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    shutil.copytree(smoked, there)
    here.mkdir()
    drawn(there)
    succeeded("resaudit", "crate", str(tmp_path / "run.zip"), "--by", BY, *OVERRIDES, cwd=there)

    succeeded("resaudit", "import", str(tmp_path / "run.zip"), *OVERRIDES, cwd=here)
    assert drawn(here) == {"draw", "show", "report", "all"}
    table = Path("figures", f"{FIGURE}.csv")
    assert (here / table).read_bytes() == (there / table).read_bytes()

    said = succeeded("resaudit", "spot-check", "--minutes", "1", "--seed", "1", *OVERRIDES, cwd=here).stdout
    assert "Seed 1 (given)" in said
    assert "equal in every byte" in said
    (file,) = (here / "results" / "spot-checks").glob("*.json")
    statement = json.loads(file.read_text(encoding="utf-8"))
    assert statement["predicate"]["result"] == "PASSED"

    assert drawn(here) <= {"report", "all"}
    audit, page = read_json(here / "figures" / "audit.json"), (here / "figures" / "audit.html").read_text("utf-8")
    (evidence,) = [figure for paper in audit["papers"] for figure in paper["figures"]]
    (origin,) = evidence["imported"]
    (check,) = audit["spot_checks"]
    assert origin["by"] == BY
    assert check["archives"] == [origin["archive"]]
    assert (check["checked"], check["failed"]) == (check["equal"], 0)
    assert check["checked"] > 0
    assert origin["archive"][:12] in page
    assert check["statement"][0] in page

    succeeded("resaudit", "import", "--forget", str(tmp_path / "run.zip"), *OVERRIDES, cwd=here)
    assert not [key for key in origin["jobs"] if (here / "results" / key).exists()]
    assert not list(here.glob("results/imports/*"))
