"""Every figure at scale smoke, by jobs in this process. Oracle: the tables of an earlier run, committed.

Sees a job or a figure that does not run, and numbers that are deterministic but wrong. ``tests/workflow/test_smoke.py``
has the same by Snakemake.
"""

import json
from pathlib import Path

import pandas as pd
import pytest

from resaudit.claims.comparison import differences_of
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, configured

EXPECTED = CHECKOUT / "tests" / "workflow" / "expected"
TABLES = [f"{csv.parent.name}/{csv.stem}" for csv in sorted(EXPECTED.glob("*/*.csv"))]
PAPER = "demystifying_resnet"


def assert_as_expected(name: str, folder: Path) -> None:
    """Check a figure's table in a folder against the committed one."""
    expected, fresh = pd.read_csv(EXPECTED / f"{name}.csv"), pd.read_csv(folder / "figures" / f"{name}.csv")
    assert len(fresh) == len(expected)
    assert list(map(str, differences_of(fresh, expected, configured().figure[name]))) == []


def test_every_figure_has_a_table_to_be_compared_with() -> None:
    assert sorted(configured("scale=smoke").chosen_figures()) == TABLES


@pytest.mark.parametrize("name", TABLES)
def test_every_figure_is_drawn_with_its_table(name: str, smoked: Path) -> None:
    for suffix, magic in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert (smoked / "figures" / f"{name}.{suffix}").read_bytes().startswith(magic)
    table, protocol = pd.read_csv(smoked / "figures" / f"{name}.csv"), configured("scale=smoke").figure[name].protocol
    assert len(table) > 0
    assert not table.duplicated(configured().figure[name].keys).any()
    if "network" in table and hasattr(protocol, "networks"):
        assert set(table["network"]) == set(protocol.networks)
    if "width" in table:
        assert set(table["width"]) >= set(getattr(protocol, "widths", []))
    assert_as_expected(name, smoked)


def test_beside_each_figure_stands_what_it_is_of(smoked: Path) -> None:
    about = json.loads((smoked / "figures/demystifying_resnet/fig07.json").read_text(encoding="utf-8"))
    assert about["scale"] == "smoke"
    assert about["settings"]["data"] == "MNIST"
    assert "runs 2 (protocol: 10)" in about["differs from the protocol in"]
    assert about["packages"]["torch"]


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
