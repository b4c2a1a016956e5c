"""Oracle: made tables. Sees a tolerance that lets anything pass, rows or columns lost without a word."""

import re
import shutil
import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import OtherSettings, ResauditError, TableError
from resaudit.base.files import sha256_of, write_json
from resaudit.claims import comparison
from resaudit.claims.comparison import (
    Agreement,
    agreement_of,
    compare,
    compare_table,
    compare_with_references,
    differences_of,
    other_rates,
    thinned,
    write_references,
)
from resaudit.cli import commands as cli
from resaudit.figures import draw as kept_tables
from resaudit.figures.curves import snapshot_epochs
from resaudit.figures.draw import reference_file, references
from resaudit.figures.drawing import read_about, read_csv, write_csv
from resaudit.figures.tables import Drawn, drawn
from resaudit.plan.composition import load
from resaudit.plan.figure import ColumnTolerance, Figure
from resaudit.plan.models import Layout
from resaudit.plan.plan import Plan, make_plan
from resaudit.plan.words import deviations, settings_of
from tests.refusals import refused, tells

FIGURE = Figure.model_construct(keys=["network", "run"], tolerances={"loss": ColumnTolerance(relative=0.01)})
FIG04, FIG08 = "demystifying_resnet/fig04", "demystifying_resnet/fig08"
REFERENCE = pd.DataFrame({"network": list("aabb"), "run": [0, 1, 0, 1], "loss": [1.0, 2.0, np.inf, 4.0]})


MISSING, BEYOND, APART = "rows are missing", "is beyond its tolerance", "are apart by more than rounding"


def differences(fresh: pd.DataFrame, reference: pd.DataFrame = REFERENCE, figure: Figure = FIGURE) -> list[str]:
    """Of each difference, the words that only its kind has."""
    said = [str(each) for each in differences_of(fresh, reference, figure)]
    return [next(words for words in (MISSING, BEYOND, APART) if words in each) for each in said]


def difference(fresh: pd.DataFrame, reference: pd.DataFrame = REFERENCE, figure: Figure = FIGURE) -> ResauditError:
    (only,) = differences_of(fresh, reference, figure)
    return only


def test_equal_within_tolerance_in_any_order_agrees() -> None:
    fresh = REFERENCE.sample(frac=1, random_state=1).assign(loss=lambda t: t["loss"] * 1.009)
    assert differences(fresh) == []


def test_a_row_beyond_its_tolerance_is_said() -> None:
    tells(difference(REFERENCE.assign(loss=[1.5, 2.0, np.inf, 4.0])), "in 1 of 4 rows")
    beyond = difference(REFERENCE.assign(loss=[1.5, 2.5, np.inf, 4.0]))
    tells(beyond, "loss is beyond", "2 of 4", "common: network a)", "network a, run 0: 1.5, in the reference 1")


CHAOTIC = Figure.model_construct(
    keys=["network", "run", "epoch"], tolerances={"loss": ColumnTolerance(relative=1e-6, chaotic=True)}
)


def trained(noise: float = 0.0, seed: int = 0, runs: int = 10, networks: int = 20) -> pd.DataFrame:
    """Losses of runs that agree at epoch 0 and are apart by a factor of this logarithmic spread at epoch 9."""
    keys = pd.MultiIndex.from_product([map(str, range(networks)), range(runs), (0, 9)], names=CHAOTIC.keys)
    table = keys.to_frame(index=False)
    apart = np.random.default_rng(seed).normal(0, noise, len(table)) if noise else 0.0
    return table.assign(loss=np.exp(np.where(table["epoch"] > 0, apart, 0.0)) / (1 + table["run"]))


@pytest.mark.parametrize("noise", [1e-2, 0.3, 3.0])
def test_runs_that_rounding_has_parted_agree_and_their_share_is_said(noise: float) -> None:
    for seed in range(20):
        parted, reference = trained(noise, 2 * seed + 1), trained(noise, 2 * seed + 2)
        assert differences(parted, reference, CHAOTIC) == []
    assert agreement_of(parted, reference, CHAOTIC) == Agreement(200, 400, 40, 40)
    assert agreement_of(parted, parted, CHAOTIC) == Agreement(400, 400, 40, 40)


def test_what_no_rounding_does_is_said() -> None:
    parted, reference = trained(0.1, 1), trained(0.1, 2)
    at_start = parted["epoch"] == 0
    other_start = parted.assign(loss=parted["loss"].where(~(at_start & (parted["run"] == 3)), 0.3))
    assert differences(other_start, reference, CHAOTIC) == [BEYOND]
    of_seven = ~at_start & (parted["network"] == "7")
    moved = parted.assign(loss=parted["loss"].where(~of_seven, 2 * parted["loss"]))
    tells(difference(moved, reference, CHAOTIC), APART, "1 of 40 groups", "network 7, epoch 9")
    assert agreement_of(moved, reference, CHAOTIC) == Agreement(200, 400, 39, 40)


def test_few_runs_may_diverge_on_one_machine_alone_and_not_all() -> None:
    reference = trained(0.1, 1, runs=40)
    for diverged, found in ((4, []), (40, [APART])):
        chosen = (reference["network"] == "3") & (reference["epoch"] > 0) & (reference["run"] < diverged)
        table = reference.assign(loss=reference["loss"].where(~chosen, np.inf))
        assert differences(table, reference, CHAOTIC) == found
        assert differences(reference, table, CHAOTIC) == found


@pytest.mark.parametrize(("keys", "numbers"), [(["run"], (-1, 0, 1)), (["draw"], (-1, 0, 1)), (["part"], (0, 1, 2))])
def test_statistics_over_runs_are_compared_at_equal_numbers_of_runs_only(keys: list[str], numbers: list[int]) -> None:
    figure = Figure.model_construct(keys=keys, tolerances={"mean": ColumnTolerance(relative=0.01)})
    reference = pd.DataFrame({keys[0]: numbers, "mean": [1.0, 2.0, 3.0]})
    statistics = reference.assign(mean=[1.5, 2.0, 3.0])
    assert differences(statistics, reference, figure) == [BEYOND]
    assert list(differences_of(statistics, reference, figure, same_runs=False)) == []
    of_a_run = reference.assign(mean=[1.0, 2.5, 3.0])
    assert len(list(differences_of(of_a_run, reference, figure, same_runs=False))) == (keys != ["part"])


def test_another_verdict_by_numbers_that_agree_is_said(tmp_path: Path) -> None:
    plan = make_plan(load([f"paths.figures={tmp_path}", f"figures=[{FIG08}]"]))
    reference = references(plan)[FIG08]
    csv = Path(shutil.copytree(reference.parent, tmp_path / "demystifying_resnet")) / reference.name
    table = read_csv(csv)
    # Of five fresh runs at each tied rate one ends far off: no mean is another, but none is known as well.
    deep = (table["network"] == "2-shortcut-relu") & (table["depth"] == 64) & (table["stage"] == "confirmation")
    table.loc[table.index[deep & (table["run"] == table.loc[deep, "run"].min())], "final_loss"] *= 8
    write_csv(csv, table)
    change_record(csv, sha256=sha256_of(csv))
    (other,), (numbers, verdicts) = compare(plan, FIG08, reference)
    tells(other, "relu-final-loss (inconclusive | supported)")
    rows = len(table)
    tells(numbers, f"{rows - 3} of {rows} rows", "within their intervals")
    tells(verdicts, "1 of 2 verdicts")


def test_infinity_agrees_with_nothing_finite() -> None:
    tells(difference(REFERENCE.assign(loss=[np.inf, 2.0, 3.0, 4.0])), BEYOND, "2 of 4")


def test_missing_rows_and_columns_are_said() -> None:
    tells(difference(REFERENCE[:3]), "1 of the reference's 4 rows are missing")
    tells(difference(REFERENCE.rename(columns={"loss": "cost"})), "columns are cost, network, run")


def test_more_rows_than_the_reference_are_no_failure() -> None:
    more = pd.concat([REFERENCE, REFERENCE.assign(run=lambda t: t["run"] + 2)])
    assert differences(more) == []


FOLLOWED = Figure.model_construct(
    keys=["network", "learning_rate", "run", "epoch"],
    tolerances={"loss": ColumnTolerance(relative=0.01), "index": ColumnTolerance(of="eigenvalues", counts=2)},
)


def followed(rates: dict[float, float], shown: float) -> pd.DataFrame:
    """Losses along training at several rates, one of them shown."""
    rows = [("a", rate, rate == shown, run, epoch, loss / (1 + epoch), 0.5, 100)
            for rate, loss in rates.items() for run in (0, 1) for epoch in (0, 1)]  # fmt: skip
    columns = ["network", "learning_rate", "shown", "run", "epoch", "loss", "index", "eigenvalues"]
    return pd.DataFrame(rows, columns=columns)


def test_a_rate_that_is_tied_in_the_reference_only_need_not_be_followed() -> None:
    reference = followed({0.1: 1.0, 1.0: 0.9}, shown=0.1)
    assert not differences(followed({0.1: 1.0}, shown=0.1), reference, FOLLOWED)
    assert not differences(followed({0.1: 1.0, 1.0: 0.9}, shown=1.0), reference, FOLLOWED)
    assert differences(followed({1.0: 0.9}, shown=1.0), reference, FOLLOWED) == [MISSING]
    tells(difference(followed({0.1: 1.1}, shown=0.1), reference, FOLLOWED), BEYOND, ": 1.1, in the reference 1")


def test_another_rate_shown_is_said() -> None:
    reference = followed({0.1: 1.0, 1.0: 0.9}, shown=0.1)
    assert other_rates(reference, reference) == []
    (other,) = other_rates(followed({0.1: 1.0, 1.0: 0.9}, shown=1.0), reference)
    tells(other, "a is drawn at rate 1, in the reference at 0.1")


def screened(*left: float) -> pd.DataFrame:
    """Final losses of a sweep of two rates, and of fresh runs at the rates left."""
    runs = [("screening", rate, run) for rate in (0.1, 1.0) for run in (0, 1)]
    runs += [("confirmation", rate, run) for rate in left for run in (2, 3)]
    return pd.DataFrame(runs, columns=["stage", "learning_rate", "run"]).assign(network="a", depth=4, loss=1.0)


SWEPT = Figure.model_construct(
    keys=["network", "depth", "stage", "learning_rate", "run"], tolerances={"loss": ColumnTolerance(relative=0.01)}
)


def test_fresh_runs_at_a_rate_that_is_tied_in_the_reference_only_may_be_missing_and_are_said() -> None:
    reference = screened(0.1, 1.0)
    assert not differences(screened(0.1), reference, SWEPT)
    (missing,) = other_rates(screened(0.1), reference)
    tells(missing, "a 4 has no fresh runs at rates 1,")
    assert not differences(reference, screened(0.1), SWEPT)
    assert other_rates(reference, screened(0.1)) == []
    # Of a place without fresh runs, or without its screening, rows are missing.
    assert differences(screened(), reference, SWEPT) == [MISSING]
    assert differences(screened(0.1)[2:], reference, SWEPT) == [MISSING]
    fewer = screened(0.1).drop(index=4)
    assert differences(fewer, reference, SWEPT) == [MISSING]


def test_an_index_may_differ_by_whole_eigenvalues() -> None:
    reference = followed({0.1: 1.0}, shown=0.1)
    assert not differences(reference.assign(index=0.52), reference, FOLLOWED)
    assert differences(reference.assign(index=0.53), reference, FOLLOWED)


def drawn_in(folder: Path, *overrides: str) -> tuple[Plan, Path]:
    """A plan of Figure 4, and its table as if it had been drawn: the reference's."""
    plan = make_plan(load([f"paths.figures={folder}", "figures=[demystifying_resnet/fig04]", *overrides]))
    shutil.copytree(reference_file(FIG04).parent, folder / FIG04.split("/")[0])
    return plan, Layout(plan.config.paths).figure(FIG04, "csv")


def change_record(csv: Path, **changes: object) -> None:
    write_json(csv.with_suffix(".json"), read_about(csv) | changes)


def compared(plan: Plan) -> list[type[ResauditError]]:
    """The classes of what is said of Figure 4 but how much of it agrees, the differences first."""
    differing, notes = compare(plan, FIG04, references(plan)[FIG04])
    return [type(each) for each in (*differing, *notes) if each in differing or isinstance(each, TableError)]


def said(plan: Plan) -> tuple[list[str], str]:
    """The figures that differ, and the one line that is said."""
    lines: list[str] = []
    differing = compare_with_references(plan, lines.append)
    (line,) = lines
    assert len(line.splitlines()) == 1
    return differing, line


def test_a_figure_not_drawn_yet_is_said(tmp_path: Path) -> None:
    plan = make_plan(load([f"paths.figures={tmp_path}", "figures=[demystifying_resnet/fig04]"]))
    assert compared(plan) == [TableError]
    differing, line = said(plan)
    assert differing == []
    assert line.startswith(f"{FIG04}: ")
    assert line.endswith(str(tmp_path))


def test_a_record_with_line_breaks_is_said_in_one_line(tmp_path: Path) -> None:
    plan, fresh = drawn_in(tmp_path)
    change_record(fresh, values=read_about(fresh)["values"] | {"data": "MN\rIST\nagain"})
    assert compared(plan) == [OtherSettings]
    assert said(plan)[0] == [FIG04]


def written(folder: Path, values: dict[str, object]) -> Path:
    """A table with its settings beside it."""
    csv = folder / "fig.csv"
    write_csv(csv, REFERENCE)
    write_json(csv.with_suffix(".json"), read_about(reference_file(FIG04)) | {"values": values})
    return csv


def read(csv: Path) -> Drawn:
    return Drawn("fig", read_csv(csv), "", read_about(csv))


def test_tables_of_other_data_are_not_compared_and_other_scales_are(tmp_path: Path) -> None:
    values: dict[str, object] = {"data": "MNIST", "runs": 10, "widths": list(range(9))}
    reference = written(tmp_path / "reference", values)
    fashion = written(tmp_path / "fashion", values | {"data": "Fashion-MNIST"})
    fewer = written(tmp_path / "fewer", values | {"runs": 3})
    wider = written(tmp_path / "wider", values | {"widths": [0, *range(2, 9), 8]})
    ((other,), _) = compare_table(read(fashion), reference, FIGURE)
    tells(other, "data is Fashion-MNIST, in the reference MNIST")
    (found, (numbers,)) = compare_table(read(fewer), reference, FIGURE)
    assert found == []
    tells(numbers, "4 of 4 rows")
    ((same_ends,), _) = compare_table(read(wider), reference, FIGURE)
    tells(same_ends, "widths is [0, 2")
    reference.with_suffix(".json").unlink()
    with refused(TableError, "which says what the table is"):
        compare_table(read(fewer), reference, FIGURE)


def test_every_reference_has_its_figures_keys_without_repetition() -> None:
    config = load(["device=cpu"])
    # Of figures that need a GPU there may be none yet.
    drawn = [name for name in config.figure if name not in config.left_out or reference_file(name).is_file()]
    for name, figure in ((name, config.figure[name]) for name in drawn):
        table = pd.read_csv(reference_file(name))
        assert not table.duplicated(figure.keys).any()
        assert set(figure.tolerances) <= set(table.columns) - set(figure.keys)


def test_a_value_agrees_within_absolute_plus_relative_of_the_reference() -> None:
    figure = Figure.model_construct(keys=["run"], tolerances={"x": ColumnTolerance(relative=0.1, absolute=0.01)})
    reference = pd.DataFrame({"run": [0, 1, 2], "x": [1.0, 0.0, np.nan]})
    assert not list(differences_of(reference.assign(x=[1.1, 0.009, np.nan]), reference, figure))
    assert list(differences_of(reference.assign(x=[1.115, 0.0, np.nan]), reference, figure))
    assert list(differences_of(reference.assign(x=[1.0, 0.011, np.nan]), reference, figure))
    assert list(differences_of(reference.assign(x=[1.0, 0.0, 3.0]), reference, figure))


def test_disagreement_is_said_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, fresh = drawn_in(tmp_path)
    words = ["resaudit", "compare", "figures=[demystifying_resnet/fig04]", f"paths.figures={tmp_path}"]
    monkeypatch.setattr(sys, "argv", words)
    assert cli.main() == 0
    assert capsys.readouterr().out.startswith(f"{FIG04}: ")
    assert compared(plan) == []
    table = read_csv(fresh)
    table.loc[table["network"] == "xavier", ["lambda_max", "condition_number"]] *= 2
    write_csv(fresh, table)
    assert cli.main() == 1
    assert compared(plan) == [TableError]
    change_record(fresh, sha256=sha256_of(fresh))
    capsys.readouterr()
    assert cli.main() == 1
    printed = capsys.readouterr()
    assert FIG04 in printed.err
    beyond, notes = compare(plan, FIG04, references(plan)[FIG04])
    rows = len(table)
    tells(notes[0], f"{rows - (table['network'] == 'xavier').sum()} of {rows} rows")
    for column, each in zip(("condition_number", "lambda_max"), sorted(beyond, key=str), strict=True):
        tells(each, f"{column} {BEYOND}", "(in common: network xavier)")
    # The differences, and the claims that the figure is the evidence of.
    for part in (*map(str, beyond), "depth-invariant-condition", "plain-condition-explodes"):
        assert part in printed.out


def test_a_figure_without_a_reference_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = drawn_in(tmp_path / "drawn")
    monkeypatch.setattr(kept_tables, "reference_file", lambda wanted, _: tmp_path / f"{wanted}.csv")
    assert compared(plan) == [TableError]
    assert said(plan)[0] == []


def test_a_large_reference_keeps_few_epochs_and_a_grid_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LARGE_REFERENCE_BYTES", 0)
    every, curve = pd.DataFrame({"epoch": range(1001)}), pd.DataFrame({"epoch": snapshot_epochs(1000, 40)})
    assert list(thinned(every)["epoch"]) == list(snapshot_epochs(1000, 60))
    assert list(thinned(curve)["epoch"]) == list(curve["epoch"])


def test_a_figure_of_other_data_has_a_reference_of_its_own(tmp_path: Path) -> None:
    plan, _ = drawn_in(tmp_path, "dataset=fashion_mnist")
    assert references(plan) == {FIG04: reference_file(f"{FIG04}-fashion_mnist")}
    assert references(make_plan(load(only=[FIG04]))) == {FIG04: reference_file(FIG04)}
    change_record(Layout(plan.config.paths).figure(FIG04, "csv"), values=settings_of(plan.figures[FIG04].figure))
    change_record(Layout(plan.config.paths).figure(FIG04, "csv"), evidence=plan.figures[FIG04].evidence)
    assert compared(plan) == [TableError]


def test_a_reference_is_the_drawn_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, fresh = drawn_in(tmp_path / "drawn")
    kept = tmp_path / "kept" / "reference.csv"
    monkeypatch.setattr(kept_tables, "reference_file", lambda *_: kept)
    assert compared(plan) == [TableError]
    write_references(plan, print)
    assert kept.read_bytes() == fresh.read_bytes()
    assert compared(plan) == []
    shutil.rmtree(fresh.parent)
    with refused(TableError, FIG04):
        write_references(plan, print)


def test_a_figure_at_another_scale_has_a_reference_in_a_folder_of_that_scale() -> None:
    at_paper = reference_file(FIG04, "paper")
    assert at_paper.relative_to(reference_file(FIG04).parents[1]) == Path("scale_paper", f"{FIG04}.csv")
    for override in ("scale=paper", "figure.demystifying_resnet.fig04.scale=paper"):
        assert references(make_plan(load([override], only=[FIG04]))) == {FIG04: at_paper}
    both = references(make_plan(load(["scale=paper", "dataset=fashion_mnist"], only=[FIG04])))
    assert both == {FIG04: reference_file(f"{FIG04}-fashion_mnist", "paper")}


def test_a_table_of_data_read_otherwise_is_refused_without_a_dataset_to_give(tmp_path: Path) -> None:
    plan, csv = drawn_in(tmp_path)
    values = settings_of(plan.figures[FIG04].figure)
    change_record(csv, values=values | {"data": "MNIST (reader as-published)"}, scale=plan.config.scale.name)
    with refused(OtherSettings, "data", "MNIST (reader as-published)"):
        drawn(plan, FIG04)


def test_settings_that_differ_are_told_apart(tmp_path: Path) -> None:
    """Sees "all" of a key that a table lacks, and two numbers that are rounded to the same words."""
    plan, csv = drawn_in(tmp_path)
    values = settings_of(plan.figures[FIG04].figure)
    for key, stored, shown, asked in (
        ("zero scale", {"zero scale": 0.010001}, "0.010001", "0.01"),
        ("runs", {"runs": {"everywhere": 10, "at": [0.30001]}}, "", ""),
        ("xavier", {}, "none", "gaussian"),
    ):
        others = {name: value for name, value in values.items() if name != key}
        change_record(csv, values=others | stored, scale=plan.config.scale.name)
        with refused(OtherSettings, f"shows {key} {shown}") as caught:
            drawn(plan, FIG04)
        told = re.search(rf"shows {key} (.*), asked for is (.*); (give|add|show)", str(caught.value))
        assert told
        assert told[1] != told[2]
        assert told[1].startswith(shown)
        assert told[2].startswith(asked)


def test_an_interruption_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise click.exceptions.Abort

    monkeypatch.setattr(cli.cli, "main", interrupted)
    assert cli.main() == 130


def test_numbers_that_no_float_holds_are_said(tmp_path: Path) -> None:
    """All values of a column beyond 64 bits come as Python's integers, which 400 digits are too many for."""
    reference, fresh = (written(tmp_path / name, {}) for name in ("reference", "fresh"))
    text = fresh.read_text()
    for value in ("1.0", "2.0", "inf", "4.0"):
        text = text.replace(f",{value}\n", f",{'9' * 400}\n")
    fresh.write_text(text)
    with refused(TableError, "fig") as error:
        compare_table(read(fresh), reference, FIGURE)
    assert isinstance(error.value.__cause__, OverflowError)


def test_every_reference_says_what_differs_from_the_protocol_as_it_is() -> None:
    """A protocol may change without its reduced scale, whose tables then stay as they are."""
    paper = load(["scale=paper"]).figure
    for name, figure in load(["device=cpu"]).figure.items():
        for each, file in ((figure, reference_file(name)), (paper[name], reference_file(name, "paper"))):
            if file.is_file():
                about = read_about(file)
                assert about["scale"] == each.scale
                assert about["differs from the protocol in"] == deviations(each, paper[name]), name
