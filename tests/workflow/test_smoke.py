"""The whole workflow, run as a user runs it: every figure at scale smoke, run again, reported.

Sees a rule that misses an input, a job that is run twice, a result that depends on what happened on the way.
"""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from resaudit.claims.comparison import differences_of
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, Completed, configured, smoke

SMOKE = configured("scale=smoke").chosen_figures()
EVERY = {name: figure for name, figure in configured().figure.items() if name in SMOKE}
PAPER = "demystifying_resnet"


def tables(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.glob("figures/demystifying_resnet/*.csv"))}


KINDS = {job.kind for job in make_plan(configured("scale=smoke")).jobs.values()} - {"fetch"} | {"draw", "audit"}
"""Of the jobs that a run at scale smoke has; figures that need a GPU are left out."""


def jobs(run: Completed) -> int:
    """How many jobs a dry run says are to be done."""
    total = re.search(r"^total\s+(\d+)$", run.stdout + run.stderr, re.MULTILINE)
    return int(total[1]) if total else 0


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_is_drawn_with_its_table(name: str, smoked: Path) -> None:
    for suffix, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert (smoked / "figures" / f"{name}.{suffix}").read_bytes().startswith(magic)
    table = pd.read_csv(smoked / "figures" / f"{name}.csv")
    assert len(table) > 0
    assert not table.duplicated(EVERY[name].keys).any()
    if "network" in table and hasattr(SMOKE[name].protocol, "networks"):
        assert set(table["network"]) == set(SMOKE[name].protocol.networks)
    if "width" in table:
        assert set(table["width"]) >= set(getattr(SMOKE[name].protocol, "widths", []))


def test_beside_each_figure_stands_what_it_is_of(smoked: Path) -> None:
    about = json.loads((smoked / "figures/demystifying_resnet/fig07.json").read_text(encoding="utf-8"))
    assert about["scale"] == "smoke"
    assert about["settings"]["data"] == "MNIST"
    assert "runs 2 (protocol: 10)" in about["differs from the protocol in"]
    assert about["packages"]["torch"]


def test_a_misspelt_figure_file_has_no_rule(smoked: Path) -> None:
    run = smoke(smoked, "figures/demystifying_resnet/fig4.pdf")
    assert run.returncode != 0
    assert "MissingRuleException" in run.stderr
    assert "Traceback" not in run.stderr


def test_smoke_says_so_on_the_figure(smoked: Path) -> None:
    drawing = (smoked / f"figures/{PAPER}/fig07.svg").read_text(encoding="utf-8")
    assert "<!-- Test run: no evidence. -->" in drawing
    assert "depths 2, 4 (protocol: 4, 8, 16, 32, 64, 96); runs 2 (protocol: 10)" in drawing
    assert "Assumed: data mnist; centering yes; signs largest_positive; order components in descending order" in drawing
    assert "depths 4, 8, 16, 32, 64, 96; learning rates 0.0001 … 31.6 (23 values);" in drawing


def test_beside_each_result_lie_its_settings_and_provenance(smoked: Path) -> None:
    results = list(smoked.glob("results/*/*/*.npz"))
    planned = [name for job in make_plan(configured("scale=smoke")).jobs.values() for name in job.files]
    assert len(results) == sum(name.endswith(".npz") for name in planned)
    classes = []
    for result in results:
        assert (result.parent / "settings.json").is_file()
        ran = json.loads((result.parent / "provenance.json").read_text(encoding="utf-8"))
        assert ran["machine class"]["device"] == ran["device"]
        classes.append(ran["machine class"])
    for about in smoked.glob("figures/*/*.json"):
        computed_on = json.loads(about.read_text(encoding="utf-8"))["machine classes"]
        assert computed_on
        assert all(found in classes for found in computed_on)


def test_a_drawing_that_prints_a_table_comes_with_it_as_latex(smoked: Path) -> None:
    tables = {f"{file.parent.name}/{file.stem}" for file in smoked.glob("figures/*/*.tex")}
    assert {"demystifying_resnet/theorem1", "identity_matters/table1", "shortcut_importance/table1"} <= tables
    assert "demystifying_resnet/fig10" not in tables


def test_nothing_is_left_to_do_and_another_scale_shares_what_it_can(smoked: Path) -> None:
    assert jobs(smoke(smoked, "--dry-run")) == 0
    chosen = smoke(smoked, "--dry-run", config=("figures=[demystifying_resnet/fig03]",))
    assert set(re.findall(r"\n(?:local)?rule (\w+):", chosen.stdout + chosen.stderr)) <= {"audit", "all"}


def test_what_is_edited_or_lost_is_made_again(smoked: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(smoked, folder)
    (folder / "figures/demystifying_resnet/fig04.png").unlink()
    again = smoke(folder)
    assert again.returncode == 0
    assert "rule show" in again.stdout + again.stderr
    assert jobs(smoke(folder, "--dry-run")) == 0
    assert tables(folder) == tables(smoked)


def test_one_file_can_be_asked_for(smoked: Path) -> None:
    run = smoke(smoked, "--dry-run", "--force", "figures/demystifying_resnet/fig04.pdf")
    assert jobs(run) == 1
    assert "rule show" in run.stdout + run.stderr


def test_the_report_holds_figures_and_captions(smoked: Path) -> None:
    run = smoke(smoked, "--report", "report.html")
    assert run.returncode == 0, run.stderr[-3000:]
    report = (smoked / "report.html").read_text(encoding="utf-8")
    assert "does not change with depth" in report
    assert "fig07.png" in report
    assert "with ReLUs inside the units" in report
    assert "audit.html" in report


@pytest.mark.slow
def test_one_core_gives_the_same_tables_in_another_folder(smoked: Path, tmp_path: Path) -> None:
    """Of every figure; tests/faults/test_elsewhere.py has it of a few."""
    run = smoke(tmp_path, cores="1")
    assert run.returncode == 0, run.stderr[-3000:]
    assert "Provided cores: 1" in run.stdout + run.stderr
    files = [f for kind in ("csv", "pdf", "svg", "png") for f in tmp_path.glob(f"figures/*/*.{kind}")]
    assert len(files) == 4 * len(EVERY)
    for file in files:
        assert file.read_bytes() == (smoked / file.relative_to(tmp_path)).read_bytes(), file


def test_the_tables_are_what_they_were(smoked: Path) -> None:
    """Numbers of a smoke run, committed: what is deterministic but wrong is seen here."""
    for name, figure in EVERY.items():
        expected = pd.read_csv(Path(__file__).parent / "expected" / f"{name}.csv")
        fresh = pd.read_csv(smoked / "figures" / f"{name}.csv")
        assert len(fresh) == len(expected)
        assert list(map(str, differences_of(fresh, expected, figure))) == []


def test_every_job_bounds_its_threads(mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    run = smoke(tmp_path, "--dry-run", "--printshellcmds")
    commands = re.findall(r" -m resaudit (\w+ \S+) (.*)$", run.stdout + run.stderr, re.MULTILINE)
    bounded = {job.split("/")[0] for job, arguments in commands if re.search("--threads [12]", arguments)}
    unbounded = {job.split("/")[0] for job, arguments in commands if "--threads " not in arguments}
    assert bounded == {f"run {kind}" for kind in KINDS}
    assert unbounded <= {"run fetch"}


def test_another_seed_draws_again(smoked: Path) -> None:
    run = smoke(smoked, "--dry-run", config=(f"overrides=[paths.data={CHECKOUT / 'data'},seed=2]",))
    assert len(re.findall(r"rule draw:", run.stdout + run.stderr)) == len(EVERY)
