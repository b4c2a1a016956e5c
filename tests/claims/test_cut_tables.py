"""Oracle: every committed table with rows left out, runs doubled, or columns changed. Sees a check that judges them.

Each must be refused, or the claims on it must not be decided otherwise than on the whole table.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.claims.checks.depths import RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall
from resaudit.claims.checks.rows import epoch_at
from resaudit.claims.verdicts import judge
from resaudit.figures.expected import unexpected
from resaudit.figures.snapshots import snapshot_epochs
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import FigurePlan, make_plan
from tests.claims.made import mentions, result
from tests.conftest import CHECKOUT

REFERENCE = CHECKOUT / "figures" / "reference"
TABLES = {
    "/".join([*csv.parent.relative_to(REFERENCE).parts, csv.stem]): csv
    for csv in sorted(REFERENCE.rglob("*/*.csv"))
    if csv.stem != "robustness"
}
VALUES = 5
"""Of a key with more values, so many are left out in turn."""
UNDECIDED = {"inconclusive", "not run", "depends"}
NUMBERS = ("run", "draw")


@cache
def configured(name: str) -> Config:
    *scale, paper, stem = name.split("/")
    figure, *dataset = stem.split("-")
    overrides = [f"scale={each.removeprefix('scale_')}" for each in scale]
    overrides += [f"dataset={each}" for each in dataset]
    return load([f"figures=[{paper}/{figure}]", "device=cpu", *overrides])


@cache
def planned(name: str) -> FigurePlan:
    (part,) = make_plan(configured(name)).figures.values()
    return part


@cache
def table_of(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES[name])


def verdicts(name: str, table: pd.DataFrame) -> dict[str, str]:
    """The verdict on each claim about a figure; of a table that cannot be judged, not run."""
    config, figure = configured(name), planned(name).figure.name
    paper, evidence = figure.split("/")
    found = {}
    for claim, read in config.claims_of(paper).items():
        if read.evidence == evidence and not read.not_yet:
            try:
                judged = judge(read, table, config.scale_of(figure), config.dataset_of(figure)).verdict.value
            except ResauditError:
                judged = "not run"
            found[claim] = judged
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


@pytest.mark.parametrize("name", [name for name in TABLES if not name.startswith("scale_")])
def test_a_cut_table_is_refused_or_decides_nothing_else(name: str) -> None:
    table, part = table_of(name), planned(name)
    whole = verdicts(name, table)
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


def with_draws() -> list[str]:
    """Tables of three runs or draws and more, which are no counts of pictures."""
    numbers = {name: next((key for key in NUMBERS if key in planned(name).figure.keys), None) for name in TABLES}
    return [name for name, key in numbers.items() if key and (table_of(name)[key].drop_duplicates() >= 0).sum() > 2]


@pytest.mark.parametrize("moved", [0.0, 9e-10])
@pytest.mark.parametrize("name", with_draws())
def test_doubled_runs_are_refused_by_name(name: str, moved: float) -> None:
    keys = planned(name).figure.keys
    again = doubled(table_of(name), keys, moved)
    number = next(key for key in NUMBERS if key in keys)
    before, last = sorted(again[number].unique())[-2:]
    # Other rules may refuse it first: what is derived from moved numbers.
    from resaudit.figures.doubled import doubled as found

    assert any(mentions(words, number, before, last) for words in found(again, keys))


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
        assert mentions(found.measured.missing[0], "epoch 10")
