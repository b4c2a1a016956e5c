"""Oracle: SciPy's intervals, values by hand, and what impossible worlds must be answered with.

It sees a world that cannot exist or whose steps are unstable, a table whose counts or printed values are another
network's, and a plan file whose job is not the one that was planned.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.figures.drawing import figure_module
from resaudit.jobs.job import Execution, Work
from resaudit.plan.figure import Figure
from residual.shortcut_importance.checks import FOLLOWED, TwoStages
from residual.shortcut_importance.table1 import printed
from tests.conftest import assert_read_back, smoke_figure

PAPER = "shortcut_importance"


def figure(name: str, *overrides: str) -> Figure:
    return smoke_figure(f"{PAPER}/{name}", *overrides)


def table_of(name: str, monkeypatch: pytest.MonkeyPatch, *overrides: str) -> Any:
    """The table of a figure whose jobs run here."""
    drawn = figure(name, *overrides)
    jobs = drawn.protocol.jobs(None, 1)
    work = Work(Path(), Execution(), "cpu", Path())
    results = {job.id: next(iter(job.run(work).values())) for job in jobs.values()}
    for kind in {type(job) for job in jobs.values()}:
        monkeypatch.setattr(kind, "read", lambda job, _: results[job.id])
    return figure_module(drawn.name).table(drawn.protocol.read(jobs, Path()))


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        ("protocol.patches=[1]", ("protocol.patches[0]", "2")),
        ("protocol.world.filter_size=0", ("world.filter_size", "1")),
        ("protocol.world.angle=181", ("world.angle", "180")),
        ("protocol.world.angle=-1", ("world.angle", "0")),
        ("protocol.world.squared_norm.factor=0", ("squared_norm.factor", "0")),
        ("protocol.world.alignment=4.1", ("world.alignment", "k = 16", "sqrt(k) = 4")),
        ("protocol.world.step={factor:0.4,power:0}", ("world.step", "0.4", "k = 16", "0.0591")),
        ("protocol.world.squared_norm.factor=20", ("world.step", "0.0187", "k = 16")),
        ("protocol.world.cap=1e9", ("world.cap", "5.33e+10", "k = 16", "10000000")),
        ("protocol.networks=[vgg]", ("protocol.networks[0]", "'resnet-warm-up'", "'resnet'", "'cnn'")),
    ],
)
def test_an_impossible_world_is_refused_in_one_line(override: str, mentioned: tuple[str, ...]) -> None:
    """Its key, what is given and what is allowed."""
    with pytest.raises(ResauditError) as refusal:
        figure("table1", override)
    assert all(part in str(refusal.value) for part in mentioned)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        ("protocol.networks=[resnet-warm-up,resnet]", ("theory", "resnet-warm-up, resnet", "allowed: resnet-warm-up")),
        ("protocol.networks=[resnet]", ("theory", "allowed: resnet-warm-up")),
        ("protocol.patches=[16,25]", ("theory", "protocol.patches", "1")),
    ],
)
def test_trajectories_that_the_theory_would_mix_are_refused(override: str, mentioned: tuple[str, ...]) -> None:
    """Its check of the two stages takes rows of one number for one run, with warm-up."""
    with pytest.raises(ResauditError) as refusal:
        figure("theory", override)
    assert all(part in str(refusal.value) for part in mentioned)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["table1", "fig03", "fig05", "theory", "worlds"])
def test_a_job_comes_back_from_its_plan_file(name: str, tmp_path: Path) -> None:
    assert_read_back(figure(name).protocol.jobs(None, 1).values(), tmp_path)


def test_table_1_has_the_outcomes_of_every_network(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("table1", monkeypatch).set_index(["network", "patches"])
    assert (table["successes"] + table["trapped"] + table["undecided"] == table["runs"]).all()
    assert table.loc["resnet-warm-up", "rate"].tolist() == [1.0, 1.0]
    assert table.loc[("resnet", 100), "published"] == 0.8426
    assert table.loc[("cnn", 16), "rate"] == pytest.approx(0.54, abs=0.12)
    lines = printed(table.reset_index())
    assert [line[0] for line in lines] == ["k", "16", "paper", "100", "paper"]
    assert lines[4][2].startswith("0.8426 (0.832–0.853)")


def test_worlds_beside_each_other_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("worlds", monkeypatch, "protocol.patches=[16,25]", "protocol.norms=[1,4.23]")
    (found,) = table.query("plane == 'squared_norm' and patches == 25 and angle == 85 and value == 4.23").to_dict(
        "records"
    )
    world = ["protocol.world.angle=85", "protocol.patches=[25]", "protocol.world.step={factor:0.1,power:-1}"]
    alone = table_of("table1", monkeypatch, "protocol.runs=50", *world).set_index("network")
    assert found["successes"] == alone.loc["resnet", "successes"]
    assert found["published"] == 0.7354
    assert table.query("network == 'resnet-warm-up'")["published"].isna().all()


def test_trajectories_start_together_and_keep_both_sides_of_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("fig05", monkeypatch)
    first = table[table["step"] == 0].drop(columns=["network", "stage"]).drop_duplicates()
    assert len(first) == 1
    warm = table[table["network"] == "resnet-warm-up"].set_index("step")
    assert warm.loc[4999:5001, "stage"].tolist() == [2, 2]
    ends = table[table["step"] == table["step"].max()].set_index("network")
    assert ends.loc["resnet-warm-up", "distance"] < 1e-5
    assert ends.loc["resnet", "angle"] == pytest.approx(np.pi, abs=0.05)


@pytest.mark.parametrize(("quantity", "expected"), [("turn", 0.25), ("projection", 0.3), ("distance", 0.01)])
def test_stage_one_ends_where_stage_two_starts(quantity: Any, expected: float) -> None:
    """By hand. The last row of stage I lies before its end, by as many steps as were not kept."""
    rows = {"step": [0, 7, 10, 30], "stage": [1, 1, 2, 2], "angle": [1.0, 0.9, 0.8, 0.2],
            "projection": [-0.5, 0.1, 0.3, 1.0], "distance": [1.0, 0.9, 0.7, 0.01]}  # fmt: skip
    measured = TwoStages(quantity=quantity, at_most=1).measure(
        pd.DataFrame(rows | {"draw": 0, "property": FOLLOWED}), 1
    )
    assert [point.shown.value for point in measured.points] == pytest.approx([expected])


def test_the_end_of_stage_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of("theory", monkeypatch)
    world = figure("theory").protocol.world
    assert table.loc[table["stage"] == 2, "time"].min() == pytest.approx(world.stage_one.of(16), rel=1e-3)


def test_every_check_of_the_theory_is_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = table_of("theory", monkeypatch).query("property != 'trajectory'")
    assert checks["property"].nunique() == 8
    assert (checks["error"] < checks["tolerance"]).all()
