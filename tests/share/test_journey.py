"""A run's whole journey by the commands that a user types. Oracles: the run's own files, and Snakemake's list of jobs.

Sees commands that work alone and not one after the other: what import keeps, the workflow draws, a spot-check adds and
forgetting removes; and a forged archive that passes all checks of digests and then the recomputation.
"""

import re
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from resaudit.audit.build import spot_checks
from resaudit.base.files import read_json
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, make_plan
from resaudit.share import importing
from resaudit.share.spot_check import redone, spot_check
from tests.conftest import CHECKOUT, Completed, first_of, run_command, smoke_command
from tests.share.archives import BY, pack, with_array, with_paths

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
    assert drawn(here) == {"draw", "show", "audit", "all"}
    table = Path("figures", f"{FIGURE}.csv")
    assert (here / table).read_bytes() == (there / table).read_bytes()

    succeeded("resaudit", "spot-check", "--minutes", "1", "--seed", "1", *OVERRIDES, cwd=here)

    assert drawn(here) <= {"audit", "all"}
    audit, page = read_json(here / "figures" / "audit.json"), (here / "figures" / "audit.html").read_text("utf-8")
    (evidence,) = [figure for paper in audit["papers"] for figure in paper["figures"]]
    (origin,) = evidence["imported"]
    (check,) = audit["spot_checks"]
    assert origin["by"] == BY
    assert (check["archives"], check["seed"]) == ([origin["archive"]], "1")
    assert (check["checked"], check["failed"]) == (check["equal"], 0)
    assert check["checked"] > 0
    assert origin["archive"][:12] in page
    assert check["statement"][0] in page

    succeeded("resaudit", "import", "--forget", str(tmp_path / "run.zip"), *OVERRIDES, cwd=here)
    assert not [key for key in origin["jobs"] if (here / "results" / key).exists()]
    assert not list(here.glob("results/imports/*"))


@pytest.fixture(scope="module")
def packed(smoked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack(smoked, tmp_path_factory.mktemp("packed"), FIGURE)


@cache
def configured() -> Config:
    """With all claims, whose composition takes seconds."""
    return load(["scale=smoke", f"figures=[{FIGURE}]"])


@pytest.fixture
def plan(mnist_config: Config, tmp_path: Path) -> Plan:
    (tmp_path / "data").symlink_to(mnist_config.paths.data)
    return make_plan(with_paths(configured(), tmp_path))


@pytest.mark.parametrize(
    ("value", "outcome"), [(1e6, "failed"), pytest.param(5.5e-15, "warned", marks=pytest.mark.slow)]
)
def test_a_forged_archive_never_agrees_on_the_same_class_of_machine(
    value: float, outcome: str, packed: Path, plan: Plan, tmp_path: Path
) -> None:
    """One of 80 entries, with all digests redone; a tenth of them may differ on another class."""
    job, results = first_of(plan, "theorem"), tmp_path / "results"
    name = f"results/{job.key}/{next(iter(job.files))}"
    forgery = with_array(packed, tmp_path / "forged.zip", name, "value", lambda values: np.put(values, 0, value))
    importing.import_run(forgery, plan.config, [], False, lambda _: None)
    said: list[str] = []
    assert not spot_check(plan, said.append, minutes=None, claim="theorem-1-construction")
    (check,) = spot_checks(results)
    assert (check.jobs[job.key], check.checked, check.covered) == (outcome, 2, [])
    kept = redone(job, results)
    assert (kept / next(iter(job.files))).is_file()
    assert any(str(kept) in line for line in said)
    assert "agrees" not in "".join(said)
