"""Oracle: every claim on its committed table. Sees odd tables judged, and verdicts that depend on order or numbers.

A table's rows are left out, doubled, renumbered, retyped or changed: each must be refused before it is judged, or the
claims on it must not be decided otherwise than on the whole table.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of
from resaudit.claims.checks.depths import RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall
from resaudit.claims.checks.rows import epoch_at
from resaudit.claims.checks.runs import ZeroOfExponent
from resaudit.claims.comparison import compare_with_references
from resaudit.figures import expected as doubled_runs
from resaudit.figures.curves import snapshot_epochs
from resaudit.figures.drawing import figure_module, write_csv
from resaudit.figures.expected import ALONG, unexpected
from resaudit.figures.tables import drawn
from resaudit.plan.composition import load
from resaudit.plan.experiment import Coordinates, Experiment
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.claims.committed import TABLES, as_committed, claims_on, judged, planned, table_of
from tests.claims.made import mentions, result
from tests.conftest import configured, draw_here

AT_LAPTOP = [name for name in TABLES if not name.startswith("scale_")]
DEAR = {"identity_matters/theorem22", "identity_matters/theorem32"}
"""Tables that take half a minute each to be cut in every way."""
OF_SECONDS = ("fig11", "identity_matters/table1", "shortcut_importance/fig03", "shortcut_importance/table1")
VALUES = 5
"""Of a key with more values, so many are left out in turn."""
UNDECIDED = {"inconclusive", "not run", "depends"}
NUMBERS = ("run", "draw")


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


def without_last_run(table: pd.DataFrame, place: Coordinates) -> pd.DataFrame:
    rows = at(table, place)
    return table[~(rows & (table["run"] == table["run"][rows].max()))]


def with_other_runs(table: pd.DataFrame, place: Coordinates) -> Iterator[tuple[str, pd.DataFrame]]:
    """A table with other runs than its own, in each way."""
    run, rows = table["run"], at(table, place)
    last, more = rows & (run == run[rows].max()), run.max() + 1
    again = table[run != -1]
    yield "dropped", without_last_run(table, place)
    yield "doubled", pd.concat([table, again.assign(run=again["run"] + more)], ignore_index=True)
    yield "renumbered", table.assign(run=run.mask(last, more))
    yield "swapped for none", table.assign(run=run.mask(last, -1))
    yield "without number", table.assign(run=run.mask(last))
    yield "without place", table[~rows]


def with_impossible_counts(name: str, table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """A figure's table with a count that counts no runs."""
    for column in getattr(figure_module(name), "COUNTED", ()) if "run" not in table else ():
        for value in (float("nan"), -1, 1.5, 1e9):
            yield (
                f"{column} {value}",
                table.assign(**{column: table[column].astype(float).mask(table.index == 0, value)}),
            )


@pytest.mark.parametrize("name", AT_LAPTOP)
def test_a_committed_table_is_what_the_plan_draws_and_no_other_is(name: str) -> None:
    table, part, place = table_of(name), planned(name), numbered(name)
    assert unexpected(table, part) is None
    for what, changed in with_other_runs(table, place) if place is not None else ():
        wrong = unexpected(changed, part)
        assert wrong is not None, what
        assert "allowed: " in wrong, what
    for key in ("run", "depth", *ALONG) if place is not None else ():
        if key in part.figure.keys:
            assert (unexpected(table.astype({key: float}), part) or "").startswith(key)
    for what, changed in with_impossible_counts(name, table):
        assert unexpected(changed, part) is not None, what


@pytest.mark.workflow
def test_tables_of_seconds_are_made_again(
    mnist_config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sees a table that today's rules would not make; ``python -m benchmarks.stale`` knows of the others."""
    monkeypatch.chdir(tmp_path)
    plan = make_plan(load(["device=cpu", f"paths.data={mnist_config.paths.data}", f"figures=[{','.join(OF_SECONDS)}]"]))
    draw_here(plan)
    said: list[str] = []
    assert compare_with_references(plan, said.append) == [], said
    assert all("agrees" in line for line in said)


def test_there_are_tables_of_each_kind() -> None:
    assert sum(numbered(name) is not None for name in AT_LAPTOP) > 12
    assert sum(any(True for _ in with_impossible_counts(name, table_of(name))) for name in AT_LAPTOP) > 1
    assert sum(len(claims_on(name)) for name in AT_LAPTOP) > 40


def test_rows_of_another_kind_have_one_number_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a guest's table that gives means over runs beside runs, whose experiment does not say so."""
    name = "stable_scaling/backward"
    monkeypatch.setattr(type(planned(name).figure.protocol), "expected", Experiment.expected)
    assert set(table_of(name)["run"]) > {-1}
    assert unexpected(table_of(name), planned(name)) is None
    assert unexpected(table_of(name).query("run != 3"), planned(name)) is not None


def test_a_drawn_table_is_refused_before_it_is_judged(tmp_path: Path) -> None:
    """Even one whose .json has its SHA-256."""
    name = "demystifying_resnet/fig04"
    place, csv = numbered(name), tmp_path / "fig04.csv"
    plan = make_plan(configured("device=cpu", f"figures=[{name}]"))
    assert place is not None
    about = json.loads(TABLES[name].with_suffix(".json").read_text(encoding="utf-8"))
    for change, allowed in ((lambda table, _: table, True), (without_last_run, False)):
        write_csv(csv, change(table_of(name), place))
        csv.with_suffix(".json").write_text(json.dumps(about | {"sha256": sha256_of(csv)}), encoding="utf-8")
        if allowed:
            assert drawn(plan, name, csv) is not None
        else:
            with pytest.raises(ResauditError) as error:
                drawn(plan, name, csv)
            assert mentions(str(error.value), csv, "lacks run")


def rearranged(table: pd.DataFrame) -> pd.DataFrame:
    """The runs of each network and depth under one another's numbers, the same at all rates and epochs; shuffled."""
    rng = np.random.default_rng(1)
    if {"network", "run"} <= set(table):
        parts = []
        for _, rows in table.groupby([key for key in ("network", "depth") if key in table], sort=False):
            runs = rows["run"].unique()
            parts.append(rows.assign(run=rows["run"].map(dict(zip(runs, rng.permutation(runs), strict=True)))))
        table = pd.concat(parts)
    return table.sample(frac=1, random_state=1, ignore_index=True)


@pytest.mark.parametrize("name", AT_LAPTOP)
def test_no_verdict_depends_on_the_order_of_rows_or_how_runs_are_numbered(name: str) -> None:
    table = rearranged(table_of(name))
    for claim in claims_on(name):
        one, other = as_committed(name, claim), judged(name, claim, table)
        assert one.verdict == other.verdict, claim
        for left, right in zip(one.checks, other.checks, strict=True):
            assert left.verdict == right.verdict, claim
            # Its runs have the same inputs at every power and depth: their numbers mean something.
            if left.check.name != ZeroOfExponent.name:
                ends = [{p.where: p.ends for p in result.points} for result in (left, right)]
                assert ends[0].keys() == ends[1].keys()
                assert np.allclose(*([each[where] for where in ends[0]] for each in ends), rtol=1e-9, equal_nan=True)


def verdicts(name: str, table: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim about a figure; of a table that cannot be judged, not run."""
    found = {}
    for claim in claims_on(name):
        try:
            found[claim] = judged(name, claim, table).verdict
        except ResauditError:
            found[claim] = "not run"
    return found


def left_out(table: pd.DataFrame, key: str) -> list[object]:
    """Values of a key, all or evenly spaced ones with both ends."""
    values = table[key].dropna().drop_duplicates().tolist()
    return [values[i] for i in sorted({*np.linspace(0, len(values) - 1, VALUES).round().astype(int).tolist()})]


def parts_of(table: pd.DataFrame, keys: list[str]) -> "list[pd.Series[bool]]":
    """Rows of one value of each key, and of one value at the first and at the last place that has it."""
    chosen = []
    for key in keys:
        for value in left_out(table, key):
            rows = table[key] == value
            others = [other for other in keys if other not in (key, *NUMBERS, "epoch", "step")]
            chosen.append(rows)
            for end in (0, -1) if others else ():
                place = table.loc[rows, others].iloc[end]
                chosen.append(rows & table[others].eq(place).all(axis=1))
    return chosen


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.workflow) if n in DEAR else n for n in AT_LAPTOP])
def test_a_cut_table_is_refused_or_decides_nothing_else(name: str) -> None:
    table, part = table_of(name), planned(name)
    whole = {claim: as_committed(name, claim).verdict for claim in claims_on(name)}
    for rows in parts_of(table, part.figure.keys):
        cut = table[~rows].reset_index(drop=True)
        if len(cut) and unexpected(cut, part) is None:
            keys = table.loc[rows, part.figure.keys].drop_duplicates().iloc[0].to_dict()
            changed = {
                claim for claim, verdict in verdicts(name, cut).items() if verdict not in UNDECIDED | {whole[claim]}
            }
            assert not changed, keys


@pytest.mark.parametrize(
    ("name", "where", "words"),
    [
        ("demystifying_resnet/fig08", {"network": "orthogonal-relu", "depth": 64, "learning_rate": 3.16227766017},
         ("orthogonal-relu", "depth 64", "learning_rate")),
        ("stable_scaling/map", {"network": "resnet-0.375", "depth": 1000, "learning_rate": 0.01},
         ("resnet-0.375", "depth 1000", "learning_rate 0.01")),
        ("stable_scaling/training", {"network": "resnet-0.5", "depth": 1000, "learning_rate": 1.0},
         ("resnet-0.5", "depth 1000", "learning_rate 1")),
        ("demystifying_resnet/fig07", {"network": "xavier", "depth": 96, "stage": "confirmation"},
         ("xavier", "depth 96", "confirmation")),
        ("demystifying_resnet/fig06", {"network": "2-shortcut", "epoch": 10}, ("2-shortcut", "epoch 10")),
        ("stable_scaling/forward", {"power": 0.5, "depth": 100}, ("power 0.5", "depth 100")),
        ("identity_matters/theorem21", {"method": "proof", "depth": 64, "draw": 0}, ("depth",)),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(name: str, where: dict[str, object], words: tuple[str, ...]) -> None:
    table = table_of(name)
    rows = pd.concat([table[key] == value for key, value in where.items()], axis=1).all(axis=1)
    assert rows.any()
    assert mentions(str(unexpected(table[~rows].reset_index(drop=True), planned(name))), *words)


def test_a_table_of_the_fresh_runs_at_another_rate_is_refused() -> None:
    name = "demystifying_resnet/fig07"
    table = table_of(name)
    other = table["learning_rate"].mask(table["stage"] == "confirmation", 0.01)
    assert unexpected(table.assign(learning_rate=other), planned(name)) is not None


def test_of_a_thinned_reference_each_epoch_that_it_keeps_is_asked_for() -> None:
    name = "demystifying_resnet/fig03"
    epochs = set(table_of(name)["epoch"])
    assert epochs == set(snapshot_epochs(1000, 60))
    assert mentions(str(unexpected(table_of(name).query("epoch != 9"), planned(name))), "epoch 9")


def doubled(table: pd.DataFrame, keys: list[str], moved: float) -> pd.DataFrame:
    """The last run or draw is the one before; its numbers are moved by a share."""
    number = next(key for key in NUMBERS if key in keys)
    before, last = sorted(table[number].unique())[-2:]
    again = table[table[number] == before].assign(**{number: last})
    numbers = [column for column in again if column not in keys and again[column].dtype == float]
    again[numbers] *= 1 + moved
    return pd.concat([table[table[number] != last], again], ignore_index=True)


def test_doubled_runs_are_refused_by_name() -> None:
    """In every table of three runs or draws and more, which are no counts of pictures."""
    tried = 0
    for name in TABLES:
        keys = planned(name).figure.keys
        number = next((key for key in NUMBERS if key in keys), None)
        if number is None or (table_of(name)[number].drop_duplicates() >= 0).sum() <= 2:
            continue
        tried += 1
        for moved in (0.0, 9e-10):
            again = doubled(table_of(name), keys, moved)
            before, last = sorted(again[number].unique())[-2:]
            # Other rules may refuse it first: what is derived from moved numbers.
            assert any(mentions(words, number, before, last) for words in doubled_runs.doubled(again, keys)), name
    assert tried > 12


def test_a_doubled_run_among_a_hundred_fresh_ones_is_refused() -> None:
    """As with confirm.runs=100, when a copy has a number of its own."""
    name = "demystifying_resnet/fig07"
    table = table_of(name)
    last = table["run"].max()
    of_one = (table["run"] == last) & (table["network"] == "2-shortcut") & (table["depth"] == 16)
    copied = table[(table["run"] == 20) & (table["network"] == "2-shortcut") & (table["depth"] == 16)]
    forged = pd.concat([table[~of_one], copied.assign(run=last)], ignore_index=True)
    assert mentions(str(unexpected(forged, planned(name))), "2-shortcut", 16, 20, last)


CHANGED = [
    ("demystifying_resnet/fig04", "condition_number", 0.1), ("demystifying_resnet/fig04_deep", "condition_number", 0.1),
    ("demystifying_resnet/fig05", "condition_number", 0.1), ("demystifying_resnet/fig05", "loss", 1.1),
    ("demystifying_resnet/fig06", "noise_floor", 1e-3), ("demystifying_resnet/fig06", "index", 0.9999),
    ("demystifying_resnet/fig07", "final_loss", 0.9), ("demystifying_resnet/fig07", "excess_loss", 0.9),
    ("demystifying_resnet/fig07", "initial_loss", 10.0), ("demystifying_resnet/shortcut1", "excess_loss", 0.9),
    ("demystifying_resnet/shortcut_depths", "loss", 0.9), ("demystifying_resnet/fig10", "nearest", 1.1),
    ("demystifying_resnet/theorem1", "tolerance", 1e15), ("demystifying_resnet/theorem2", "tolerance", 1e15),
    ("identity_matters/theorem21", "tolerance", 1e15), ("identity_matters/theorem21", "paper", 2.0),
    ("identity_matters/theorem22", "tolerance", 1e15), ("identity_matters/theorem32", "tolerance", 1e15),
    ("shortcut_importance/theory", "tolerance", 1e15), ("shortcut_importance/table1", "rate", 0.99),
    ("shortcut_importance/fig04", "low", 0.9), ("shortcut_importance/worlds", "rate", 0.99),
    ("stable_scaling/forward", "over_bound", 2.0), ("stable_scaling/forward", "growth", 0.5),
    ("stable_scaling/products", "value", 0.5), ("stable_scaling/products", "bound", 2.0),
    ("identity_matters/table1", "value", 0.9),
]  # fmt: skip
BY_OTHER_ROWS = {("demystifying_resnet/fig07", "initial_loss"), ("identity_matters/table1", "value")}


@pytest.mark.parametrize(("name", "column", "factor"), CHANGED)
def test_a_column_that_does_not_follow_from_the_others_is_refused(name: str, column: str, factor: float) -> None:
    """In a single row, and in all but for those that only others of the column tell."""
    table, part = table_of(name), planned(name)
    values = table[column].where(np.isfinite(table[column]) & (table[column] != 0))
    single = table[column].mask(table.index == values.first_valid_index(), table[column] * factor)
    assert unexpected(table.assign(**{column: single}), part) is not None
    if (name, column) not in BY_OTHER_ROWS:
        assert mentions(str(unexpected(table.assign(**{column: table[column] * factor}), part)), "follow")


@pytest.mark.parametrize("name", ["theorem1", "theorem2"])
def test_each_tolerance_of_a_theorem_is_computed_here(name: str) -> None:
    """Property by property."""
    name = f"demystifying_resnet/{name}"
    table, part = table_of(name), planned(name)
    for statement in table["property"].unique():
        rows = table["property"] == statement
        forged = table.assign(tolerance=table["tolerance"].mask(rows, 1e15 * table["tolerance"]))
        assert unexpected(forged, part) is not None, statement


def curves(epochs: list[int]) -> pd.DataFrame:
    """Two networks at two depths, whose quantity falls to zero by epoch 100."""
    rows = [
        {"network": network, "depth": depth, "run": run, "epoch": epoch, "loss": 1.0 / (1 + epoch),
         "excess_loss": (1 + run / 9) / (1 + epoch), "index": max(0.0, 0.5 - epoch / 200)}
        for network in "ab" for depth in (4, 8) for run in range(5) for epoch in epochs
    ]  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("cut", [range(1, 11), range(5, 11), range(1, 990)])
def test_no_epoch_near_the_place_is_missing(cut: range) -> None:
    whole = [*snapshot_epochs(1000, 60)]
    left = [epoch for epoch in whole if epoch not in cut]
    assert epoch_at(curves(whole), 0.01) == 10
    assert epoch_at(curves(left), 0.01) is None
    for check in (
        EarlyFall(network="a", column="index", within=0.01, at_least=0.01),
        CurveRatio(network="a", other="b", epochs=[0.01], within_factor=2),
        RatioAcrossDepths(networks=["a"], column="excess_loss", epochs=[0.01], within_factor=2),
    ):
        table = curves(left)
        found = result(check, table[table["depth"] == 4] if isinstance(check, EarlyFall) else table)
        assert found.points == []
        assert mentions(found.missing[0], "epoch 10")
