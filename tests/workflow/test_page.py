"""What makes the page again, and what does not. Oracle: Snakemake's own dry runs.

Sees a page that hides the matrix of an earlier run, one that waits for variants that nobody asked for, a rule that
writes what another declares, and a run that never comes to its end.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from resaudit.config.models import Config
from tests.conftest import CHECKOUT, Completed, run_command, smoke_command

PAPER = "demystifying_resnet"
MATRIX = f"figures/{PAPER}/robustness"
FIGURE = "figures=[theorem1]"
NOTHING = "Nothing to be done"


def run(folder: Path, *arguments: str) -> Completed:
    done = run_command(*smoke_command(*arguments, config=(FIGURE,)), cwd=folder, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def rules_of(done: Completed) -> list[str]:
    return re.findall(r"^(?:local)?rule (\w+):$", done.stdout + done.stderr, re.MULTILINE)


def inputs_of(rule: str, done: Completed) -> list[str]:
    block = (done.stdout + done.stderr).split(f"rule {rule}:")[1]
    inputs = re.findall(r"^ +input: (.*)$", block, re.MULTILINE)[0]
    return re.split(r",? ", inputs)


def a_matrix_of_an_earlier_run(folder: Path) -> None:
    variants = [{"id": "control", "summary": "s", "overrides": [], "scale": "smoke", "deviations": []}]
    made = {"paper": PAPER, "finished": "2026-01-01T00:00:00+00:00", "ledger": "0" * 64, "tables": {},
            "variants": variants, "verdicts": {}}  # fmt: skip
    (folder / f"{MATRIX}.json").write_text(json.dumps(made), encoding="utf-8")
    for suffix in ("svg", "csv", "pdf", "png"):
        shutil.copy(folder / f"figures/{PAPER}/theorem1.{suffix}", folder / f"{MATRIX}.{suffix}")


@pytest.fixture(scope="module")
def finished(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of one figure, beside which a matrix appears, as an earlier ``robustness`` leaves it."""
    assert mnist_config
    folder = tmp_path_factory.mktemp("finished")
    run(folder, "all")
    assert NOTHING in run(folder, "all", "--dry-run").stdout
    a_matrix_of_an_earlier_run(folder)
    return folder


def test_the_page_shows_the_matrix_of_an_earlier_run_and_no_variant_is_computed_for_it(finished: Path) -> None:
    planned = run(finished, "all", "--dry-run")
    assert rules_of(planned) == ["report", "all"]
    assert {f"{MATRIX}.{suffix}" for suffix in ("csv", "json", "svg")} <= set(inputs_of("report", planned))
    run(finished, "all")
    audit = json.loads((finished / "figures/audit.json").read_text(encoding="utf-8"))
    assert audit["papers"][0]["robustness"]["stale"] == "the claims have changed since"
    again = run(finished, "all", "--dry-run")
    assert NOTHING in again.stdout + again.stderr


def test_asked_for_the_matrix_is_made_before_the_page_by_one_rule_each(finished: Path) -> None:
    planned = run(finished, "robustness", "--dry-run", "--forcerun", "vary")
    rules = rules_of(planned)
    assert rules.index("vary") < rules.index("report") < rules.index("robustness")
    assert rules.count("report") == rules.count("vary") == 1
    assert f"{MATRIX}.csv" in inputs_of("report", planned)
    block = (planned.stdout + planned.stderr).split("rule robustness:")[1].split("Job stats")[0]
    assert "output:" not in block


def test_whoever_judges_reads_the_ledger(finished: Path) -> None:
    """A file that is named as an input is looked at whatever its hash says."""
    ledger = str(CHECKOUT / "config" / "claims" / f"{PAPER}.yaml")
    planned = run(finished, "robustness", "--dry-run", "--forcerun", "vary", "report")
    assert ledger in inputs_of("vary", planned)
    assert ledger in inputs_of("report", planned)
