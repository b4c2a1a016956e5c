"""Oracle: counts and values by hand, made tables, and what impossible settings must be answered with.

It sees accepted settings that no network has, a job that is not the one planned, tables whose rows belong to another
network, and checks that would hold whatever the numbers are.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ConfigError, DataError
from resaudit.claims.records import Judgement
from resaudit.claims.verdicts import judge
from resaudit.data.fetch import Fetch
from resaudit.figures.drawing import figure_module
from resaudit.jobs.job import Execution, Work
from resaudit.plan.figure import Figure
from resaudit.plan.plan import plan_figure
from residual.stable_scaling.jobs.at_initialisation import AtInitialisation
from tests.conftest import assert_read_back, configured, smoke_figure
from tests.refusals import refused

PAPER = "stable_scaling"
FIGURES = ["forward", "products", "backward"]
RANDOM = ["protocol.inputs=[sphere]"]
"""Inputs that need no data."""
SMALL: dict[str, list[str]] = {
    "forward": [
        *RANDOM, "protocol.runs=20", "protocol.widths=[128]", "protocol.depths=[10,32,100]", "protocol.stable_runs=200",
        "protocol.stable=[{c:0.5,width:512,depths:[10]},{c:0.3,width:1024,depths:[10]}]", "protocol.normalised.runs=20",
        "protocol.normalised.width=64", "protocol.normalised.samples=16",
    ],
    "products": [*RANDOM, "protocol.runs=3"],
    "backward": [*RANDOM, "protocol.runs=20", "protocol.depths=[10,32,100]", "protocol.widths=[64]"],
}  # fmt: skip


def figure(name: str, *overrides: str) -> Figure:
    return smoke_figure(f"{PAPER}/{name}", *overrides)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """The tables of all three figures, of random inputs."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in FIGURES:
            drawn = figure(name, *SMALL[name])
            jobs = drawn.protocol.jobs(None, 1)
            work = Work(Path(), Execution(), "cpu", tmp_path_factory.mktemp(name), {"device": "cpu"})
            results = {job.id: next(iter(job.run(work).values())) for job in jobs.values()}
            for kind in {type(job) for job in jobs.values()}:
                patch.setattr(kind, "read", lambda job, _, results=results: results[job.id])
            found[name] = figure_module(drawn.name).table(drawn.protocol.read(jobs, Path()))
            assert not found[name].duplicated(drawn.keys).any()
            assert not found[name].isna().any(axis=None)
    return found


@pytest.mark.parametrize(
    ("name", "override", "mentioned"),
    [
        ("forward", "protocol.widths=[1]", "protocol.widths[0] is 1"),
        ("forward", "protocol.depths=[1,10]", "protocol.depths[0] is 1"),
        ("forward", "protocol.powers=[-0.1]", "protocol.powers[0] is -0.1"),
        ("forward", "protocol.inputs=[cifar]", "protocol.inputs[0] is 'cifar'"),
        ("forward", "protocol.stable=[{c:1.0,width:64,depths:[10]}]", "stable[0].c is 1.0"),
        ("forward", "protocol.normalised.samples=1", "normalised.samples is 1"),
        ("products", "protocol.bounds=[0]", "protocol.bounds[0] is 0"),
        ("backward", "protocol.start=zero", "protocol.start is 'zero'"),
    ],
)
def test_settings_that_no_network_has_are_refused_in_one_line(name: str, override: str, mentioned: str) -> None:
    with refused(ConfigError, mentioned):
        figure(name, override)


@pytest.mark.parametrize("name", FIGURES)
def test_a_job_comes_back_from_its_plan_file(name: str, tmp_path: Path) -> None:
    assert_read_back(figure(name, *SMALL[name]).protocol.jobs(None, 1).values(), tmp_path)


def test_images_are_read_from_their_raw_files_and_spheres_need_none() -> None:
    jobs = plan_figure(figure("forward"), "data").jobs
    needed = {dict(where)["inputs"]: sorted(job.inputs) for where, job in jobs.items()}
    assert needed == {"mnist": ["data"], "sphere": []}


@pytest.mark.parametrize("name", FIGURES)
def test_a_black_image_is_refused_where_each_is_scaled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = np.ones((60, 28, 28), dtype=np.uint8), np.zeros(60, dtype=np.uint8)
    images[-1] = 0
    monkeypatch.setattr(Fetch, "training_set", lambda _: (images, labels))
    jobs = plan_figure(figure(name, *SMALL[name], "protocol.inputs=[mnist]"), "data").jobs
    scaled_each = [job for job in jobs.values() if isinstance(job, AtInitialisation) and job.samples.norm == "each"]
    assert scaled_each
    for job in scaled_each:
        with refused(DataError, "mnist"):
            job.run(Work(Path(), Execution(), "cpu", Path(), {"device": "cpu"}))


def judged(name: str, table: pd.DataFrame) -> Judgement:
    return judge(configured().claims_of(PAPER)[name], table, "laptop")


def verdict(name: str, table: pd.DataFrame) -> str:
    return judged(name, table).verdict


def swapped(table: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    return table.assign(network=table["network"].replace({one: other, other: one}))


def as_mnist(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its random inputs under both names, which the claim needs."""
    renamed = table.assign(inputs="mnist", network=table["network"].str.replace("sphere", "mnist"))
    return pd.concat([table, renamed], ignore_index=True)


def scaled(table: pd.DataFrame, column: str, power: float, by: str = "depth") -> pd.DataFrame:
    return table.assign(**{column: table[column] * table[by].abs().astype(float) ** power})


SABOTAGE: dict[str, Any] = {
    "forward-explodes": lambda t: scaled(t, "over_bound", -3),
    "sharp-scale": lambda t: t.assign(power=0.2 + t["power"]),
    "batch-norm-grows-linearly": lambda t: scaled(t, "gained", 0.5, "layer"),
    "products-stable": lambda t: t.assign(value=2.5 * t["value"]),
    "backward-bounded": lambda t: swapped(t, "L^-0.25", "L^-0.5"),
}


@pytest.mark.parametrize("name", SABOTAGE)
def test_a_wrong_table_turns_the_verdict(name: str, tables: dict[str, pd.DataFrame]) -> None:
    table = tables[configured().claims_of(PAPER)[name].evidence]
    honest, wrong = judged(name, table), judged(name, SABOTAGE[name](table))
    assert honest.verdict != "contradicted"
    assert wrong.verdict == "contradicted"


def test_the_interval_of_theorem_2_is_counted(tables: dict[str, pd.DataFrame]) -> None:
    table = as_mnist(tables["forward"])
    stable = table[table["part"] == "stable"]
    assert stable["runs"].eq(200).all()
    assert stable["inside"].eq(200).all()
    assert verdict("forward-stable", table) == "supported"
    outside = table.assign(inside=(0.9 * table["inside"]).astype(int))
    assert verdict("forward-stable", outside) != "supported"


def test_the_change_is_found_where_it_was_put() -> None:
    rng, rows = np.random.default_rng(0), []
    for power in (0.25, 0.4, 0.6, 0.75):
        for depth in (10, 100, 1000):
            growth = depth ** (2 * (0.62 - power)) * np.exp(0.01 * rng.standard_normal(20))
            rows += [
                {"part": "grid", "inputs": "a", "width": 1, "power": power, "depth": depth, "run": run, "growth": g}
                for run, g in enumerate(growth)
            ]
    check = configured().claims_of(PAPER)["sharp-scale"].checks["change-at-half"]
    (point,) = check.measure(pd.DataFrame(rows), 20).points
    assert point.shown.value == pytest.approx(0.62, abs=0.005)
    assert len(check.measure(pd.DataFrame(rows), 21).points) == 0
    falls = pd.DataFrame(rows).assign(growth=lambda t: -t["growth"])
    assert len(check.measure(falls, 20).points) == 0


def test_means_are_arithmetic_and_over_runs() -> None:
    table = pd.DataFrame({"part": "grid", "power": [0.3] * 3 + [0.4] * 3, "run": [0, 1, 2] * 2, "network": "n",
                          "inputs": "a", "width": 1, "depth": 2, "over_bound": [1.0, 2, 6, 1, 1, 1]})  # fmt: skip
    check = configured().claims_of(PAPER)["forward-explodes"].checks["above-bound"]
    measured = check.measure(table.assign(network="below one half"), 3)
    assert [point.shown.value for point in measured.points] == [3.0, 1.0]
    assert measured.arithmetic
    assert len(check.measure(table, 3).points) == 0


def test_rows_of_a_grid_are_those_of_their_network(tables: dict[str, pd.DataFrame]) -> None:
    grid = tables["forward"].query("part == 'grid'")
    means = grid[grid["depth"] == 100].groupby("power")["squared_norm"].mean()
    assert means.is_monotonic_decreasing
    assert means[0.5] == pytest.approx(np.e, rel=0.15)
    bound = 100 ** (1 - 2 * grid["power"]) / 2
    deep = (grid["depth"] == 100) & (grid["power"] < 0.5)
    assert (grid["squared_norm"] / bound)[deep].to_numpy() == pytest.approx(grid["over_bound"][deep].to_numpy())
    gradients = tables["backward"].query("part == 'depth' and depth == 100").groupby("network")[["last", "largest"]]
    assert gradients.mean().loc["L^-0.25"].gt(3 * gradients.mean().loc["L^-0.5"]).all()
    norms = tables["products"].query("run >= 0").groupby("property")["norm"].max()
    norms.index = norms.index.str.rpartition(" = ").get_level_values(2)
    assert norms["0.1"] < norms["1"] < norms["L^-0.5"]
