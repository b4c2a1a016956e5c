"""What makes the page again, and what does not. Oracle: Snakemake's own dry runs.

Sees a page that hides the matrix of an earlier run, one that waits for variants that nobody asked for, a rule that
writes what another declares, and a run that never comes to its end.
"""

import json
import re
import shutil
from pathlib import Path

from tests.conftest import Completed, smoke

PAPER = "demystifying_resnet"
MATRIX = f"figures/{PAPER}/robustness"
NOTHING = "Nothing to be done"


def run(folder: Path, *arguments: str, config: tuple[str, ...] = ()) -> Completed:
    done = smoke(folder, *arguments, config=config)
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
    made = {"paper": PAPER, "finished": "2026-01-01T00:00:00+00:00", "tables": {}, "variants": variants, "verdicts": {},
            "ledger": {"depth-invariant-condition": "0" * 64}}  # fmt: skip
    (folder / f"{MATRIX}.json").write_text(json.dumps(made), encoding="utf-8")
    for suffix in ("svg", "csv", "pdf", "png"):
        shutil.copy(folder / f"figures/{PAPER}/theorem1.{suffix}", folder / f"{MATRIX}.{suffix}")


def test_the_page_shows_the_matrix_of_an_earlier_run_and_no_variant_is_computed_for_it(
    finished: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(finished, tmp_path / "copy"))
    assert NOTHING in run(folder, "all", "--dry-run").stdout
    a_matrix_of_an_earlier_run(folder)
    planned = run(folder, "all", "--dry-run")
    assert rules_of(planned) == ["audit", "all"]
    assert {f"{MATRIX}.{suffix}" for suffix in ("csv", "json", "svg")} <= set(inputs_of("audit", planned))
    made = run(folder, "all")
    said = made.stdout + made.stderr
    assert re.search(r"^estimated: .* on \d+ cores$", said, re.MULTILINE)
    assert re.search(r"^1 of 2 .* left$", said, re.MULTILINE)
    assert re.search(r"^claims: 0 supported.* figures/audit\.html$", said, re.MULTILINE)
    audit = json.loads((folder / "figures/audit.json").read_text(encoding="utf-8"))
    assert audit["papers"][0]["robustness"]["stale"] is not None
    again = run(folder, "all", "--dry-run")
    assert NOTHING in again.stdout + again.stderr


def test_hidden_files_are_no_records_that_the_page_shows(tmp_path: Path) -> None:
    record = Path("results/spot-checks/check-20261122.json")
    (tmp_path / record.parent).mkdir(parents=True)
    for name in (record.name, f"._{record.name}", f".#{record.name}"):
        (tmp_path / record.with_name(name)).touch()
    inputs = inputs_of("audit", run(tmp_path, "--dry-run", config=("figures=[theorem2]",)))
    assert str(record) in inputs
    assert not [file for file in inputs if Path(file).name.startswith(".")]


def test_asked_for_the_matrix_is_made_before_the_page_by_one_rule_each(tmp_path: Path) -> None:
    planned = run(tmp_path, "robustness", "--dry-run", config=("figures=[theorem1]",))
    rules = rules_of(planned)
    assert rules.index("robustness_matrix") < rules.index("audit") < rules.index("robustness")
    assert rules.count("audit") == rules.count("robustness_matrix") == 1
    assert f"{MATRIX}.csv" in inputs_of("audit", planned)
    block = (planned.stdout + planned.stderr).split("rule robustness:")[1].split("Job stats")[0]
    assert "output:" not in block
