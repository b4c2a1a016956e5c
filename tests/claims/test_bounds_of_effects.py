"""Oracle: what a share and a loss can be at all. Sees an interval that goes on beyond it."""

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.checks.epochs import EarlyFall, FallByLoss, PeakAtDrop
from resaudit.claims.checks.losses import AtEveryLoss
from resaudit.claims.checks.rates import FinalExcess
from resaudit.plan.claim import Check
from tests.claims.made import result, sweep

RUNS = 3
"""So few that every interval would leave the range."""
EPOCHS = [0, 1, 10, 100]


def curves() -> pd.DataFrame:
    """Shares that differ from run to run as much as shares can."""
    rows = [
        (name, run, epoch, 1.0 / (1 + epoch), index, 1.0 + (run == epoch))
        for name, offset in (("a", 0), ("b", 1))
        for run in range(RUNS)
        for position, epoch in enumerate(EPOCHS)
        for index in [[1.0, 0.0, 0.0, 0.0], [0.9, 0.9, 0.1, 0.0], [1.0, 1.0, 0.9, 0.5]][(run + offset) % 3][position:][
            :1
        ]
    ]
    return pd.DataFrame(rows, columns=["network", "run", "epoch", "loss", "index", "gradient_norm"])


@pytest.mark.parametrize(
    ("check", "least", "most"),
    [
        (EarlyFall(network="a", column="index", at_least=0.1), -1, 1),
        (EarlyFall(network="a", column="index", of_whole=True, at_least=0.1), -np.inf, 1),
        (FallByLoss(network="a", column="index", at_least=0.1), -1, 1),
        (FallByLoss(network="a", column="index", of_whole=True, at_least=0.1), -np.inf, 1),
        (PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2), 0, np.inf),
        (AtEveryLoss(network="a", others=["b"], column="index", compare="difference", at_most=0), -1, 1),
    ],
)
def test_no_interval_goes_beyond_what_its_effect_can_be(check: Check, least: float, most: float) -> None:
    found = result(check, curves(), runs=RUNS)
    assert found.points
    for point in found.points:
        assert least <= point.choices[0].own[0] <= point.effect <= point.choices[0].own[1] <= most
    # An end that was cut.
    assert any(point.choices[0].own[0] == least or point.choices[0].own[1] == most for point in found.points)


@pytest.mark.parametrize("shares", [(1e-9, 1e-9, 0.5), (1.0, 2.0, 90.0)])
def test_an_excess_lies_between_the_optimum_and_the_start(shares: tuple[float, ...]) -> None:
    table = sweep({"a": lambda *_: 1.0})
    table = table[table["run"] < RUNS].assign(initial_loss=100.0)
    excess = table["run"].map(dict(enumerate(shares)))
    found = result(FinalExcess(networks=["a"], at_most=1), table.assign(excess_loss=excess), runs=RUNS)
    for point in found.points:
        assert point.effect == pytest.approx(np.mean(shares))
        assert point.choices[0].own[0] == 0.0
        assert point.choices[0].own[1] <= 99.0
