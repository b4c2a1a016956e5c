"""What no change of structure may move: the ids of all jobs and, on one CPU platform, the bytes of all tables.

Sees a refactoring that changes what is computed. The verdicts of the committed tables are held by
``tests/engine/test_readme.py``. If an id or a table is meant to change, say so in CHANGELOG.md and write both
files anew: ``python -m tests.residual.test_frozen FOLDER``, with a folder in which ``snakemake --config scale=smoke``
has run.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from resaudit.base.files import sha256_of
from resaudit.plan.composition import load
from resaudit.plan.plans import Plans

FROZEN = Path(__file__).parents[1] / "frozen"


def ids() -> list[str]:
    """The ``kind/id`` of every job of every figure and variant at scale smoke."""
    every = ",".join(load().figure)
    plans = Plans.composed(["scale=smoke", f"figures=[{every}]"])
    return sorted({key for plan in plans.all() for key in plan.jobs})


def tables(folder: Path) -> dict[str, Any]:
    """The SHA-256 of every table that was drawn in a folder, and the CPU platforms that it was computed on.

    Of these, those with torch: in one process, as here, every job has it loaded.
    """
    drawn = sorted(file for file in folder.glob("figures/*/*.csv") if file.stem != "robustness")
    abouts = [json.loads(csv.with_suffix(".json").read_text(encoding="utf-8")) for csv in drawn]
    platforms = [each for about in abouts for each in about["machine classes"] if "torch" in each]
    classes = {json.dumps(each, sort_keys=True) for each in platforms}
    return {
        "machine classes": sorted(classes),
        "sha256": {f"{csv.parent.name}/{csv.stem}": sha256_of(csv) for csv in drawn},
    }


def test_jobs_keep_their_ids() -> None:
    assert ids() == (FROZEN / "ids.txt").read_text(encoding="utf-8").split()


def test_tables_keep_their_bytes(smoked: Path) -> None:
    frozen, found = json.loads((FROZEN / "tables.json").read_text(encoding="utf-8")), tables(smoked)
    assert found["sha256"].keys() == frozen["sha256"].keys()
    if found["machine classes"] != frozen["machine classes"]:
        pytest.skip("the frozen tables are of another CPU platform")
    assert found["sha256"] == frozen["sha256"]


if __name__ == "__main__":
    (FROZEN / "ids.txt").write_text("\n".join(ids()) + "\n", encoding="utf-8")
    written = json.dumps(tables(Path(sys.argv[1])), indent=1) + "\n"
    (FROZEN / "tables.json").write_text(written, encoding="utf-8")
