"""Oracle: a made-up paper, run and drawn. Sees a table of another place than said, and heavy imports of the package."""

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import resaudit
from resaudit.base.errors import ConfigError, TableError
from resaudit.base.papers import add_papers
from resaudit.cli.skeleton import write_paper
from resaudit.figures.draw import Draw
from resaudit.figures.drawing import draw, read_about, read_csv
from resaudit.jobs import code
from resaudit.plan.plan import plan_figure
from tests.conftest import forget_papers, run_command, run_planned, smoke_figure
from tests.refusals import refused

pytestmark = pytest.mark.usefixtures("no_paper_stays")


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the made-up paper ``coins``, from where the process starts, and its drawing in ``made``."""
    write_paper("coins", tmp_path / "papers")
    add_papers(tmp_path / "papers")
    part = plan_figure(smoke_figure("coins/fig01"), "data")
    for job in part.jobs.values():
        run_planned(job, tmp_path / "results")
    job = Draw(part.figure, ("tosses 100",), (), "", "data")
    draw(job, tmp_path / "results", tmp_path / "made", "")
    forget_papers()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(guest: Path, csv: str) -> Path:
    """Copy the drawing's table and record there."""
    (guest / csv).parent.mkdir(parents=True, exist_ok=True)
    for suffix in (".csv", ".json"):
        shutil.copy((guest / "made" / "figure").with_suffix(suffix), (guest / csv).with_suffix(suffix))
    return guest / csv


@pytest.mark.parametrize(
    ("places", "source"),
    [
        (["figures/coins/fig01.csv", "papers/figures/coins/fig01.csv"], "drawn"),
        (["papers/figures/coins/fig01.csv", "papers/figures/reference/coins/fig01.csv"], "drawn"),
        (["papers/figures/reference/coins/fig01.csv"], "reference"),
        (["papers/figures/reference/coins/fig01-other_data.csv"], "reference"),
    ],
)
def test_the_table_says_what_it_is(places: list[str], source: str, guest: Path) -> None:
    expected, *_ = [put(guest, place) for place in places]
    table = resaudit.load("coins/fig01", papers_path="papers")
    pd.testing.assert_frame_equal(table, read_csv(expected))
    assert table.attrs == {
        "source": source, "path": str(expected), "figure": "coins/fig01", "scale": "smoke",
        "settings": {"seed": "1", "biases": "0.2, 0.5, 0.8", "tosses": "100"}, "deviations": ["tosses 100"],
        "commit": read_about(expected)["commit"],
    }  # fmt: skip


def test_what_cannot_be_loaded_is_refused(guest: Path) -> None:
    with refused(ConfigError, "coins/fig01"):
        resaudit.load("coins/fig01")
    with refused(TableError, "coins/fig01", guest / "figures"):
        resaudit.load("coins/fig01", papers_path=guest / "papers")
    csv = put(guest, "figures/coins/fig01.csv")
    csv.write_text(csv.read_text().replace("0.5", "0.25"))
    with refused(TableError, csv):
        resaudit.load("coins/fig01", guest / "papers")


def test_the_package_itself_loads_nothing_and_is_the_code_of_no_job() -> None:
    heavy = "{'numpy', 'pandas', 'torch', 'hydra'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", f"import sys, resaudit; assert not {heavy}"], check=True)
    assert code._module_sha256("resaudit") == code._module_sha256("residual")


UNDER_HYDRA = """
import hydra, resaudit
from hydra.core.global_hydra import GlobalHydra

@hydra.main(version_base="1.2", config_path=None)
def main(config):
    theirs = GlobalHydra.instance().hydra
    assert theirs is not None
    assert len(resaudit.load("demystifying_resnet/fig04"))
    assert GlobalHydra.instance().hydra is theirs
    assert not hydra.version.base_at_least("1.3")

main()
"""


def test_a_table_is_loaded_in_a_script_that_uses_hydra_itself(tmp_path: Path) -> None:
    run = run_command(sys.executable, "-c", UNDER_HYDRA, cwd=tmp_path, environment={"HYDRA_FULL_ERROR": "1"})
    assert run.returncode == 0, run.stderr
