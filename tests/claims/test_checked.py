"""Oracle: made records. Sees a comparison of other tables pass for one of these."""

import shutil
from pathlib import Path

import pytest

from resaudit.audit.checked import checked, write_comparison
from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of
from resaudit.figures.references import reference_file
from resaudit.plan.composition import load
from resaudit.plan.layout import Layout
from resaudit.plan.plan import make_plan

FIG04, FIG11 = "demystifying_resnet/fig04", "demystifying_resnet/fig11"


def test_a_comparison_counts_for_the_tables_it_was_made_of(tmp_path: Path) -> None:
    plan = make_plan(
        load([f"paths.figures={tmp_path}", "figures=[demystifying_resnet/fig04,fig11,demystifying_resnet/fig03]"])
    )
    layout = Layout(plan.config.paths)
    for name in (FIG04, FIG11):
        layout.figure(name, "csv").parent.mkdir(exist_ok=True)
        shutil.copy(reference_file(name), layout.figure(name, "csv"))
    assert checked(layout, {}) == {"compare": None}
    nothing = make_plan(load([f"paths.figures={tmp_path}", "figures=[demystifying_resnet/fig03]"]))
    assert write_comparison(nothing, ["demystifying_resnet/fig03"]) is None
    of_other_data = load([f"paths.figures={tmp_path}", "figures=[demystifying_resnet/fig04]", "dataset=fashion_mnist"])
    assert write_comparison(make_plan(of_other_data), []) is None
    file = write_comparison(plan, [FIG11, "demystifying_resnet/fig03"])
    tables = {name: sha256_of(layout.figure(name, "csv")) for name in (FIG04, FIG11)}
    found = checked(layout, tables)["compare"]
    assert (found["agree"], found["disagree"]) == ([FIG04], [FIG11])
    drawn_again = checked(layout, tables | {FIG11: "0" * 64})["compare"]
    assert (drawn_again["agree"], drawn_again["disagree"]) == ([FIG04], [])
    assert checked(layout, {FIG04: "0" * 64})["compare"] is None
    assert file is not None
    file.write_text("{}")
    with pytest.raises(ResauditError, match=r"compare\.json cannot be read .* remove it and run again"):
        checked(layout, tables)
