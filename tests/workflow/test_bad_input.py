"""Bad input to the workflow; tests/engine/test_bad_input.py has more. Oracle: the error's code, and the folder.

Sees an error of many lines or none, a run that begins all the same, and files that are half written.
"""

import re
from pathlib import Path

import pytest

from resaudit.plan.models import Config
from tests import forked
from tests.conftest import CHECKOUT, Command
from tests.refusals import assert_exits
from tests.workflow.conftest import rules_in

MODULE = """
module other:
    snakefile: "{0}/Snakefile"
    config: config

use rule * from other as other_*
"""


@pytest.mark.parametrize("text", [MODULE, 'include: "{0}/Snakefile"'])
def test_another_snakefile_that_uses_the_workflow_is_told_what_to_do(text: str, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(text.format(CHECKOUT), encoding="utf-8")
    run = forked.snakemake("--dry-run", "--config", "scale=smoke", cwd=tmp_path)
    assert_exits(run, tmp_path, f"--snakefile {CHECKOUT}/Snakefile")
    assert run.stderr.count("resaudit: error:") == 1


@pytest.mark.parametrize("entry", ["Snakefile", "workflow/Snakefile"])
def test_without_a_target_all_is_made(entry: str, tmp_path: Path) -> None:
    arguments = ("--dry-run", "--config", "scale=smoke", "figures=[theorem1]")
    run = forked.snakemake("--snakefile", str(CHECKOUT / entry), *arguments, cwd=tmp_path)
    assert "all" in rules_in(run)


def test_a_figures_short_name_is_a_target(snakemake: Command) -> None:
    run = snakemake("--dry-run", "theorem1", "--config", "scale=smoke")
    assert run.returncode == 0, run.stderr[-3000:]
    assert re.findall(r"rule (\w+):", run.stdout + run.stderr)[-2:] == ["show", "theorem1"]


def test_an_absolute_target_is_told_its_name(snakemake: Command, tmp_path: Path) -> None:
    config = ("--config", "scale=smoke", "figures=[theorem1]")
    name = "figures/demystifying_resnet/theorem1.csv"
    assert_exits(snakemake(str(tmp_path / name), "-n", *config), f"write {name}")
    report = ("--report", str(tmp_path / "figures" / "report.html"))
    run = snakemake(str(tmp_path / name), "-n", *report, *config, f"overrides=[paths.figures={tmp_path}/figures]")
    assert "no rule makes" not in run.stderr


def test_a_fetch_without_a_source_fails_at_once(snakemake: Command, tmp_path: Path) -> None:
    """Sees the last command of its pipe decide: the rule ended well and waited for files."""
    (tmp_path / "empty").mkdir()
    run = snakemake("fetch_mnist", "--config", f"overrides=[dataset.folder={tmp_path}/empty,dataset.sources=[folder]]")
    assert run.returncode != 0
    assert "no source has" in run.stderr
    assert not re.search("Finished jobid|Waiting at most|MissingOutput", run.stderr)


def test_data_of_a_variant_that_no_source_has_are_known_before_other_work(
    mnist_config: Config, snakemake: Command, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mnist").symlink_to(Path(mnist_config.paths.data) / "mnist")
    config = ("scale=smoke", "figures=[fig07]", "overrides=[dataset.sources=[folder]]")
    run = snakemake("--cores", "1", "--config", *config, "--", "robustness")
    assert run.returncode != 0
    assert re.search(r"^resaudit: error: .*Fashion-MNIST", run.stderr, re.MULTILINE)
    assert re.findall(r"^Finished jobid: .*", run.stderr, re.MULTILINE) == []


@pytest.mark.parametrize(
    "override",
    [pytest.param("paths.results=blocked/results", marks=pytest.mark.slow), "paths.figures=blocked/figures"],
)
def test_an_output_folder_that_cannot_be_written_is_said(override: str, snakemake: Command, tmp_path: Path) -> None:
    # A plain file where a folder must be: no user, root included, can write below it.
    (tmp_path / "blocked").write_text("")
    run = snakemake("--config", "scale=smoke", f"overrides={override}")
    assert run.returncode != 0
    assert_exits(run, "blocked")
    assert run.stderr.count("cannot write into") == 1
    assert not list(tmp_path.glob("figures/*"))
