"""Oracle: every claim on its committed table. Sees verdicts that depend on the order of rows, and odd tables judged.

A table's runs are dropped, doubled, renumbered, made NaN or retyped: each must be refused before it is judged.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of
from resaudit.claims.verdicts import judge
from resaudit.figures.drawing import write_csv
from resaudit.figures.expected import ALONG, COUNTED, unexpected
from resaudit.figures.tables import drawn
from resaudit.plan.composition import load
from resaudit.plan.experiment import Coordinates, Experiment
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, make_plan
from tests.claims.made import mentions

REFERENCE = Path(__file__).parents[2] / "figures" / "reference"
TABLES = {
    f"{csv.parent.name}/{csv.stem.split('-')[0]}": csv
    for csv in sorted(REFERENCE.glob("*/*.csv"))
    if csv.stem != "robustness"
}


@cache
def configured(csv: Path) -> Config:
    dataset = [f"dataset={word}" for word in csv.stem.split("-")[1:]]
    return load([f"figures=[{csv.parent.name}/{csv.stem.split('-')[0]}]", "device=cpu", *dataset])


@cache
def planned(name: str) -> FigurePlan:
    return make_plan(configured(TABLES[name])).figures[name]


@cache
def table_of(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES[name])


def numbered(name: str) -> Coordinates | None:
    """A place whose runs the plan knows, if the table has runs there."""
    part = planned(name)
    if "run" not in part.figure.keys:
        return None
    known = part.figure.protocol.expected(part.jobs, part.figure.keys, table_of(name))
    return next((place for place, products in known.items() if {-1} != {*products[0].get("run", [-1])}), None)


def at(table: pd.DataFrame, place: Coordinates) -> "pd.Series[bool]":
    rows = pd.Series(True, index=table.index)
    for key, value in place:
        rows &= table[key] == value
    return rows


def of_last_run(table: pd.DataFrame, place: Coordinates) -> "pd.Series[bool]":
    rows = at(table, place)
    return rows & (table["run"] == table["run"][rows].max())


def dropped(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    return table[~of_last_run(table, place)]


def doubled(table: pd.DataFrame, _: Coordinates) -> pd.DataFrame:
    again = table[table["run"] != -1]
    return pd.concat([table, again.assign(run=again["run"] + table["run"].max() + 1)], ignore_index=True)


def renumbered(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    return table.assign(run=table["run"].mask(of_last_run(table, place), table["run"].max() + 1))


def swapped_for_none(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    return table.assign(run=table["run"].mask(of_last_run(table, place), -1))


def without_number(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    return table.assign(run=table["run"].mask(of_last_run(table, place)))


def without_place(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    return table[~at(table, place)]


def test_rows_of_another_kind_have_one_number_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a guest's table that gives means over runs beside runs, whose experiment does not say so."""
    name = "stable_scaling/backward"
    monkeypatch.setattr(type(planned(name).figure.protocol), "expected", Experiment.expected)
    assert set(table_of(name)["run"]) > {-1}
    assert unexpected(table_of(name), planned(name)) is None
    assert unexpected(table_of(name).query("run != 3"), planned(name)) is not None


WITH_RUNS = [name for name in TABLES if numbered(name) is not None]
RATES = [name for name in TABLES if {"runs", "successes"} <= set(table_of(name))]
RETYPED = [
    (name, key) for name in WITH_RUNS for key in ("run", "depth", *ALONG) if key in planned(name).figure.keys
]  # fmt: skip
CLAIMS = [
    (name, claim)
    for name, csv in TABLES.items()
    for claim, read in configured(csv).claims_of(csv.parent.name).items()
    if f"{csv.parent.name}/{read.evidence}" == name and read.not_yet is None
]


def test_there_are_tables_of_each_kind() -> None:
    assert len(WITH_RUNS) > 12
    assert len(RATES) > 1
    assert len(CLAIMS) > 40


@pytest.mark.parametrize("name", TABLES)
def test_a_committed_table_is_what_the_plan_draws(name: str) -> None:
    assert unexpected(table_of(name), planned(name)) is None


@pytest.mark.parametrize(
    "change", [dropped, doubled, renumbered, swapped_for_none, without_number, without_place], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("name", WITH_RUNS)
def test_other_runs_than_the_plan_has_are_refused(
    name: str, change: Callable[[pd.DataFrame, Coordinates], pd.DataFrame]
) -> None:
    place = numbered(name)
    assert place is not None
    wrong = unexpected(change(table_of(name), place), planned(name))
    assert wrong is not None
    assert "allowed: " in wrong


def test_a_drawn_table_is_refused_before_it_is_judged(tmp_path: Path) -> None:
    """Even one whose .json has its SHA-256."""
    name = "demystifying_resnet/fig04"
    plan, place, csv = make_plan(configured(TABLES[name])), numbered(name), tmp_path / "fig04.csv"
    assert place is not None
    about = json.loads(TABLES[name].with_suffix(".json").read_text(encoding="utf-8"))
    for change, allowed in ((lambda table, _: table, True), (dropped, False)):
        write_csv(csv, change(table_of(name), place))
        csv.with_suffix(".json").write_text(json.dumps(about | {"sha256": sha256_of(csv)}), encoding="utf-8")
        if allowed:
            assert drawn(plan, name, csv) is not None
        else:
            with pytest.raises(ResauditError) as error:
                drawn(plan, name, csv)
            assert mentions(str(error.value), csv, "lacks run")


@pytest.mark.parametrize(("name", "key"), RETYPED)
def test_integers_written_as_floats_are_refused(name: str, key: str) -> None:
    wrong = unexpected(table_of(name).astype({key: float}), planned(name))
    assert wrong is not None
    assert wrong.startswith(key)


@pytest.mark.parametrize("value", [float("nan"), -1, 1.5, 1e9], ids=str)
@pytest.mark.parametrize("name", RATES)
def test_counts_that_count_no_runs_are_refused(name: str, value: float) -> None:
    table = table_of(name)
    for column in [column for column in COUNTED if column in table]:
        changed = table.assign(**{column: table[column].astype(float).mask(table.index == 0, value)})
        assert unexpected(changed, planned(name)) is not None


@pytest.mark.parametrize(("name", "claim"), CLAIMS)
def test_the_order_of_rows_does_not_matter(name: str, claim: str) -> None:
    config, table = configured(TABLES[name]), table_of(name)
    read, scale, data = config.claims_of(TABLES[name].parent.name)[claim], config.scale.name, config.dataset_of(name)
    shuffled = table.sample(frac=1, random_state=1).reset_index(drop=True)
    one, other = (judge(read, each, scale, data) for each in (table, shuffled))
    assert one.verdict == other.verdict
    assert [result.verdict for result in one.checks] == [result.verdict for result in other.checks]
