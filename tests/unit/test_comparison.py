"""Oracle: made tables. Sees a tolerance that lets anything pass, rows or columns lost without a word."""

import json
import shutil
import sys
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of, write_json
from resaudit.cli import commands as cli
from resaudit.figures import comparison
from resaudit.figures import references as kept_tables
from resaudit.figures.comparison import (
    _compared,
    _thinned,
    compare_with_references,
    disagreements,
    other_choices,
    write_references,
)
from resaudit.figures.drawing import read_about, read_csv, write_csv
from resaudit.figures.references import reference_file, references
from resaudit.figures.snapshots import snapshot_epochs
from resaudit.figures.tables import Drawn
from resaudit.plan.composition import load
from resaudit.plan.layout import Layout
from resaudit.plan.models import ColumnTolerance, Figure
from resaudit.plan.plan import Plan, make_plan

FIGURE = Figure.model_construct(
    keys=["network", "run"], tolerances={"loss": ColumnTolerance(relative=0.01, share=0.75)}
)
FIG04 = "demystifying_resnet/fig04"
REFERENCE = pd.DataFrame({"network": list("aabb"), "run": [0, 1, 0, 1], "loss": [1.0, 2.0, np.inf, 4.0]})


def failures(fresh: pd.DataFrame) -> str:
    return "; ".join(disagreements(fresh, REFERENCE, FIGURE))


def test_equal_within_tolerance_in_any_order_agrees() -> None:
    fresh = REFERENCE.sample(frac=1, random_state=1).assign(loss=lambda t: t["loss"] * 1.009)
    assert failures(fresh) == ""


def test_one_row_beyond_is_within_the_share_two_are_not() -> None:
    assert failures(REFERENCE.assign(loss=[1.5, 2.0, np.inf, 4.0])) == ""
    assert failures(REFERENCE.assign(loss=[1.5, 2.5, np.inf, 4.0])) == (
        "loss is beyond its tolerance in 2 of 4 rows, all of network a, furthest at network a, run 0: 1.5, "
        "in the reference 1"
    )


def test_infinity_agrees_with_nothing_finite() -> None:
    assert "2 of 4" in failures(REFERENCE.assign(loss=[np.inf, 2.0, 3.0, 4.0]))


def test_missing_rows_and_columns_are_said() -> None:
    assert failures(REFERENCE[:3]) == "1 of the reference's 4 rows are missing (a smaller scale?)"
    assert "columns are" in failures(REFERENCE.rename(columns={"loss": "cost"}))


def test_more_rows_than_the_reference_are_no_failure() -> None:
    more = pd.concat([REFERENCE, REFERENCE.assign(run=lambda t: t["run"] + 2)])
    assert failures(more) == ""


FOLLOWED = Figure.model_construct(
    keys=["network", "learning_rate", "run", "epoch"],
    tolerances={"loss": ColumnTolerance(relative=0.01), "index": ColumnTolerance(eigenvalues=2)},
)


def followed(rates: dict[float, float], shown: float) -> pd.DataFrame:
    """Losses along training at several rates, one of them shown."""
    rows = [("a", rate, rate == shown, run, epoch, loss / (1 + epoch), 0.5, 100)
            for rate, loss in rates.items() for run in (0, 1) for epoch in (0, 1)]  # fmt: skip
    columns = ["network", "learning_rate", "shown", "run", "epoch", "loss", "index", "eigenvalues"]
    return pd.DataFrame(rows, columns=columns)


def test_a_rate_that_is_tied_in_the_reference_only_need_not_be_followed() -> None:
    reference = followed({0.1: 1.0, 1.0: 0.9}, shown=0.1)
    assert not list(disagreements(followed({0.1: 1.0}, shown=0.1), reference, FOLLOWED))
    assert not list(disagreements(followed({0.1: 1.0, 1.0: 0.9}, shown=1.0), reference, FOLLOWED))
    assert "rows are missing" in "".join(disagreements(followed({1.0: 0.9}, shown=1.0), reference, FOLLOWED))
    assert "1.1, in the reference 1" in "".join(disagreements(followed({0.1: 1.1}, shown=0.1), reference, FOLLOWED))


def test_another_rate_shown_is_said() -> None:
    reference = followed({0.1: 1.0, 1.0: 0.9}, shown=0.1)
    assert other_choices(reference, reference) == []
    other = followed({0.1: 1.0, 1.0: 0.9}, shown=1.0)
    assert other_choices(other, reference) == ["a is drawn at rate 1, in the reference at 0.1"]


def test_an_index_may_differ_by_whole_eigenvalues() -> None:
    reference = followed({0.1: 1.0}, shown=0.1)
    assert not list(disagreements(reference.assign(index=0.52), reference, FOLLOWED))
    assert list(disagreements(reference.assign(index=0.53), reference, FOLLOWED))


def drawn_in(folder: Path, *overrides: str) -> tuple[Plan, Path]:
    """A plan of Figure 4, and its table as if it had been drawn: the reference's."""
    plan = make_plan(load([f"paths.figures={folder}", "figures=[demystifying_resnet/fig04]", *overrides]))
    shutil.copytree(reference_file(FIG04).parent, folder / FIG04.split("/")[0])
    return plan, Layout(plan.config.paths).figure(FIG04, "csv")


def change_record(csv: Path, **changes: object) -> None:
    write_json(csv.with_suffix(".json"), read_about(csv) | changes)


def test_a_figure_not_drawn_yet_is_said(tmp_path: Path) -> None:
    plan = make_plan(load([f"paths.figures={tmp_path}", "figures=[demystifying_resnet/fig04]"]))
    said: list[str] = []
    assert compare_with_references(plan, said.append) == []
    assert said == [f"{FIG04}: not drawn in {tmp_path}"]


def test_a_record_with_line_breaks_is_said_in_one_line(tmp_path: Path) -> None:
    plan, fresh = drawn_in(tmp_path)
    change_record(fresh, values=read_about(fresh)["values"] | {"data": "MN\rIST\nagain"})
    said: list[str] = []
    assert compare_with_references(plan, said.append) == [FIG04]
    assert said[0].startswith(f"{FIG04}: {fresh} shows dataset=MN IST again, asked for is dataset=mnist; add ")


def write(folder: Path, values: dict[str, object]) -> Path:
    """A table with its settings beside it."""
    folder.mkdir()
    REFERENCE.to_csv(folder / "fig.csv", index=False)
    (folder / "fig.json").write_text(json.dumps({"values": values}))
    return folder / "fig.csv"


def read(csv: Path) -> Drawn:
    return Drawn("fig", read_csv(csv), "", read_about(csv))


def test_tables_of_other_data_are_not_compared_and_other_scales_are(tmp_path: Path) -> None:
    values: dict[str, object] = {"data": "MNIST", "runs": 10, "widths": list(range(9))}
    reference = write(tmp_path / "reference", values)
    fashion = write(tmp_path / "fashion", values | {"data": "Fashion-MNIST"})
    fewer = write(tmp_path / "fewer", values | {"runs": 3})
    wider = write(tmp_path / "wider", values | {"widths": [0, *range(2, 9), 8]})
    assert _compared(read(fashion), reference, FIGURE)[0] == ["data is Fashion-MNIST, in the reference MNIST"]
    assert _compared(read(fewer), reference, FIGURE) == ([], [])
    assert _compared(read(wider), reference, FIGURE)[0][0].startswith("widths is [0, 2, 3"), "same ends and count"
    reference.with_suffix(".json").unlink()
    with pytest.raises(ResauditError, match="which says what the table is of, cannot be read"):
        _compared(read(fewer), reference, FIGURE)


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
    assert not list(disagreements(reference.assign(x=[1.1, 0.009, np.nan]), reference, figure))
    assert list(disagreements(reference.assign(x=[1.115, 0.0, np.nan]), reference, figure))
    assert list(disagreements(reference.assign(x=[1.0, 0.011, np.nan]), reference, figure))
    assert list(disagreements(reference.assign(x=[1.0, 0.0, 3.0]), reference, figure))


def test_disagreement_is_said_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, fresh = drawn_in(tmp_path)
    words = ["resaudit", "compare", "figures=[demystifying_resnet/fig04]", f"paths.figures={tmp_path}"]
    monkeypatch.setattr(sys, "argv", words)
    assert cli.main() == 0
    assert capsys.readouterr().out == f"{FIG04}: agrees with the reference\n"
    table = read_csv(fresh)
    table.loc[table["network"] == "xavier", "lambda_max"] *= 2
    write_csv(fresh, table)
    assert cli.main() == 1
    assert f"{FIG04}: {fresh} is not the table that was drawn" in capsys.readouterr().out
    change_record(fresh, sha256=sha256_of(fresh))
    assert cli.main() == 1
    said = capsys.readouterr()
    assert said.out.startswith(f"{FIG04}: lambda_max is beyond its tolerance in ")
    assert " rows, all of network xavier, furthest at network xavier, depth " in said.out
    assert "; judged by it: depth-invariant-condition, plain-condition-explodes, " in said.out
    assert f"1 figures do not agree with their references: {FIG04}" in said.err


def test_a_figure_without_a_reference_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = drawn_in(tmp_path / "drawn")
    monkeypatch.setattr(kept_tables, "reference_file", lambda wanted: tmp_path / f"{wanted}.csv")
    said: list[str] = []
    assert compare_with_references(plan, said.append) == []
    assert said == [f"{FIG04}: no reference to compare with yet; resaudit reference makes one"]


def test_a_reference_of_another_scale_is_replaced_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, fresh = drawn_in(tmp_path / "drawn")
    kept = tmp_path / "reference.csv"
    shutil.copy(fresh, kept)
    shutil.copy(fresh.with_suffix(".json"), kept.with_suffix(".json"))
    change_record(kept, scale="paper")
    monkeypatch.setattr(kept_tables, "reference_file", lambda _: kept)
    with pytest.raises(ResauditError, match="is of scale paper, the drawn table of scale laptop; --force replaces it"):
        write_references(plan, print)
    write_references(plan, print, force=True)
    assert read_about(kept)["scale"] == "laptop"
    write_references(plan, print)


def test_a_large_reference_keeps_few_epochs_and_a_grid_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LARGE_REFERENCE_BYTES", 0)
    every, curve = pd.DataFrame({"epoch": range(1001)}), pd.DataFrame({"epoch": snapshot_epochs(1000, 40)})
    assert list(_thinned(every)["epoch"]) == list(snapshot_epochs(1000, 60))
    assert list(_thinned(curve)["epoch"]) == list(curve["epoch"])


def test_a_figure_of_other_data_has_a_reference_of_its_own(tmp_path: Path) -> None:
    said: list[str] = []
    plan = make_plan(load(["dataset=fashion_mnist", f"paths.figures={tmp_path}"], only=[FIG04]))
    table = tmp_path / f"{FIG04}.csv"
    table.parent.mkdir()
    table.touch()
    assert references(plan) == {FIG04: reference_file(f"{FIG04}-fashion_mnist")}
    assert references(make_plan(load(only=[FIG04]))) == {FIG04: reference_file(FIG04)}
    assert compare_with_references(plan, said.append) == []
    assert said == [f"{FIG04}: no reference to compare with yet; resaudit reference makes one"]


def test_an_interruption_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise click.exceptions.Abort

    monkeypatch.setattr(cli.cli, "main", interrupted)
    assert cli.main() == 130


def test_numbers_that_no_float_holds_are_said(tmp_path: Path) -> None:
    """All values of a column beyond 64 bits come as Python's integers, which 400 digits are too many for."""
    reference, fresh = (write(tmp_path / name, {}) for name in ("reference", "fresh"))
    text = fresh.read_text()
    for value in ("1.0", "2.0", "inf", "4.0"):
        text = text.replace(f",{value}\n", f",{'9' * 400}\n")
    fresh.write_text(text)
    with pytest.raises(ResauditError, match=r"table of fig, compared with its reference: .*OverflowError: "):
        _compared(read(fresh), reference, FIGURE)
