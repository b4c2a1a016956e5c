"""Oracle: made losses whose best rates and steps are known, swapped labels, and the answers to bad settings.

It sees a common rate chosen at one depth only, steps counted at another rate or beyond a loss never reached, a claim
that holds whatever the table says, and a plan file whose job is not the one that was planned.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ResauditError
from resaudit.claims.checks.rates import CommonRate, StepsToLoss
from resaudit.claims.verdicts import judge
from resaudit.figures.curves import steps_to_target
from resaudit.figures.drawing import at_edges, figure_module
from resaudit.figures.sweeps import common_rates
from resaudit.plan.claim import Check
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from residual.stable_scaling.jobs.train_scaled import Losses
from tests.claims.made import result, verdict
from tests.conftest import assert_read_back, configured, smoke_figure

PAPER = "stable_scaling"
DEPTHS, RATES, STEPS = (10, 100, 1000), (0.3, 1.0, 3.0, 10.0, 30.0), np.arange(10, 101, 10)
Best = Callable[[int], float]


def made(network: str, best: Best, speed: Best = lambda _: 1.0, floor: Best = lambda _: 0.2) -> pd.DataFrame:
    """Losses that fall from five times a floor, fastest at the best rate of each depth; above twice it, infinite."""
    parts = []
    for depth in DEPTHS:
        for rate in RATES:
            for run in range(4):
                share = rate / best(depth)
                fall = 0.1 * speed(depth) * (share if share <= 1 else 1 / share)
                losses = floor(depth) * (1 + 4 * np.exp(-fall * (STEPS - 5)) * 1.01**run)
                losses = losses if share <= 2 else np.full(len(STEPS), np.inf)
                part = pd.DataFrame({"step": STEPS, "loss": losses})
                parts.append(part.assign(network=network, depth=depth, learning_rate=rate, run=run, target_loss=0.38))
    return pd.concat(parts, ignore_index=True)


def steady(network: str) -> pd.DataFrame:
    return made(network, lambda _: 3.0)


def falling(network: str) -> pd.DataFrame:
    """The best rate falls from 12 to 3, the convergence slows down tenfold, and the floor rises."""
    return made(network, lambda d: 12 / (d / 10) ** 0.3, lambda d: (10 / d) ** 0.5, lambda d: 0.2 * (d / 10) ** 0.35)


def exploding(network: str) -> pd.DataFrame:
    return made(network, lambda _: 3.0, floor=lambda d: 0.2 * (d / 10))


def table(**by_network: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    names = {"quarter": "resnet-0.25", "three": "resnet-0.375", "half": "resnet-0.5", "more": "resnet-0.75"}
    names |= {"one": "resnet-1", "plain": "feedforward"}
    return pd.concat([of(names[name]) for name, of in by_network.items()], ignore_index=True)


HONEST = table(quarter=exploding, three=exploding, half=steady, more=steady, one=steady, plain=falling)
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


def test_the_common_rate_is_that_of_the_worst_depth() -> None:
    assert common_rates(steady("resnet-0.5")) == (3.0,)
    # At the best rate tried at the least depth, 10, the greatest depth diverges; at that of the greatest, 3, none does.
    assert common_rates(falling("feedforward")) == (3.0,)
    assert common_rates(made("feedforward", lambda d: 0.3 if d == 10 else 30.0)) == (0.3,)
    never = steady("resnet-0.5").assign(loss=np.inf)
    assert common_rates(never) == ()
    assert verdict(CommonRate(network="resnet-0.5", at_most=1.25), never) == "inconclusive"


def test_a_rate_that_still_falls_at_the_edge_of_the_grid_decides_nothing() -> None:
    # The loss at the greatest rate of the grid is the least and still falls.
    edge = made("resnet-0.5", lambda _: 100.0, lambda _: 1.0)
    check = CommonRate(network="resnet-0.5", at_most=1.25)
    assert verdict(check, edge) == "inconclusive"
    # Either way: the best rate may lie beyond.
    for point in check.measure(edge, 3).points:
        assert np.isnan(point.effects[-1].value)


def test_a_figure_says_whose_best_rate_may_lie_beyond_the_grid() -> None:
    protocol = smoke_figure(f"{PAPER}/training").protocol
    assert at_edges(protocol.best_rates(steady("resnet-0.5"))) == ""
    edge = made("feedforward", lambda depth: RATES[-1] if depth == 1000 else 3.0)
    said = at_edges(protocol.best_rates(pd.concat([steady("resnet-0.5"), edge])))
    assert re.findall(r"feedforward|resnet-0\.5|\d+", said) == ["feedforward", "1000"]


def test_steps_to_the_target_are_those_of_the_made_curve() -> None:
    rows = made("resnet-0.5", lambda _: 3.0, lambda _: 0.5).query("depth == 10 and learning_rate == 3")
    exact = np.log(0.8 * 1.01 ** np.arange(4) / 0.18) / 0.05
    # The chord of a convex curve lies above it: the target is passed late, by less than 0.7 of a step.
    late = steps_to_target(rows).to_numpy() - exact
    assert ((late >= 0) & (late < 0.7)).all()
    assert np.isinf(steps_to_target(rows.assign(target_loss=0.1))).all()
    assert (steps_to_target(rows.assign(target_loss=2.0)) == 5).all()


def test_steps_are_compared_at_one_rate_even_if_several_serve() -> None:
    # Beyond the target all rates end alike, but the slower ones need more steps at every depth.
    quick = made("resnet-0.5", lambda _: 3.0, lambda _: 10.0)
    assert len(common_rates(quick)) > 1
    assert verdict(StepsToLoss(network="resnet-0.5", within_factor=1.1), quick) == "supported"


def test_a_run_that_stops_short_of_the_loss_leaves_the_ratio_open() -> None:
    # At depth 10 passed at step 20, at depth 100 at 95, at depth 1000 not within the 100 steps.
    slow = made("resnet-0.5", lambda _: 3.0, lambda d: {10: 1.0, 100: 0.165, 1000: 0.15}[d])
    found = result(StepsToLoss(network="resnet-0.5", at_most=20), slow)
    assert [point.verdict for point in found.points] == ["supported", "inconclusive"]
    assert [point.choices[0].reaching for point in found.points] == [[], [np.inf]]
    assert verdict(StepsToLoss(network="resnet-0.5", depths="last", at_least=4), slow) == "supported"


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (StepsToLoss(network="resnet-0.5", at_most=1.25), "supported"),
        (StepsToLoss(network="feedforward", rate="best", at_most=1.25), "contradicted"),
        (StepsToLoss(network="feedforward", rate="best", depths="last", at_least=1.25), "supported"),
        (StepsToLoss(network="resnet-0.25", rate="best", depths="last", at_least=1.25), "supported"),
        (StepsToLoss(network="resnet-0.5", from_depth=1000, at_most=1.25), "inconclusive"),
    ],
)
def test_steps_by_depth(check: Check, expected: str) -> None:
    assert verdict(check, HONEST) == expected


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
