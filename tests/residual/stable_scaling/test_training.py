"""Oracle: swapped labels of made losses, and the answers to bad settings.

It sees a claim that holds whatever the table says, and a plan file whose job is not the one that was planned.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.claims.verdicts import judge
from resaudit.figures.drawing import at_edges, figure_module
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from residual.stable_scaling.jobs.train_scaled import Losses
from tests.claims.committed import planned, table_of
from tests.claims.test_common_rate import HONEST, RATES, made, steady
from tests.conftest import assert_read_back, configured, smoke_figure

PAPER = "stable_scaling"
SWAPPED = {
    "one-rate-fits-all-depths": ("resnet-0.5", "feedforward"),
    "depth-independent-convergence": ("resnet-0.5", "feedforward"),
    "feedforward-depends-on-depth": ("resnet-0.5", "feedforward"),
    "quarter-power-cannot-train-the-basic-structure": ("resnet-0.5", "resnet-0.25"),
    "sharp-scale-in-training": ("resnet-0.5", "resnet-0.25"),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_labels_turn_the_verdict(name: str) -> None:
    one, other = SWAPPED[name]
    swapped = HONEST.assign(network=HONEST["network"].replace({one: other, other: one}))
    assert judge(configured().claims_of(PAPER)[name], HONEST, "laptop").verdict == "supported"
    assert judge(configured().claims_of(PAPER)[name], swapped, "laptop").verdict == "contradicted"


def test_a_figure_says_whose_best_rate_may_lie_beyond_the_grid() -> None:
    protocol = smoke_figure(f"{PAPER}/training").protocol
    assert at_edges(protocol.best_rates(steady("resnet-0.5"))) == ""
    edge = made("feedforward", lambda depth: RATES[-1] if depth == 1000 else 3.0)
    said = at_edges(protocol.best_rates(pd.concat([steady("resnet-0.5"), edge])))
    assert re.findall(r"feedforward|resnet-0\.5|\d+", said) == ["feedforward", "1000"]


def test_the_map_shows_each_loss_at_the_smallest_rate_within_a_tenth_of_the_best() -> None:
    table = table_of(f"{PAPER}/map").copy()
    table.loc[(table["depth"] == 3) & (table["power"] == 0.25), "loss"] = np.inf
    cells = [text.get_text().rstrip("*") for text in figure_module(f"{PAPER}/map").plot(table).axes[0].texts]
    expected = []
    for _, rows in table[table["stage"] == "confirmation"].groupby(["depth", "power"]):
        means = rows.groupby("learning_rate")["loss"].mean()
        shown = means[means <= 1.1 * means.min()].iloc[0]
        expected.append(f"{shown:.2f}" if shown <= 9 else ">9")
    assert cells == expected


@pytest.mark.parametrize(
    ("override", "mentioned"),
    [
        ("protocol.networks=[resnet-1.5]", "protocol.networks[0] is 'resnet-1.5'"),
        ("protocol.depths=[1]", "protocol.depths[0] is 1"),
        ("protocol.window=7", "window 7"),
        ("protocol.batch=2000", "batch 2000"),
        ("protocol.learning_rates=[1e9]", "1e+06"),
        ("protocol.learning_rates=[]", "protocol.learning_rates is empty"),
        ("protocol.precision=float16", "protocol.precision is 'float16'"),
    ],
)
def test_bad_settings_are_refused_in_one_line(override: str, mentioned: str) -> None:
    with pytest.raises(ResauditError) as refusal:
        smoke_figure(f"{PAPER}/training", override)
    assert mentioned in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_jobs_come_back_from_their_plan_files_and_are_shared_by_both_figures(tmp_path: Path) -> None:
    plan = make_plan(load(["scale=laptop"], only=[f"{PAPER}/training", f"{PAPER}/map"]))
    jobs = {name: part.jobs for name, part in plan.figures.items()}
    assert_read_back(jobs[f"{PAPER}/training"].values(), tmp_path)
    ids = [{job.id for job in part.values()} for part in jobs.values()]
    # Three networks of six depths, each a screening and a block of fresh runs.
    assert len(ids[0] & ids[1]) == 3 * 6 * 2


def test_the_plan_knows_which_trainings_of_a_sweep_diverge() -> None:
    name = f"{PAPER}/map"
    rows = table_of(name).query("stage == 'screening'")
    lasted = np.isfinite(rows["loss"]).groupby([rows["network"], rows["depth"]]).mean()
    for where, job in planned(name).jobs.items():
        if (place := dict(where))["stage"] == "screening":
            assert job.lasting / job.trainings == pytest.approx(lasted[place["network"], place["depth"]], abs=0.23)


def test_a_table_has_the_mean_of_every_window_and_plots() -> None:
    figure = load(["scale=smoke"], only=[f"{PAPER}/training"]).figure[f"{PAPER}/training"]
    steps = figure.protocol.steps
    losses = Losses(np.array([1.0, 1, 10, 10]), np.array([0, 1, 0, 1]), np.arange(4.0 * steps).reshape(steps, 4))

    class Made:
        def read(self, _: Path) -> Losses:
            return losses

    jobs = {(("network", name), ("depth", depth)): Made() for name in figure.protocol.networks for depth in (3, 8)}
    read = figure.protocol.read(jobs, Path())  # type: ignore[arg-type]
    (row,) = read.query("network == 'feedforward' and depth == 8 and learning_rate == 10 and run == 0 and step == 20")[
        "loss"
    ]
    assert row == losses.loss[10:, 2].mean()
    figure_module(figure.name).plot(read).draw_without_rendering()
    cells = figure_module(f"{PAPER}/map")
    mapped = cells.table(read[read["network"] == "resnet-0.5"])
    assert mapped["power"].unique().tolist() == [0.5]
    cells.plot(mapped).draw_without_rendering()
