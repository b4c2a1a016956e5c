"""Oracle: made measurements and the figures' YAML. Sees lost rows, swapped axes, sizes that reach no id, lax bounds."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.base.files import write_json
from resaudit.figures.style import panels
from resaudit.jobs.job import Execution
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan, make_plan
from resaudit.plan.words import settings_in_words
from residual.demystifying_resnet import fig10, fig11, shortcut1, theorem1, theorem2
from residual.demystifying_resnet.experiments.results import TrainingResults
from residual.demystifying_resnet.jobs.theorem import Theorem
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.theory.records import Case, Cases, Finding, SpherePath, ZeroHessians, as_columns
from tests.conftest import first_of, run_planned

PREFIX = "figure.demystifying_resnet"


def plan(*overrides: str) -> Plan:
    return make_plan(load(overrides))


# Measurements and tables

CASE = {"shortcut_depth": 2, "activations": "identity/relu/identity", "width": 3, "units": 6, "samples": 3,
        "data": "mnist", "draw": 0}  # fmt: skip


def made(*findings: Finding, **changes: object) -> list[tuple[Case, Finding]]:
    return [(CASE | changes, finding) for finding in findings]


def test_a_table_has_a_row_for_each_measurement() -> None:
    rows = made(Finding("a", 1.0, 2.0, 0.5, 0.1), Finding("b", 3.0, np.nan, 0.0, 0.2), units=12)
    table = theorem1.table(as_columns(rows))
    assert list(table.columns) == [
        "property", "shortcut_depth", "activations", "width", "units", "samples", "data", "draw", "value", "expected",
        "error", "tolerance",
    ]  # fmt: skip
    assert table["property"].tolist() == ["a", "b"]
    assert table["value"].tolist() == [1.0, 3.0]
    assert table["units"].tolist() == [12, 12]
    assert table["activations"].tolist() == ["identity/relu/identity"] * 2
    pd.testing.assert_frame_equal(table, theorem2.table(as_columns(rows)))


def test_statements_are_printed_with_their_cases_and_largest_error() -> None:
    rows = [*made(Finding("order 1", 0, 0, 0.0, 1.0), Finding("order 2", 0, 0, 0.05, 0.1)),
            *made(Finding("exact", 0, 0, 0.0, 1.0)),
            *made(Finding("bad", 0, 0, 3.0, 1.0), Finding("not stated", 1, np.nan, 9.0, 1.0))]  # fmt: skip
    _, (axes,) = panels()
    theorem1.statements_panel(axes, pd.DataFrame(dataclasses.asdict(as_columns(rows))))
    said = [text.get_text() for text in axes.texts]
    assert said[3:] == ["order k", "2", "0.5", "exact", "1", "0", "bad", "1", "3 (!)"]


def test_theorem1_draws_the_norms_of_real_data_by_units() -> None:
    rows = []
    for units, value in ((3, 8.0), (30, 2.0)):
        for draw, share in enumerate((0.5, 1.5)):
            found = (Finding(theorem1.NORMS, share * value, np.nan, 0.0, 1.0),
                     Finding(theorem1.BOUND, share * value, 9 * value, 0.0, 1.0))  # fmt: skip
            rows += made(*found, units=units, draw=draw) + made(*found, units=units, draw=draw, data="random", width=5)
    axes = theorem1.plot(pd.DataFrame(dataclasses.asdict(as_columns(rows)))).axes[1]
    assert axes.get_title() == "d = 3"
    norms, bound, slope = axes.get_lines()
    assert norms.get_label() == "3 samples"
    assert norms.get_xdata().tolist() == [3, 30]
    assert norms.get_ydata().tolist() == [8.0, 2.0]
    assert bound.get_ydata().tolist() == [72.0, 18.0]
    assert np.prod(slope.get_xdata()) > 0
    assert np.ptp(np.square(slope.get_ydata()) * slope.get_xdata()) < 1e-12


def test_theorem2_draws_resolved_condition_numbers_of_all_data_by_depth() -> None:
    rows = made(Finding("eq. 9", 1, 1, 0, 1), samples=10)
    for n, units in ((1, 2), (1, 4), (10, 1)):
        for least, error in (("min", 2.0), ("(0.1)", 1e-9)):
            finding = Finding(theorem2.CONDITION.format(least), 10.0 * units, np.nan, error, 1.0)
            rows += made(finding, shortcut_depth=n, units=units, samples=60_000)
            rows += made(finding, shortcut_depth=n, units=units * 32, samples=10)
    axes = theorem2.plot(pd.DataFrame(dataclasses.asdict(as_columns(rows)))).axes[1]
    drawn = [(line.get_xdata().tolist(), line.get_ydata().tolist()) for line in axes.get_lines()]
    assert drawn == [([], []), ([], []), ([2, 4], [20.0, 40.0]), ([10], [10.0])]


def test_fig10_says_how_near_every_point_is() -> None:
    path = SpherePath(
        path=np.array([[1.0, 0, 0], [0, 1.0, 0]]), direct=np.array([[1.0, 0, 0], [0, 1.0, 0]]),
        obstacles=np.array([[0, 0, 1.0], [0.6, 0.8, 0]]), rho=np.array(0.5),
    )  # fmt: skip
    table = fig10.table(path)
    assert table["kind"].tolist() == ["path", "path", "direct", "direct", "obstacle", "obstacle"]
    np.testing.assert_allclose(table["nearest"][:2], [np.hypot(0.4, 0.8), np.hypot(0.6, 0.2)])
    assert set(table["rho"]) == {0.5}
    left, right = fig10.plot(table).axes
    drawn = {tuple(line.get_xdata()) for line in left.get_lines() if line.get_color() == fig10.COLOURS["path"]}
    assert drawn == {tuple(fig10._view(path.path)[0] @ path.path.T)}
    assert right.get_lines()[-1].get_ydata() == [0.25, 0.25]


def test_fig10_looks_from_above_the_middle_with_the_end_to_the_right() -> None:
    view = fig10._view(np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0, 1.0, 0]]))
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(view) == pytest.approx(1.0)
    assert (view @ [0, 1.0, 0])[0] > (view @ [1.0, 0, 0])[0]


def test_fig11_names_equal_blocks_and_draws_the_first() -> None:
    hessians = ZeroHessians(
        shortcut_depth=np.array([2, 2, 1, 1, 1, 1]), units=np.array([1, 1, 2, 2, 2, 2]), width=np.ones(6, dtype=int),
        row=np.array([1, 0, 0, 1, 1, 0]), column=np.array([0, 1, 0, 1, 0, 1]), value=np.array([-3, 3, 5, 5, 2, 2.0]),
    )  # fmt: skip
    table = fig11.table(hessians)
    assert table["network"].tolist() == ["2-shortcut"] * 2 + ["1-shortcut"] * 4
    two, block_of_two, one, block_of_one, _ = fig11.plot(table).axes
    assert block_of_two.images[0].get_array().tolist() == [[-3]]
    assert block_of_one.images[0].get_array().tolist() == [[2]]
    # 3 is not -3.
    assert {text.xy: text.get_text() for text in two.texts} == {(0, 1): "$A$", (1, 0): "$?$"}
    assert [text.get_text() for text in one.texts] == ["$B$", "$A^T$", "$A$", "$B$"]
    assert [text.get_text() for text in two.get_xticklabels()] == ["$W^{1,1}$", "$W^{1,2}$"]
    assert [text.get_text() for text in one.get_xticklabels()] == ["$W^{1,1}$", "$W^{2,1}$"]


def sweep() -> Trajectory:
    """Four epochs, rates 0.1 (best) and 0.2 (diverges), two runs each."""
    excess = np.array([[8.0, 9, 8, 9], [4, 5, 4, np.inf], [2, 3, 2, np.inf], [1, 2, 1, np.inf]])
    empty = np.empty(0)
    return Trajectory(np.array([0.1, 0.1, 0.2, 0.2]), np.array(0.25), excess, empty, empty, empty, empty)


def test_shortcut1_has_final_losses_at_all_rates_and_curves_at_the_best() -> None:
    place = ("orthogonal", 4)
    table = shortcut1.table(TrainingResults({place: sweep()}, rates={place: (0.1,)}))
    assert list(table.columns) == [
        "network", "depth", "stage", "learning_rate", "run", "epoch", "loss", "optimal_loss", "excess_loss", "shown",
    ]  # fmt: skip
    final = table[table["epoch"] == 3]
    assert final["learning_rate"].tolist() == [0.1, 0.1, 0.2, 0.2]
    assert final["loss"].tolist() == [1.25, 2.25, 1.25, np.inf]
    curve = table[table["learning_rate"] == 0.1]
    assert curve[curve["run"] == 1]["excess_loss"].tolist() == [9, 5, 3, 2]
    # A run diverges there.
    assert table[table["learning_rate"] == 0.2]["epoch"].tolist() == [3, 3]
    assert table[table["shown"]]["learning_rate"].unique().tolist() == [0.1]


def test_shortcut1_draws_ratios_of_means_and_of_rates_to_the_orthogonal_network() -> None:
    ours = dataclasses.replace(sweep(), excess_loss=sweep().excess_loss * 3, learning_rate=2 * sweep().learning_rate)
    sweeps = {(n, d): s for n, s in (("1-shortcut", ours), ("orthogonal", sweep())) for d in (2, 4, 8)}
    best = {key: (0.2 if key[0] == "1-shortcut" else 0.1,) for key in sweeps}
    curves, losses, rates = shortcut1.plot(shortcut1.table(TrainingResults(sweeps, rates=best))).axes
    assert [line.get_ydata().tolist() for line in curves.get_lines()[:3]] == [[3, 3, 3]] * 3
    assert [text.get_text() for text in curves.get_legend().get_texts()] == ["2", "4", "8"]
    for axes, ratio in ((losses, 3), (rates, 2)):
        (line, _) = axes.get_lines()
        assert (list(line.get_xdata()), list(line.get_ydata())) == ([2, 4, 8], [ratio] * 3)


# Plan


def test_shortcut1_trains_only_what_figure_7_does_not() -> None:
    fig07, ours = (set(plan(f"figures=[{name}]").jobs_of("train")) for name in ("fig07", "shortcut1"))
    # Six depths, screened and confirmed.
    assert len(ours - fig07) == 12
    assert all(name.startswith("shortcut1-") for name in ours - fig07)


def test_a_theorem_trains_nothing_and_is_one_job() -> None:
    theorems_ = plan("figures=[theorem1,theorem2,fig10,fig11]")
    assert {job.kind for job in theorems_.jobs.values()} == {"fetch", "whiten", "theorem"}
    assert len(theorems_.jobs_of("theorem")) == 4


def test_every_size_changes_the_id_of_a_theorem() -> None:
    one = Theorem(first_of(plan("figures=[theorem1]"), "whiten"), "theorem_1", Cases(1, 2))
    others = {
        "seed": 2, "draws": 3, "shortcut_depths": (1,), "activations": (("tanh",) * 3,), "widths": (3,), "units": (1,),
        "depths": (2,), "steps": (4,), "samples_per_class": (5,), "min_distance": 0.3, "label_noise": 0.2,
    }  # fmt: skip
    assert set(others) == {f.name for f in dataclasses.fields(Cases)}
    varied = [dataclasses.replace(one, cases=dataclasses.replace(one.cases, **{k: v})) for k, v in others.items()]
    assert len({job.id for job in (one, *varied)}) == len(others) + 1


def test_protocols_reach_the_cases() -> None:
    (theorem,) = plan("figures=[theorem2]", "scale=paper").jobs_of("theorem").values()
    cases = theorem.cases
    assert cases.shortcut_depths == (1, 2, 3, 4, 5)
    assert cases.activations[0] == ("identity",) * 3
    assert cases.activations[-1] == ("softplus", "tanh", "shifted_softplus")
    assert (cases.draws, cases.widths, cases.units) == (10, (2, 3, 5, 10), (1, 2, 3))
    (theorem,) = plan("figures=[theorem1]", "scale=paper").jobs_of("theorem").values()
    assert theorem.cases.steps == (1, 3, 10, 32, 100)
    assert theorem.cases.samples_per_class == (1, 3)


def test_checks_of_more_cost_more() -> None:
    for figure in ("theorem1", "theorem2"):
        plans = (plan(f"figures=[{figure}]", f"scale={scale}") for scale in ("smoke", "paper"))
        small, large = (first_of(each, "theorem").cost(Execution()) for each in plans)
        assert small.seconds < large.seconds


# Words and refusals


def test_a_theorems_settings_in_words_are_those_that_it_depends_on() -> None:
    figures = load(only=[f"demystifying_resnet/{name}" for name in ("theorem1", "theorem2", "fig11", "fig07")]).figure
    said = {name.split("/")[1]: settings_in_words(figure) for name, figure in figures.items()}
    assert "learning rates" not in said["theorem1"]
    assert said["theorem1"]["min distance"] == "0.4"
    assert said["theorem2"]["activations"].startswith("identity/identity/identity, tanh/tanh/tanh")
    assert set(said["fig11"]) == {"data", "seed", "components", "centered", "signs", "networks", "units"}
    assert not {"widths", "steps", "min distance", "activations"} & set(said["fig07"])


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        ("theorem1.protocol.widths=[2]", "widths[0] is 2"),
        ("theorem2.protocol.widths=[11]", "whitening.components"),
        ("theorem1.protocol.widths=[]", "widths is empty"),
        ("theorem1.protocol.steps=[0]", "steps[0] is 0"),
        ("theorem1.protocol.min_distance=0", "min_distance is 0"),
        ("theorem1.protocol.label_noise=-1", "label_noise is -1"),
        ("theorem1.protocol.runs=0", "runs is 0"),
        ("theorem2.protocol.units=[1,1]", "units names 1"),
        ("theorem2.protocol.networks=[xavier]", "'N-shortcut'"),
        ("theorem2.protocol.networks=[highway]", "'highway'"),
        ("theorem2.protocol.depths=[3]", "depth 3"),
        ("theorem2.protocol.activations=[{mid:softplus}]", "identity, tanh, symmetric_sigmoid, shifted_softplus"),
        ("theorem2.protocol.activations=[{pre:relu}]", "pre 'relu'"),
        ("theorem2.protocol.activations=[{},{}]", "identity/identity/identity"),
        ("theorem2.protocol.activations=[{mdi:tanh}]", "'mdi'"),
        ("fig10.protocol.widths=[4]", "widths[0] is 4"),
        ("fig10.protocol.steps=[10,20]", "[10, 20]"),
        ("fig11.protocol.units=[]", "units is empty"),
        ("fig11.protocol.runs=2", "'runs'"),
    ],
)
def test_impossible_checks_are_refused_in_one_line(override: str, mentioned: str) -> None:
    with pytest.raises(ResauditError) as refusal:
        load([f"{PREFIX}.{override}"], only=[f"demystifying_resnet/{override.split('.')[0]}"])
    assert override.split(".")[0] in str(refusal.value)
    assert mentioned in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


# The job


def test_a_theorem_is_checked_from_files_and_read_back(mnist_config: Config, tmp_path: Path) -> None:
    asked = plan(f"paths.data={mnist_config.paths.data}", "figures=[fig11]", f"{PREFIX}.fig11.protocol.units=[1]")
    (theorem,), (part,) = asked.jobs_of("theorem").values(), asked.figures.values()
    with pytest.raises(ResauditError, match=theorem.data.id):
        run_planned(theorem, tmp_path)
    run_planned(theorem.data, tmp_path)
    run_planned(theorem, tmp_path)
    folder = theorem.folder(tmp_path)
    assert {file.name for file in folder.iterdir()} == {"measurements.npz", "settings.json", "provenance.json"}
    found = part.figure.protocol.read(part.jobs, tmp_path)
    assert isinstance(found, ZeroHessians)
    assert set(found.shortcut_depth) == {1, 2}
    write_json(folder / "settings.json", theorem.identity | {"data": "other"})
    with pytest.raises(ResauditError, match=theorem.id):
        theorem.read(tmp_path)
