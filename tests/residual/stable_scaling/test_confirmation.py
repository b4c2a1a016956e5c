"""Oracle: made losses of a screening and of fresh runs, whose effects differ, and the jobs of a plan.

It sees a claim that reads the screening's losses, a common rate that is not confirmed at some depth, a fresh run whose
divergence is overlooked, an interval [1, 1] at the depth where the common rate is the best, and jobs that change when
more runs are asked for.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.checks.rates import CommonRate, StepsToLoss
from resaudit.figures.rates import BestRate
from resaudit.figures.sweeps import Stage, at_the_end, by_rate
from resaudit.plan.claim import Check
from resaudit.plan.composition import load
from resaudit.plan.experiment import at
from resaudit.plan.plan import make_plan
from residual.stable_scaling.experiments.training import ScaledTraining
from residual.stable_scaling.jobs.train_scaled import TrainScaled
from tests.claims.made import mentions, result, verdict
from tests.claims.test_common_rate import falling, made, steady
from tests.residual.stable_scaling.test_training import PAPER

Table = pd.DataFrame
NETWORK = "resnet-0.5"
COMMON = CommonRate(network=NETWORK, at_most=1.25)
CHECKS = [
    COMMON,
    StepsToLoss(network=NETWORK, within_factor=1.25),
    StepsToLoss(network=NETWORK, rate="best", within_factor=1.25),
]
SCREENED = 4


def confirmed(screening: Table, fresh: Table, at_every_rate: bool = True) -> Table:
    """A screening, and fresh runs at every rate or at those that it leaves."""
    if not at_every_rate:
        left = {
            depth: BestRate.to_confirm(*by_rate(rows, "loss")) for depth, rows in at_the_end(screening).groupby("depth")
        }
        of = zip(fresh["depth"], fresh["learning_rate"], strict=True)
        fresh = fresh[[rate in left[depth] for depth, rate in of]]
    fresh = fresh.assign(stage=Stage.CONFIRMATION, run=fresh["run"] + SCREENED)
    return pd.concat([screening.assign(stage=Stage.SCREENING), fresh], ignore_index=True)


def scaled(table: Table, stage: str) -> Table:
    """Absurd losses in one stage, ever larger with depth, that leave the order of the rates as it is."""
    factor = 1e3 * table["depth"].where(table["stage"] == stage, 1e-3)
    return table.assign(loss=table["loss"] * factor)


def effects(check: Check, table: Table) -> list[tuple[float, ...]]:
    return [tuple(effect.value for effect in point.effects) for point in check.measure(table, 3).points]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("of", [steady, falling])
def test_absurd_losses_of_the_screening_change_nothing(check: Check, of: Callable[[str], Table]) -> None:
    table = confirmed(of(NETWORK), of(NETWORK))
    planted = scaled(table, Stage.SCREENING)
    assert not planted["loss"].equals(table["loss"])
    assert effects(check, planted) == effects(check, table) != []
    assert verdict(check, planted) == verdict(check, table) == ("supported" if of is steady else "contradicted")


@pytest.mark.parametrize("check", CHECKS)
def test_fresh_runs_decide(check: Check) -> None:
    # The screening's rate of 3 is the best in it, and with fresh runs slow and bad: 10 is better at the least depth.
    other = confirmed(steady(NETWORK), falling(NETWORK))
    assert verdict(check, confirmed(steady(NETWORK), steady(NETWORK))) == "supported"
    assert verdict(check, other) == "contradicted"


def test_a_diverged_fresh_run_at_the_common_rate_is_not_overlooked() -> None:
    table = confirmed(steady(NETWORK), steady(NETWORK))
    at = (table["stage"] == Stage.CONFIRMATION) & (table["depth"] == 100) & (table["learning_rate"] == 3)
    diverged = table.assign(loss=table["loss"].mask(at & (table["run"] == SCREENED), np.inf))
    assert verdict(CommonRate(network=NETWORK, at_most=1.1), diverged) != "supported"
    assert verdict(StepsToLoss(network=NETWORK, at_most=1.25), diverged) != "supported"
    # One of the screening's runs takes a rate from those that serve all depths, but no fresh loss from the measurement.
    at = (table["stage"] == Stage.SCREENING) & (table["depth"] == 100)
    at &= (table["learning_rate"] == 3) & (table["run"] == 0)
    in_screening = table.assign(loss=table["loss"].mask(at, np.inf))
    assert {point.shown.choice for point in COMMON.measure(in_screening, 3).points} == {"rates 1 and 3"}


def test_a_rate_at_which_a_fresh_run_alone_diverges_does_not_hide_one_that_serves() -> None:
    # Rate 3 ends a fifth above the best rate, 10, whose divergence three screened runs are too few to see.
    best_at_ten = made(NETWORK, lambda _: 10.0)
    at_ten = best_at_ten[best_at_ten["learning_rate"] == 10].assign(learning_rate=3.0)
    close = at_ten.assign(loss=at_ten["loss"] * 1.2)
    table = confirmed(*[pd.concat([best_at_ten[best_at_ten["learning_rate"] != 3], close], ignore_index=True)] * 2)
    assert {point.shown.choice.split()[1] for point in COMMON.measure(table, 3).points} == {"10"}
    at = (table["learning_rate"] == 10) & (table["depth"] == 100) & (table["run"] == SCREENED)
    diverged = table.assign(loss=table["loss"].mask(at, np.inf))
    assert {point.shown.choice.split()[1] for point in COMMON.measure(diverged, 3).points} == {"3"}
    assert verdict(COMMON, diverged) == "supported"


def test_the_common_rate_is_confirmed_at_every_depth() -> None:
    table = confirmed(steady(NETWORK), steady(NETWORK))
    lost = (table["stage"] == Stage.CONFIRMATION) & (table["depth"] == 100) & (table["learning_rate"] == 3)
    for check in (COMMON, CHECKS[1]):
        assert verdict(check, table) == "supported"
        assert verdict(check, table[~lost]) == "inconclusive"
        assert any(mentions(reason, 100) for reason in result(check, table[~lost]).missing)
    # Fresh runs at the best rates of each depth alone need not have the common one.
    of_the_best = confirmed(falling(NETWORK), falling(NETWORK), at_every_rate=False)
    assert verdict(COMMON, of_the_best) == "inconclusive"


def test_a_best_rate_without_fresh_runs_is_missing() -> None:
    table = confirmed(falling(NETWORK), falling(NETWORK), at_every_rate=False)
    assert verdict(CHECKS[2], table) == "contradicted"
    supported = StepsToLoss(network=NETWORK, rate="best", at_least=1.25)
    assert verdict(supported, table) == "supported"
    # At the greatest depth fresh runs are at a rate that the screening did not leave, and none at the one that it left.
    at_depth = (table["stage"] == Stage.CONFIRMATION) & (table["depth"] == 1000)
    (left,) = table[at_depth]["learning_rate"].unique()
    elsewhere = table.assign(learning_rate=table["learning_rate"].mask(at_depth, 1.0))
    assert left != 1.0
    assert verdict(supported, elsewhere) == "inconclusive"
    missing = result(supported, elsewhere).missing
    assert [mentions(reason, 1000, f"{rate:g}") for rate, reason in zip((1.0, left), missing, strict=True)] == [
        True
    ] * 2


def test_a_common_rate_that_is_the_best_has_an_interval() -> None:
    # Losses of runs scatter by a factor of 1.5 about means that the rate has in common with none.
    rng = np.random.default_rng(3)
    table = confirmed(steady(NETWORK), steady(NETWORK))
    place = ["stage", "depth", "learning_rate", "run"]
    scatter = table[place].drop_duplicates().assign(factor=lambda runs: np.exp(rng.normal(0, 0.4, len(runs))))
    noisy = table.merge(scatter, on=place).assign(loss=lambda rows: rows["loss"] * rows["factor"])
    for point in result(COMMON, noisy).points:
        for choice in point.choices:
            assert choice.own[0] < choice.effect < choice.own[1]
    assert verdict(COMMON, noisy) == "inconclusive"


def test_the_common_rate_among_others_is_measured_against_the_best_of_them() -> None:
    # 3 is the best at every depth and 1 the next: exactly the ratio of their means.
    table = confirmed(steady(NETWORK), steady(NETWORK))
    ends = at_the_end(table).query("stage == 'confirmation' and depth == 10").groupby("learning_rate")["loss"].mean()
    assert COMMON.measure(table, 3).points[0].shown.value == pytest.approx(ends[3.0] / ends[1.0], rel=1e-12)
    # A loss at a rate of 10 just below that at 3, at one depth: measured against 10 there.
    ten = made(NETWORK, lambda depth: 8.0 if depth == 10 else 3.0)
    chosen = [point.shown.choice for point in COMMON.measure(confirmed(steady(NETWORK), ten), 3).points]
    assert chosen == ["rates 3 and 10", "rates 3 and 1", "rates 3 and 1"]


@pytest.mark.parametrize("figure", ["training", "map"])
def test_more_fresh_runs_add_blocks_and_keep_the_ids_of_the_others(figure: str) -> None:
    name = f"{PAPER}/{figure}"

    def ids(runs: int) -> set[str]:
        asked = f"figure.{PAPER}.{figure}.protocol.confirm.runs={runs}"
        return {job.id for job in make_plan(load(["scale=laptop", asked], only=[name])).figures[name].jobs.values()}

    networks_and_depths = len(ids(50)) // 2
    assert ids(50) < ids(120)
    assert len(ids(120)) == 4 * networks_and_depths


def test_blocks_train_at_the_rates_that_their_own_screening_leaves() -> None:
    plan = make_plan(load(["scale=laptop"], only=[f"{PAPER}/training"]))
    jobs = plan.figures[f"{PAPER}/training"].jobs
    protocol = load(["scale=laptop"], only=[f"{PAPER}/training"]).figure[f"{PAPER}/training"].protocol
    assert isinstance(protocol, ScaledTraining)
    seen = set()
    for where, job in jobs.items():
        place = dict(where)
        if place.pop("stage") == Stage.SCREENING:
            continue
        del place["first"]
        screening, every = jobs[at(stage=Stage.SCREENING, **place)], place["network"] in protocol.at_every_rate
        assert isinstance(job, TrainScaled)
        assert isinstance(screening, TrainScaled)
        of_block = {"first": screening.runs, "runs": 6}
        of_sweep = {"learning_rates": (), "sweep": screening, "window": protocol.window}
        assert job == replace(screening, **of_block, **({} if every else of_sweep))
        seen.add(every)
    assert seen == {True, False}
