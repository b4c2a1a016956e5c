"""Oracle: made losses whose best rates and steps are known.

It sees a common rate chosen at one depth only, and steps counted at another rate or beyond a loss never reached.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.checks.rates import CommonRate, StepsToLoss
from resaudit.figures.curves import steps_to_target
from resaudit.figures.sweeps import common_rates
from resaudit.plan.claim import Check
from tests.claims.made import result, verdict

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
