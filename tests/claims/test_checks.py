"""Oracle: made tables whose effects are known, so that every check gives every verdict it should.

Sees a check that looks at the wrong network, turns a ratio round, takes the wrong depth, epoch or rate, or that cannot
come out one way.
"""

from collections.abc import Callable
from functools import partial
from math import ceil, floor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from scipy import stats

from resaudit.base.errors import CheckError, ConfigError, TableError
from resaudit.claims.checks.depths import GrowthDifference, GrowthExponent, RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall, FallByLoss, MonotoneRuns, PeakAtDrop, ShareOfSteps
from resaudit.claims.checks.groups import DifferenceOfMeans, RatioOfMeans
from resaudit.claims.checks.losses import AtEveryLoss, AtTheEnd, LargeAgainstSmallLoss
from resaudit.claims.checks.rates import (
    BestRateKept,
    BestRateRatio,
    EndRatio,
    FinalExcess,
    FinalLossAcrossDepths,
    FinalLossPairs,
    FinalLossRatio,
    ShareDiverged,
    SpreadOverRates,
)
from resaudit.claims.checks.runs import (
    AgainstBounds,
    IdentitiesHold,
    Magnitude,
    MeanOfRuns,
    MedianOfRuns,
    ShareChange,
    ShareOfRuns,
    ZeroOfExponent,
)
from resaudit.claims.intervals import share_interval
from resaudit.claims.records import CheckResult
from resaudit.claims.words import sentence
from resaudit.plan.claim import Check, checks_by_name, read_claim
from tests.claims.made import (
    RUNS,
    along_training,
    apart,
    by_depth,
    mentions,
    result,
    spread,
    sweep,
    verdict,
    with_excess,
)
from tests.refusals import refused

SUPPORTED, CONTRADICTED, INCONCLUSIVE = "supported", "contradicted", "inconclusive"

CONSTANT = RatioAcrossDepths(networks=["a"], column="condition_number", within_factor=1.1)
GROWS = GrowthExponent(networks=["a", "b"], column="condition_number", at_least=0.5)
SLOWER = GrowthDifference(network="a", other="b", column="condition_number", at_most=0)
SMALLER = AtEveryLoss(network="a", others=["b"], column="condition_number", at_most=1, losses=7)
MOST_AT_LARGE = LargeAgainstSmallLoss(network="a", others=["b"], column="condition_number", at_most=1)
SAME_END = AtTheEnd(network="a", other="b", column="condition_number", within_factor=2)


@pytest.mark.parametrize(
    ("slope", "factor", "expected"),
    [(0.0, 1.02, SUPPORTED), (0.2, 1.02, CONTRADICTED), (0.0, 1.5, INCONCLUSIVE), (-0.2, 1.02, CONTRADICTED)],
)
def test_ratio_across_depths(slope: float, factor: float, expected: str) -> None:
    table = by_depth({"a": lambda d: spread(3 * d**slope, factor), "b": lambda d: spread(d**2)})
    assert verdict(CONSTANT, table) == expected


def test_ratio_to_the_previous_depth_at_epochs() -> None:
    check = RatioAcrossDepths(networks=["a"], column="norm", reference="previous", epochs=[0.1, 1.0], at_most=1)
    parts = [
        by_depth({"a": lambda d, p=power: spread(d**p, 1.01)}).assign(epoch=epoch)
        for epoch, power in ((0, 0.0), (10, -0.5), (100, 0.5))
    ]
    table = pd.concat(parts).rename(columns={"condition_number": "norm"})
    found = result(check, table)
    assert [p.where for p in found.points if p.verdict == CONTRADICTED] == [
        f"a, epoch 100, depth {d} over {d // 2}" for d in (4, 8, 16)
    ]
    assert found.points[0].effect == pytest.approx(0.5**0.5)
    shrinking_at_the_end = table[table["epoch"] != 100]
    assert verdict(check.model_copy(update={"epochs": [1.0]}), shrinking_at_the_end) == SUPPORTED


def test_only_the_depths_asked_for() -> None:
    check = RatioAcrossDepths(networks=["a"], column="condition_number", depths=[2, 16], at_most=1)
    table = by_depth({"a": lambda d: spread({2: 2.0, 4: 9.0, 8: 9.0, 16: 1.0}[d], 1.01)})
    assert [p.where for p in result(check, table).points] == ["a, depth 16 over 2"]
    assert verdict(check, table) == SUPPORTED


@pytest.mark.parametrize(
    ("power", "factor", "expected"), [(1.0, 1.05, SUPPORTED), (0.2, 1.05, CONTRADICTED), (0.5, 1.5, INCONCLUSIVE)]
)
def test_growth_exponent(power: float, factor: float, expected: str) -> None:
    table = by_depth({"a": lambda d: spread(d**power, factor), "b": lambda d: spread(np.exp(d), factor)})
    assert verdict(GROWS, table) == expected
    overall = GrowthExponent(networks=["a"], column="condition_number", span="overall", at_least=0)
    assert result(overall, table).points[0].effect == pytest.approx(power)


def test_growth_that_levels_off_is_seen_where_it_does() -> None:
    table = by_depth({"a": lambda d: spread(min(d, 8), 1.01), "b": lambda d: spread(d, 1.01)})
    found = result(GROWS, table)
    assert [p.where for p in found.points if p.verdict == CONTRADICTED] == ["a, depth 8 to 16"]


def test_growth_among_the_rows_asked_for() -> None:
    table = pd.DataFrame(
        {"property": ["norm"] * 6 + ["other"] * 6, "units": [10, 100] * 6, "draw": [0, 0, 1, 1, 2, 2] * 2,
         "value": [1.0, 10**-0.5] * 3 + [1.0, 5.0] * 3, "error": 0.0, "tolerance": 1.0}
    )  # fmt: skip
    check = GrowthExponent(
        column="value", by="units", rows={"property": "norm"}, span="overall", at_least=-0.51, at_most=-0.49
    )
    found = result(check, table)
    assert found.points[0].effect == pytest.approx(-0.5)
    assert found.verdict == SUPPORTED


def test_growth_with_a_coordinate_that_is_no_whole_number() -> None:
    """Cut to whole numbers, 0.25 and 0.5 would be one place, 0, and that has no logarithm."""
    table = pd.DataFrame({"rate": [0.25, 0.5, 1.0, 2.0] * 3, "run": [0] * 4 + [1] * 4 + [2] * 4})
    table["weight"] = table["rate"] ** 2
    check = GrowthExponent(column="weight", by="rate", at_least=1.9)
    assert [(p.where, p.effect) for p in result(check, table).points] == [
        (f"rate {a} to {b}", pytest.approx(2)) for a, b in (("0.25", "0.5"), ("0.5", "1"), ("1", "2"))
    ]


def test_growth_of_each_combination_by_itself_and_over_the_last_step() -> None:
    table = pd.DataFrame(
        {"property": "norm", "units": [1, 10, 100] * 2, "width": [3, 3, 3, 5, 5, 5], "draw": 0,
         "value": [5.0, 10.0, 1.0, 7.0, 4.0, 4.0], "error": 0.0, "tolerance": 1.0}
    )  # fmt: skip
    check = GrowthExponent(column="value", by="units", per=["width"], span="last", at_most=-0.5)
    found = result(check, table, runs=1)
    assert [(p.where, p.effect, p.verdict) for p in found.points] == [
        ("width 3, units 10 to 100", pytest.approx(-1), SUPPORTED),
        ("width 5, units 10 to 100", pytest.approx(0), CONTRADICTED),
    ]
    # A single draw has no spread.
    assert found.exact
    unresolved = table.assign(error=[0, 0, 0, 0, 2, 0])
    assert [p.where for p in result(check, unresolved, runs=1).points][1] == "width 5, units 1 to 100"


@pytest.mark.parametrize(("a", "b", "expected"), [(1, 2, SUPPORTED), (2, 1, CONTRADICTED), (1, 1, INCONCLUSIVE)])
def test_growth_difference(a: float, b: float, expected: str) -> None:
    table = by_depth({"a": lambda d: spread(d**a, 1.3), "b": lambda d: spread(9 * d**b, 1.3)})
    found = result(SLOWER, table)
    assert found.verdict == expected
    assert found.points[0].effect == pytest.approx(a - b)


@pytest.mark.parametrize(
    ("a", "factor", "expected"),
    [
        (lambda x: 0.5 + 0 * x, 1.1, SUPPORTED),
        (lambda x: 2 - 0.4 * x, 1.1, CONTRADICTED),
        (lambda x: 0.95 + 0 * x, 1.5, INCONCLUSIVE),
    ],
)
def test_at_every_loss(a, factor: float, expected: str) -> None:  # type: ignore[no-untyped-def]
    table = along_training({"a": a, "b": lambda x: 1 + 0 * x}, factor=factor)
    assert verdict(SMALLER, table) == expected


def test_at_every_loss_says_at_which_it_fails() -> None:
    table = along_training({"a": lambda x: np.where(x > 1, 0.5, 2.0), "b": lambda x: 1 + 0 * x})
    failing = [float(p.where.split()[-1]) for p in result(SMALLER, table).points if p.verdict == CONTRADICTED]
    assert failing
    assert max(failing) <= 1.05
    assert {float(p.where.split()[-1]) for p in result(SMALLER, table).points} > {0.4, 4.0}


def test_differences_at_every_loss_may_be_zero() -> None:
    check = AtEveryLoss(network="a", others=["b"], column="index", compare="difference", at_most=0, losses=5)
    table = along_training({"a": lambda x: 0 * x, "b": lambda x: 0 * x}, column="index")
    assert verdict(check, table) == SUPPORTED
    higher = along_training({"a": lambda x: 0 * x + 0.3, "b": lambda x: 0 * x + 0.1}, column="index")
    assert result(check, higher).points[0].effect == pytest.approx(0.2, rel=1e-3)
    assert verdict(check, higher) == CONTRADICTED


def test_losses_that_too_few_runs_passed_are_not_compared() -> None:
    table = along_training({"a": lambda x: 0.5 + 0 * x, "b": lambda x: 1 + 0 * x})
    stopped = table[(table["network"] == "a") | (table["loss"] > 1) | (table["run"] < 2)]
    lowest = min(float(p.where.split()[-1]) for p in result(SMALLER, stopped).points)
    assert lowest > 1


@pytest.mark.parametrize(
    ("a", "factor", "expected"),
    [(lambda x: 1 / x, 1.1, SUPPORTED), (lambda x: x, 1.1, CONTRADICTED), (lambda x: 1 + 0 * x, 1.5, INCONCLUSIVE)],
)
def test_large_against_small_loss(a, factor: float, expected: str) -> None:  # type: ignore[no-untyped-def]
    table = along_training({"a": a, "b": lambda x: 5 + 0 * x})
    tilted = table["condition_number"] * table["loss"] ** (np.log(factor) * (table["run"] - 3.5))
    assert verdict(MOST_AT_LARGE, table.assign(condition_number=tilted)) == expected


@pytest.mark.parametrize(
    ("end", "factor", "expected"),
    [(1.3, 1.1, SUPPORTED), (5.0, 1.1, CONTRADICTED), (0.1, 1.1, CONTRADICTED), (1.9, 2.0, INCONCLUSIVE)],
)
def test_at_the_end(end: float, factor: float, expected: str) -> None:
    table = along_training({"a": lambda x: np.where(x < 0.41, end, 77.0), "b": lambda x: 1 + 0 * x}, factor=factor)
    assert verdict(SAME_END, table) == expected


def with_ends(table: pd.DataFrame, column: str, value: float) -> pd.DataFrame:
    """The table with thirty more runs of each network, of which it has the last epoch only."""
    last = table[(table["epoch"] == 100) & (table["run"] == 0)]
    return pd.concat([table, *(last.assign(run=100 + run, **{column: value}) for run in range(30))], ignore_index=True)


@pytest.mark.parametrize(
    "check",
    [
        AtEveryLoss(network="a", others=["b"], column="condition_number", at_most=1, losses=5),
        LargeAgainstSmallLoss(network="a", others=["b"], column="condition_number", at_most=1),
        EarlyFall(network="a", column="condition_number", within=0.01, at_least=0.1),
        FallByLoss(network="a", column="condition_number", at_least=0.1),
        PeakAtDrop(network="a", peak="gradient_norm", drop="condition_number", at_most=2),
    ],
    ids=lambda check: check.name,
)
def test_runs_without_the_whole_training_do_not_enter_checks_along_it(check: Check) -> None:
    table = along_training({"a": lambda x: x**1.5, "b": lambda x: 2 * x}, factor=1.1)
    alone, beside = (result(check, each).points for each in (table, with_ends(table, "condition_number", 1e6)))
    assert [(point.effect, point.ends, point.n) for point in beside] == [
        (point.effect, point.ends, point.n) for point in alone
    ]


def test_the_end_is_measured_on_all_runs_also_those_without_the_whole_training() -> None:
    table = along_training({"a": lambda x: 1 + 0 * x, "b": lambda x: 1 + 0 * x})
    (point,) = result(SAME_END, with_ends(table, "condition_number", 7.0)).points
    assert point.n == 30 + table["run"].nunique()
    only_a = with_ends(table[table["network"] == "a"], "condition_number", 7.0)
    (point,) = result(SAME_END, pd.concat([only_a, table[table["network"] == "b"]], ignore_index=True)).points
    assert point.effect == pytest.approx(7, rel=0.02)


def test_an_unknown_value_at_the_end_is_taken_for_the_least_and_for_the_largest() -> None:
    table = along_training({"a": lambda x: 1 + 0 * x, "b": lambda x: 1 + 0 * x}, factor=1.1)
    ends = with_ends(table, "condition_number", 1.0)
    for few, expected in ((1, SUPPORTED), (9, SUPPORTED), (25, INCONCLUSIVE)):
        lost = (ends["network"] == "a") & (ends["run"] >= 130 - few)
        unknown = ends.assign(resolved=~lost, condition_number=ends["condition_number"].mask(lost))
        assert verdict(SAME_END, unknown) == expected
        (point,) = result(SAME_END, unknown).points
        for value in (1e-9, 1e9):
            (known,) = result(SAME_END, ends.assign(condition_number=ends["condition_number"].mask(lost, value))).points
            assert point.choices[0].own[0] <= known.choices[0].own[0]
            assert known.choices[0].own[1] <= point.choices[0].own[1]


def falling(early: float, late: float) -> pd.DataFrame:
    """An index that falls by ``early`` up to epoch 1 and by ``late`` after it."""
    return along_training(
        {"a": lambda x: 0.5 - np.where(np.arange(len(x)) > 0, early, 0) - np.where(np.arange(len(x)) > 1, late, 0)},
        column="index",
    )


def test_early_fall() -> None:
    far = EarlyFall(network="a", column="index", within=0.01, at_least=0.1)
    assert verdict(far, falling(0.2, 0.1)) == SUPPORTED
    assert verdict(far, falling(0.02, 0.3)) == CONTRADICTED
    assert result(far, falling(0.2, 0.1)).points[0].effect == pytest.approx(0.2, rel=0.02)
    early = EarlyFall(network="a", column="index", within=0.01, of_whole=True, at_least=0.5)
    assert verdict(early, falling(0.02, 0.01)) == SUPPORTED
    assert verdict(early, falling(0.02, 0.3)) == CONTRADICTED
    assert result(early, falling(0.2, 0.2)).points[0].effect == pytest.approx(0.5)
    mixed = pd.concat([falling(0.3, 0.1), falling(0.0, 0.4).assign(run=lambda t: t["run"] + 100)])
    assert verdict(early, mixed) == INCONCLUSIVE


def test_an_index_that_never_falls_is_no_evidence_of_when() -> None:
    early = EarlyFall(network="a", column="index", within=0.01, of_whole=True, at_least=0.5)
    found = result(early, falling(0.0, 0.0))
    assert found.points == []
    assert mentions(found.missing[0], "epoch 1", 0, 3)


def test_fall_by_loss() -> None:
    """An index of loss / 8 falls evenly in the loss: half of its fall in the first half of the loss's fall."""
    even = along_training({"a": lambda loss: loss / 8}, column="index", factor=1.0)
    far = FallByLoss(network="a", column="index", within=0.5, at_least=0.2)
    assert result(far, even).points[0].effect == pytest.approx((4 - 0.4) / 2 / 8)
    assert verdict(far, even) == SUPPORTED
    assert verdict(FallByLoss(network="a", column="index", within=0.1, at_least=0.2), even) == CONTRADICTED
    share = FallByLoss(network="a", column="index", within=0.25, of_whole=True, at_least=0.3)
    assert result(share, even).points[0].effect == pytest.approx(0.25)
    late = along_training({"a": lambda loss: np.where(loss > 1, 0.5, 0.3)}, column="index")
    assert verdict(far, late) == CONTRADICTED
    level = result(share, along_training({"a": lambda loss: 0 * loss + 0.5}, column="index"))
    # An index that never falls is no evidence of when.
    assert level.points == []


def peaking(peak: int, drop: int) -> pd.DataFrame:
    """The gradient peaks at an epoch, the index falls just after another; epochs are 0, 1, 2, 3, 5, 10, 30, 100."""
    table = along_training({"a": lambda x: 0 * x}, column="index")
    return table.assign(
        index=np.where(table["epoch"] > drop, 0.2, 0.5), gradient_norm=np.where(table["epoch"] == peak, 9.0, 1.0)
    )


@pytest.mark.parametrize(("peak", "drop", "distance"), [(2, 2, 0), (3, 2, 0), (5, 2, 2), (10, 2, 7), (0, 10, 10)])
def test_peak_at_drop(peak: int, drop: int, distance: int) -> None:
    check = PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2)
    found = result(check, peaking(peak, drop))
    assert found.points[0].effect == distance
    assert found.verdict == (SUPPORTED if distance <= 2 else CONTRADICTED)
    odd_one = peaking(30, 0).query("run == 0").assign(run=100)
    both = pd.concat([peaking(peak, drop), odd_one])
    assert verdict(check, both) == (INCONCLUSIVE if distance <= 2 else CONTRADICTED)


FINE = {"a": lambda _, rate: 0.001 / rate, "b": lambda depth, rate: 0.02 * depth * rate}


@pytest.mark.parametrize(
    ("at_most", "factor", "expected"), [(0.01, 1.1, SUPPORTED), (0.0005, 1.1, CONTRADICTED), (0.001, 3.0, INCONCLUSIVE)]
)
def test_final_excess_at_the_best_rate(at_most: float, factor: float, expected: str) -> None:
    check = FinalExcess(networks=["a"], at_most=at_most)
    assert verdict(check, sweep(FINE, factor=factor)) == expected
    assert result(check, sweep(FINE)).points[0].effect == pytest.approx(0.001, rel=1e-3)


def test_final_loss_ratio() -> None:
    check = FinalLossRatio(network="a", others=["b"], depths="last", at_least=2)
    found = result(check, sweep(FINE))
    assert [p.where for p in found.points] == ["b, depth 16"]
    assert found.points[0].effect == pytest.approx(0.02 * 16 * 0.01 / 0.001, rel=1e-3)
    assert found.verdict == SUPPORTED
    swapped = sweep({"a": FINE["b"], "b": FINE["a"]})
    assert verdict(check, swapped) == CONTRADICTED
    assert verdict(check, sweep(FINE, factor=20)) == INCONCLUSIVE
    whole = FinalLossRatio(network="a", others=["b"], depths="last", excess=False, at_most=1.1)
    point = result(whole, sweep(FINE)).points[0]
    # Within a factor of 1.1 of the least are the losses of a at all three rates and those of b at the first two.
    # At the smallest rates.
    assert point.effect == pytest.approx(1.0032 / 1.1, rel=1e-3)
    # Of all pairs.
    assert point.ends == pytest.approx((1.0032 / 1.1, 1.032 / 1.001), rel=3e-3)


def test_final_loss_pairs() -> None:
    check = FinalLossPairs(network="a", others=["b"], factor=2, depths="last", at_least=0.5)
    found = result(check, sweep(FINE))
    assert [p.where for p in found.points] == ["b, depth 16"]
    assert (found.verdict, found.points[0].effect) == (SUPPORTED, 1.0)
    # All of eight: a closed form.
    assert found.points[0].ends == pytest.approx((0.025 ** (1 / 8), 1))
    swapped = sweep({"a": FINE["b"], "b": FINE["a"]})
    assert verdict(check, swapped) == CONTRADICTED


@pytest.mark.parametrize(
    ("a", "b", "hits"),
    [
        # Of eight runs. Two far-off ones of a cost one pair in four.
        ([1.0, 1.0, 1.0, 1e6], [20.0, 20.0, 20.0, 20.0], 6.0),
        # Ten times further counts, less does not.
        ([1.0, 1.0, 1.0, 1.0], [10.0, 9.9, 20.0, 5.0], 4.0),
        ([1.0, 2.0, 4.0, 8.0], [5.0, 10.0, 20.0, 40.0], 3.0),
        # Half a pair is left: the ends are those of the whole numbers beyond.
        ([1.0, 1.0, 1.0, 4.0], [5.0, 5.0, 5.0, 10.0], 1.5),
        # Two diverged runs, or two at zero, are a pair of equals.
        ([np.inf, 1.0, 1.0, 1.0], [np.inf, 10.0, 10.0, 10.0], 6.0),
        ([0.0, 0.0, 1.0, 1.0], [0.0, 10.0, 10.0, 10.0], 6.0),
    ],
)
def test_a_share_of_pairs_is_that_of_every_run_with_every_other(a: list[float], b: list[float], hits: float) -> None:
    # At the other rates every run diverges.
    finals = {name: lambda _, rate: 1.0 if rate == 0.1 else np.inf for name in "ab"}
    table = sweep(finals, depths=(4,), beyond=False)
    for name, losses in (("a", a), ("b", b)):
        table.loc[(table["network"] == name) & (table["learning_rate"] == 0.1), "excess_loss"] = losses * 2
    (point,) = result(FinalLossPairs(network="a", others=["b"], factor=10, at_least=0.5), table).points
    assert point.effect == hits / 8
    low, high = share_interval(((floor(hits), 8),), 0.95)[0], share_interval(((ceil(hits), 8),), 0.95)[1]
    assert point.ends == (0.0 if np.inf in a + b else low, high)


def test_end_ratio_is_of_means_at_the_last_step_and_the_best_rate_tried() -> None:
    def ends(good: float, bad: float, factor: float = 1.01) -> pd.DataFrame:
        finals = {"a": lambda _, rate: good * (1 if rate == 0.1 else 3), "b": lambda _, rate: bad / rate}
        last = sweep(finals, rates=(0.1, 1.0), beyond=False, factor=factor).assign(error=lambda t: t["excess_loss"])
        return pd.concat([last.assign(step=0, error=90.0), last.assign(step=100)], ignore_index=True)

    check = EndRatio(network="b", other="a", column="error", depths=[16], at_least=2)
    (point,) = result(check, ends(6, 15)).points
    assert (point.where, point.n) == ("depth 16", RUNS)
    # Network b ends at 1.0, the end of the grid, where it still falls.
    assert point.effect == pytest.approx(2.5, rel=1e-3)
    assert verdict(check, ends(6, 15)) == SUPPORTED
    assert verdict(check, ends(15, 6)) == CONTRADICTED
    assert verdict(check, ends(6, 13, factor=2)) == INCONCLUSIVE
    every = EndRatio(network="b", other="a", column="error", at_least=2)
    assert [p.where for p in result(every, ends(6, 15)).points] == ["depth 4", "depth 16"]
    diverged = ends(6, 15)
    diverged.loc[(diverged["network"] == "b") & (diverged["step"] == 100), "error"] = np.inf
    assert verdict(check, diverged) == INCONCLUSIVE


def test_final_loss_across_depths() -> None:
    check = FinalLossAcrossDepths(network="a", at_most=1.1)
    table = sweep({"a": lambda depth, rate: {4: 1.0, 8: 0.9, 16: 3.0}[depth] / rate}, depths=(4, 8, 16))
    found = result(check, table)
    assert [(p.where, p.verdict) for p in found.points] == [
        ("depth 8 over 4", SUPPORTED), ("depth 16 over 8", CONTRADICTED)
    ]  # fmt: skip
    assert found.points[1].effect == pytest.approx(4 / 1.9, rel=1e-3)


def test_best_rate_ratio_and_kept() -> None:
    higher = BestRateRatio(network="a", others=["b"], from_depth=5, at_least=1.7)
    found = result(higher, sweep(FINE))
    assert [(p.where, p.effect) for p in found.points] == [("b, depth 16", pytest.approx(100))]
    assert found.verdict == SUPPORTED
    assert verdict(higher, sweep({"a": FINE["b"], "b": FINE["a"]})) == CONTRADICTED
    undecided = sweep({"a": lambda *_: 0.1, "b": FINE["b"]})
    lowest = (undecided["network"] == "a") & (undecided["learning_rate"] == 0.01)
    assert verdict(higher, with_excess(undecided, lowest, 0.2 * (undecided["run"] % 2))) == INCONCLUSIVE
    kept = BestRateKept(network="a", at_least=0.33)
    assert verdict(kept, sweep(FINE)) == SUPPORTED
    lost = sweep({"a": lambda depth, rate: abs(np.log(rate * depth / 4)) + 0.01})
    assert verdict(kept, lost) == CONTRADICTED


def test_a_rate_with_a_diverged_run_is_neither_shown_nor_tied() -> None:
    table = sweep(FINE)
    diverged = (table["network"] == "a") & (table["learning_rate"] == 1.0) & (table["run"] == 0)
    point = result(FinalExcess(networks=["a"], at_most=1), with_excess(table, diverged, np.inf)).points[0]
    # The best of the others.
    assert point.effect == pytest.approx(0.01, rel=1e-3)
    # It is worse, however the other runs end.
    assert 0.001 < point.ends[0] < 0.01 < point.ends[1]


def test_spread_over_rates() -> None:
    check = SpreadOverRates(networks=["a", "b"], depth=16, at_most=1.05)

    def of(level: float, b: Callable[[int, float], float], factor: float = 1.01) -> str:
        return verdict(check, sweep({"a": lambda *_: level, "b": b}, factor=factor, beyond=False))

    assert of(0.01, lambda *_: 0.02) == SUPPORTED
    assert of(0.01, lambda _, rate: rate) == CONTRADICTED
    assert of(0.04, lambda *_: 0.05, factor=4) == INCONCLUSIVE


def test_spread_over_rates_looks_at_no_larger_ones_than_asked_for() -> None:
    table = sweep({"a": lambda *_: 0.01, "b": lambda _, rate: 0.02 if rate < 1 else 5.0}, beyond=False)
    table = with_excess(table, (table["learning_rate"] == 1.0) & (table["run"] == 0), np.inf)

    def spread_up_to(largest: float | None) -> CheckResult:
        return result(SpreadOverRates(networks=["a", "b"], depth=16, rates_up_to=largest, at_most=1.05), table)

    assert spread_up_to(0.1).verdict == SUPPORTED
    assert spread_up_to(0.1).points[0].effect == pytest.approx(1.02 / 1.01, rel=1e-3)
    for reaching in (1.0, 3.2, None):
        found = spread_up_to(reaching)
        assert found.verdict == CONTRADICTED
        # Of the runs that stay finite.
        assert found.points[0].effect == pytest.approx(6 / 1.01, rel=1e-2)
        assert found.points[0].choices[0].own[1] == np.inf
        assert mentions(found.left_out[-1], 2, 16)
    none = spread_up_to(0.001)
    assert none.points == []
    assert none.missing == [f"{name}, depth 16: 0 runs, 3 are needed" for name in "ab"]


def test_the_share_of_diverging_runs_is_that_of_each_rate() -> None:
    table = sweep({"a": lambda *_: 0.01, "b": lambda *_: 0.02}, beyond=False)
    lost = (table["network"] == "b") & (table["learning_rate"] == 1.0)
    check = ShareDiverged(networks=["a", "b"], depth=16, rates_up_to=1.0, at_most=0.4)
    rates = sorted(rate for rate in table["learning_rate"].unique() if rate <= 1)
    for runs, expected in ((0, SUPPORTED), (3, INCONCLUSIVE), (RUNS, CONTRADICTED)):
        found = result(check, with_excess(table, lost & (table["run"] < runs), np.inf))
        assert found.verdict == expected
        at = {point.where: (point.effect, point.choices[0].own) for point in found.points}
        assert len(at) == 2 * len(rates)
        assert at["b, rate 1"] == (runs / RUNS, share_interval(((runs, RUNS),), 0.95))
        assert at["a, rate 1"][0] == 0


def curves(ratio: float, factor: float) -> pd.DataFrame:
    rows = [
        (name, depth, run, epoch, excess)
        for name, level in (("a", ratio), ("b", 1.0))
        for depth in (4, 16)
        for epoch in (0, 1, 10, 100)
        for run, excess in enumerate(apart(spread(level / (1 + epoch), factor), name))
    ]
    return pd.DataFrame(rows, columns=["network", "depth", "run", "epoch", "excess_loss"])


@pytest.mark.parametrize(
    ("ratio", "factor", "expected"), [(3, 1.2, SUPPORTED), (30, 1.2, CONTRADICTED), (9, 3.0, INCONCLUSIVE)]
)
def test_curve_ratio(ratio: float, factor: float, expected: str) -> None:
    check = CurveRatio(network="a", other="b", epochs=[0.01, 0.1, 1.0], within_factor=10)
    assert verdict(check, curves(ratio, factor)) == expected
    assert result(check, curves(3, 1.01)).points[0].effect == pytest.approx(3, rel=1e-3)
    assert len(result(check, curves(3, 1.01)).points) == 6


@pytest.mark.parametrize(
    ("network", "bound", "expected"),
    [
        ("b", {"at_least": 10}, INCONCLUSIVE),  # its loss may be as large as you like
        ("b", {"at_most": 10}, INCONCLUSIVE),
        ("a", {"at_least": 10}, SUPPORTED),
        ("a", {"at_most": 10}, CONTRADICTED),
    ],
)
def test_curves_of_which_a_run_diverges_bound_the_loss(network: str, bound: dict[str, float], expected: str) -> None:
    """As they do at the end of the training: a mean that is infinite would decide."""
    table = curves(30, 1.01)
    table.loc[(table["network"] == network) & (table["run"] == 0) & (table["epoch"] > 0), "excess_loss"] = np.inf
    assert verdict(CurveRatio(network="a", other="b", epochs=[1.0], **bound), table) == expected


def test_a_table_with_epochs_is_read_at_its_last_one_and_its_curves_at_the_best_rate() -> None:
    both = {"a": lambda _, rate: 0.001 / rate, "b": lambda _, rate: 0.002 / rate}
    last = sweep(both).rename(columns={"final_loss": "loss"}).assign(epoch=100)
    curve = last[last["learning_rate"] == 1.0].assign(epoch=0, loss=9.0)
    table = pd.concat([last, curve])
    table = table.assign(excess_loss=table["loss"] - 1, shown=table["learning_rate"] == 1.0)
    ratio = FinalLossRatio(network="a", others=["b"], at_least=1)
    assert [p.effect for p in result(ratio, table).points] == [pytest.approx(2, rel=1e-3)] * 2
    curves_ = CurveRatio(network="b", other="a", epochs=[0.0, 1.0], within_factor=3)
    assert [p.effect for p in result(curves_, table).points] == [pytest.approx(e, rel=1e-3) for e in (1, 1, 2, 2)]


def measurements(error: float, value: float = 1.0) -> pd.DataFrame:
    rows = [("eq. 8", draw, 1e-16, 1e-15, 2.0) for draw in range(4)]
    rows += [("eq. 9", draw, error if draw == 2 else 0.0, 1e-15, value if draw == 1 else 2.0) for draw in range(4)]
    return pd.DataFrame(rows, columns=["property", "draw", "error", "tolerance", "value"])


def test_identities_hold() -> None:
    check = IdentitiesHold(properties=["eq. 8", "eq. 9"], at_most=1)
    found = result(check, measurements(5e-16))
    assert found.verdict == SUPPORTED
    assert found.exact
    assert [(p.effect, p.n) for p in found.points] == [(pytest.approx(0.1), 4), (pytest.approx(0.5), 4)]
    # One draw that fails is enough.
    assert verdict(check, measurements(1e-14)) == CONTRADICTED
    assert verdict(IdentitiesHold(properties=["eq. 10"], at_most=1), measurements(0)) == INCONCLUSIVE


def test_magnitude() -> None:
    check = Magnitude(properties=["eq. 9"], at_least=0.5)
    assert verdict(check, measurements(0, value=1.0)) == SUPPORTED
    assert verdict(check, measurements(0, value=0.1)) == CONTRADICTED
    assert result(Magnitude(properties=["eq. 9"], at_most=3), measurements(0, 2.5)).points[0].effect == 2.5
    negative = Magnitude(properties=["eq. 9"], absolute=True, at_least=0.5)
    assert verdict(negative, measurements(0, value=-1.0)) == SUPPORTED
    assert verdict(negative, measurements(0, value=-0.1)) == CONTRADICTED
    # A value that overflowed is not known.
    assert verdict(check, measurements(0, value=np.inf)) == INCONCLUSIVE


def outcomes(shares: dict[int, float], runs: int = 5000) -> pd.DataFrame:
    """Like Table 1 of "Importance of Shortcut Connections": successes by number of patches, and published shares."""
    rows = [("a", k, runs, round(share * runs), 0.5, runs) for k, share in shares.items()]
    return pd.DataFrame(rows, columns=["network", "patches", "runs", "successes", "published", "published_runs"])


def test_share_of_runs() -> None:
    table = outcomes({16: 0.7, 100: 0.9})
    often = ShareOfRuns(networks=["a"], column="successes", by="patches", at_least=0.6)
    assert verdict(often, table) == SUPPORTED
    assert verdict(often, outcomes({16: 0.5, 100: 0.9})) == CONTRADICTED
    assert verdict(often, outcomes({16: 0.605, 100: 0.9})) == INCONCLUSIVE
    always = outcomes({16: 1.0})
    (point,) = result(ShareOfRuns(networks=["a"], column="successes", by="patches", at_least=0.999), always).points
    # All of n: a closed form.
    assert point.ends == pytest.approx((0.025 ** (1 / 5000), 1))
    near = ShareOfRuns(networks=["a"], column="successes", by="patches", differ_from="published", at_least=-0.05,
                       at_most=0.05)  # fmt: skip
    assert verdict(near, outcomes({16: 0.5, 100: 0.51})) == SUPPORTED
    assert verdict(near, outcomes({16: 0.5, 100: 0.6})) == CONTRADICTED
    few = result(often, outcomes({16: 0.7, 100: 0.9}, runs=2))
    assert few.points == []


def test_share_change() -> None:
    rises = ShareChange(networks=["a"], column="successes", by="patches", at_least=0)
    found = result(rises, outcomes({100: 0.9, 16: 0.7, 36: 0.2}))
    assert [(point.where, point.effect) for point in found.points] == [
        ("a, patches 100 against 16", pytest.approx(0.2))
    ]
    assert found.verdict == SUPPORTED
    assert verdict(rises, outcomes({16: 0.7, 100: 0.6})) == CONTRADICTED
    assert verdict(rises, outcomes({16: 0.7, 100: 0.705})) == INCONCLUSIVE


def at_rates(runs: dict[float, np.ndarray]) -> pd.DataFrame:
    """One value of each run, by learning rate."""
    return pd.concat(
        [pd.DataFrame({"learning_rate": rate, "run": range(len(x)), "steps": x}) for rate, x in runs.items()],
        ignore_index=True,
    )


def test_median_of_runs() -> None:
    check = MedianOfRuns(column="steps", per=["learning_rate"], at_most=100)
    values = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 1e9])
    found = result(check, at_rates({0.1: apart(values)}))
    (point,) = found.points
    # Of ten, the second least and the second largest; one far-off run moves nothing.
    assert (point.where, point.effect, point.choices[0].own, point.n) == ("learning rate 0.1", 55, (20, 90), 10)
    assert found.verdict == SUPPORTED
    assert verdict(check, at_rates({0.1: values, 0.2: values + 100})) == CONTRADICTED
    assert verdict(check, at_rates({0.1: 2 * values})) == INCONCLUSIVE
    assert verdict(check, at_rates({0.1: np.where(values > 80, np.inf, values)})) == INCONCLUSIVE
    assert verdict(check, at_rates({0.1: np.where(values > 10, np.inf, values)})) == CONTRADICTED
    negative = result(MedianOfRuns(column="steps", per=["learning_rate"], at_most=0), at_rates({0.1: values - 1000}))
    assert (negative.verdict, negative.scale) == (SUPPORTED, "linear")


def test_a_median_needs_six_runs_and_says_so() -> None:
    check = MedianOfRuns(column="steps", per=["learning_rate"], at_most=100)
    assert verdict(check, at_rates({0.1: np.full(6, 1.0)})) == SUPPORTED
    few = result(check, at_rates({0.1: np.full(5, 1.0)}))
    assert (few.verdict, few.points) == (INCONCLUSIVE, [])
    assert mentions(few.missing[0], "learning rate 0.1", 5, 6)
    # Under the shared level of twenty places six runs bound nothing, so that none of them contradicts.
    many = {0.1 * k: np.full(6, 1000.0) for k in range(1, 21)}
    assert verdict(check, at_rates(many)) == INCONCLUSIVE
    assert verdict(check, at_rates({0.1: np.full(6, 1000.0)})) == CONTRADICTED


def test_a_bound_that_differs_by_group() -> None:
    runs = {0.02: spread(100, 1.01), 0.05: spread(40, 1.01), 0.1: spread(1, 1.01)}
    for statistic in ("mean", "median"):
        check = AgainstBounds(
            column="steps", by="learning_rate", bounds={0.02: 90, 0.05: 36}, statistic=statistic, at_least=1
        )  # type: ignore[arg-type]
        found = result(check, at_rates(runs))
        assert [(point.where, point.effect) for point in found.points] == [
            ("learning rate 0.02", pytest.approx(100 / 90, rel=1e-3)),
            ("learning rate 0.05", pytest.approx(40 / 36, rel=1e-3)),
        ]
        assert found.verdict == SUPPORTED
        assert verdict(check, at_rates(runs | {0.05: spread(30, 1.01)})) == CONTRADICTED
        assert verdict(check, at_rates(runs | {0.05: spread(36, 1.01)})) == INCONCLUSIVE
    # A group that is not there leaves the claim open, and is named.
    lost = result(check, at_rates({0.02: runs[0.02]}))
    assert lost.verdict == INCONCLUSIVE
    assert mentions(sentence(lost), "learning rate 0.05")
    further = check.model_copy(update={"per": ["part"]})
    parts = pd.concat([at_rates(runs).assign(part=part) for part in "xy"])
    assert [point.where for point in result(further, parts).points][:2] == [
        "learning rate 0.02, part x", "learning rate 0.02, part y"
    ]  # fmt: skip


def along_steps(*runs: list[float]) -> pd.DataFrame:
    """Runs, each with its values at steps from 0 on."""
    return pd.concat(
        [pd.DataFrame({"network": "a", "run": run, "step": range(len(x)), "x": x}) for run, x in enumerate(runs)],
        ignore_index=True,
    )


@pytest.mark.parametrize(
    ("asked", "shares"),
    [
        ({"above": 2}, [3 / 6, 2 / 6]),
        ({"below": 2}, [2 / 6, 3 / 6]),
        ({"above": 1, "below": 3}, [1 / 6, 2 / 6]),
        ({"change": True, "above": 0}, [4 / 5, 2 / 5]),
        ({"change": True, "below": 0}, [1 / 5, 3 / 5]),
        ({"change": True, "above": 1}, [0, 1 / 5]),
        # Steps 3, 4 and 5, then steps 0, 1 and 2.
        ({"above": 2, "after": 0.6}, [3 / 3, 0]),
        ({"above": 2, "within": 0.4}, [0, 2 / 3]),
        ({"above": 0.5, "until": 3}, [2 / 3, 1 / 2]),
        # Means of two steps: 0.5, 2.5, 3.5 and 1.5, 2.5, 0.5.
        ({"above": 2, "span": 1 / 3}, [2 / 3, 1 / 3]),
        ({"change": True, "above": 0, "span": 1 / 3}, [2 / 2, 1 / 2]),
    ],
)
def test_share_of_steps(asked: dict[str, float], shares: list[float]) -> None:
    one, other = [0.0, 1.0, 2.0, 3.0, 4.0, 3.0], [0.5, 2.5, 3.0, 2.0, 1.0, 0.0]
    for run, share in ((one, shares[0]), (other, shares[1])):
        check = ShareOfSteps(column="x", by="step", per=["network"], at_least=0, **asked)  # type: ignore[arg-type]
        table = along_steps(run, run, run)
        (point,) = result(check, table.sample(frac=1, random_state=1)).points
        assert (point.where, point.effect, point.n) == ("network a", pytest.approx(share), 3)


def test_rows_are_selected_by_a_number_as_by_its_text() -> None:
    given = {"column": "loss", "per": ["network"], "at_most": 1}
    by_number, by_text = (MeanOfRuns.model_validate(given | {"rows": {"depth": depth}}) for depth in (96, "96"))
    assert by_number == by_text
    with pytest.raises(ValidationError):
        MeanOfRuns.model_validate(given | {"rows": {"depth": [96]}})


def test_a_share_of_steps_is_judged_as_a_mean_of_runs() -> None:
    check = ShareOfSteps(column="x", by="step", above=0, per=["network"], at_least=0.5)
    runs = [[float(step < share) for step in range(100)] for share in (60, 70, 80, 90)]
    (point,) = result(check, along_steps(*runs)).points
    mean = result(MeanOfRuns(column="share", per=["network"], at_least=0.5),
                  pd.DataFrame({"network": "a", "run": range(4), "share": [0.6, 0.7, 0.8, 0.9]}))  # fmt: skip
    assert point.effect == pytest.approx(mean.points[0].effect)
    low, high = stats.t.interval(0.95, 3, 0.75, stats.sem([0.6, 0.7, 0.8, 0.9]))
    assert point.choices[0].own == pytest.approx((low, high))
    assert verdict(check, along_steps(*runs)) == SUPPORTED
    assert verdict(check.model_copy(update={"at_least": 0.97}), along_steps(*runs)) == CONTRADICTED
    assert verdict(check.model_copy(update={"at_least": 0.75}), along_steps(*runs)) == INCONCLUSIVE
    # A share is at most 1.
    wide = along_steps([1.0] * 9, [1.0] * 9, [1.0] * 3 + [0.0] * 6)
    assert result(check, wide).points[0].choices[0].own[1] == 1


def test_diverged_steps_are_above_every_bound_and_have_no_change() -> None:
    runs = [[1.0, 2.0, np.inf, np.inf]] * 3
    high = ShareOfSteps(column="x", by="step", above=1.5, per=["network"], at_least=0)
    assert result(high, along_steps(*runs)).points[0].effect == 0.75
    assert result(high.model_copy(update={"above": None, "below": 1.5}), along_steps(*runs)).points[0].effect == 0.25
    # A run that diverges never rises again, which is no evidence that it falls.
    rarely = ShareOfSteps(column="x", by="step", change=True, above=0, per=["network"], at_most=0.9)
    assert verdict(rarely, along_steps([3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0])) == SUPPORTED
    found = result(rarely, along_steps([3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 1.0, 0.0], *runs[:1]))
    assert (found.verdict, found.points, len(found.missing)) == (INCONCLUSIVE, [], 1)


def test_runs_without_the_first_step_or_with_no_step_left_do_not_count() -> None:
    runs = [[0.0, 1.0, 2.0, 3.0]] * 3
    rises = ShareOfSteps(column="x", by="step", change=True, above=0, until=9, per=["network"], at_least=0.5)
    monotone = MonotoneRuns(column="x", by="step", direction="rises", per=["network"], at_least=0.1)
    at_the_end = pd.DataFrame({"network": "a", "run": range(10, 20), "step": 3, "x": 0.0})
    begins_beyond = along_steps(*runs, [9.0, 0.0, 9.0, 0.0])
    for check in (rises, monotone):
        found = result(check, pd.concat([along_steps(*runs), at_the_end], ignore_index=True))
        assert [(point.effect, point.n) for point in found.points] == [(1, 3)]
    assert [(point.effect, point.n) for point in result(rises, begins_beyond).points] == [(1, 3)]
    few = result(rises, begins_beyond, runs=4)
    assert mentions(few.missing[0], "network a", 3, 4)


@pytest.mark.parametrize(
    ("run", "rises", "falls"),
    [
        ([0.0, 1.0, 2.0], True, False),
        ([2.0, 1.0, -1.0], False, True),
        ([1.0, 1.0, 1.0], True, True),
        ([0.0, 2.0, 1.0], False, False),
        ([1.0, 2.0, np.inf, np.inf], None, False),
        ([2.0, 1.0, np.inf, 3.0], False, False),
    ],
)
def test_monotone_runs(run: list[float], rises: bool | None, falls: bool) -> None:
    table = along_steps(*[run] * 10).sample(frac=1, random_state=1)
    for direction, holds in (("rises", rises), ("falls", falls)):
        check = MonotoneRuns(column="x", by="step", direction=direction, per=["network"], at_least=0.5)  # type: ignore[arg-type]
        points = [(point.effect, point.choices[0].own) for point in result(check, table).points]
        assert points == ([] if holds is None else [(holds, share_interval(((10 * holds, 10),), 0.95))])
        assert verdict(check, table) == {True: SUPPORTED, False: CONTRADICTED, None: INCONCLUSIVE}[holds]


def test_a_run_is_monotone_within_a_share_of_its_range_however_many_steps_lead_back() -> None:
    back_by_one = [[0.0, 10.0, 9.0, 20.0], [0.0, 10.0, 9.75, 9.5, 9.25, 9.0, 20.0]]
    for run in back_by_one:
        for tolerance, holds in ((0.04, False), (0.05, True)):
            for sign, direction in ((1, "rises"), (-1, "falls")):
                check = MonotoneRuns(column="x", by="step", direction=direction, tolerance=tolerance, per=["network"],
                                     at_least=0.5)  # type: ignore[arg-type]  # fmt: skip
                (point,) = result(check, along_steps(*[[sign * x for x in run]] * 3)).points
                assert point.effect == holds
    assert verdict(check, along_steps(*[[-x for x in back_by_one[0]]] * 3)) == INCONCLUSIVE


@pytest.mark.parametrize(
    "check",
    [
        ShareOfSteps(column="x", by="step", above=0, per=["network"], at_least=0.1),
        MonotoneRuns(column="x", by="step", direction="rises", per=["network"], at_least=0.1),
    ],
    ids=lambda check: check.name,
)
def test_steps_that_are_unknown_or_there_twice_are_no_evidence(check: Check) -> None:
    table = along_steps(*[[1.0, 2.0, 3.0]] * 4)
    assert verdict(check, table) == SUPPORTED
    value = table.rename(columns={"x": "value"}).assign(error=0.0, tolerance=1.0)
    value.loc[1, "error"] = 2.0
    found = result(check.model_copy(update={"column": "value"}), value)
    assert (found.verdict, found.points) == (INCONCLUSIVE, [])
    assert mentions(found.missing[0], "network a", "unknown", "value")
    with refused(CheckError, "network a", "step"):
        verdict(check, pd.concat([table.assign(part=part) for part in "xy"], ignore_index=True))
    with refused(TableError, "x", "no value", 3):
        verdict(check, table.assign(x=table["x"].mask(table.index == 1)))


@pytest.mark.parametrize(
    ("check", "given"),
    [
        ("share_of_steps", {}),
        ("share_of_steps", {"above": 0, "by": "depth"}),
        ("share_of_steps", {"above": 0, "after": 2}),
        ("share_of_steps", {"above": 0, "per": []}),
        ("monotone_runs", {"direction": "rises", "by": "depth"}),
        ("monotone_runs", {"direction": "up"}),
        ("median_of_runs", {"per": []}),
        ("mean_of_runs", {"per": []}),
        ("against_bounds", {"by": "rate", "bounds": {}}),
        ("against_bounds", {"by": "rate", "bounds": {0.1: 0}}),
        ("against_bounds", {"by": "rate", "bounds": {0.1: 2}, "statistic": "mode"}),
    ],
)
def test_settings_that_make_no_sense_are_refused(check: str, given: dict[str, object]) -> None:
    entry = {"check": check, "column": "x", "per": ["network"], "at_least": 1} | given
    texts = dict.fromkeys(("statement", "where", "interpretation", "reason", "evidence"), "text")
    with refused(ConfigError, "checks.it"):
        read_claim("coins", "id", texts | {"kind": "empirical", "checks": {"it": entry}})


def test_every_general_check_is_tested_by_made_tables() -> None:
    kinds = [kind for kind in checks_by_name().values() if kind.__module__.startswith("resaudit.claims.")]
    assert kinds
    files = (Path(__file__), Path(__file__).with_name("test_common_rate.py"))
    tests = "".join(file.read_text(encoding="utf-8") for file in files)
    assert [kind for kind in kinds if f"{kind.__name__}(" not in tests] == []


@pytest.mark.parametrize("paired", [False, True])
def test_two_groups_of_runs_have_the_intervals_of_scipy(paired: bool) -> None:
    """Student's paired t and Welch's, of a difference; of a ratio the jackknife's is near those of the logarithms."""
    ours, base = np.random.default_rng(5).normal([[1.0], [2.0]], 0.05, (2, 9))
    table = pd.DataFrame({"method": ["ours"] * 9 + ["base"] * 9, "run": [*range(9)] * 2, "error": [*ours, *base]})
    groups = {"column": "error", "by": "method", "above": "ours", "below": "base", "paired": paired}
    tests = {False: partial(stats.ttest_ind, equal_var=False), True: stats.ttest_rel}
    for check, expected, near in (
        (DifferenceOfMeans(**groups, at_most=0), tests[paired](ours, base).confidence_interval(0.95), 1e-9),
        (
            RatioOfMeans(**groups, at_most=1),
            np.exp(tests[paired](np.log(ours), np.log(base)).confidence_interval()),
            3e-3,
        ),
    ):
        found = result(check, table)
        assert found.points[0].ends == pytest.approx(tuple(expected), rel=near)
        assert found.verdict == SUPPORTED
    with refused(CheckError, "ours against base", 8):
        result(DifferenceOfMeans(**groups | {"paired": True}, at_most=0), table.iloc[:-1])


def test_means_and_zeros_of_exponents_are_those_of_made_tables() -> None:
    grid = [(a, depth, run) for a in (0.25, 0.75) for depth in (10, 100) for run in (0, 1)]
    table = pd.DataFrame(grid, columns=["power", "depth", "run"]).assign(inputs="x")
    table["growth"] = table["depth"] ** (2 * (0.6 - table["power"])) * (1 + table["run"])
    zero = ZeroOfExponent(
        column="growth", by="depth", against="power", first=0.25, last=0.75, per=["inputs"], at_most=0.7
    ).measure(table, 2)
    assert [round(point.shown.value, 9) for point in zero.points] == [0.6]
    mean = MeanOfRuns(column="growth", per=["power", "depth"], at_least=0).measure(table, 2)
    assert mean.points[0].shown.value == pytest.approx(1.5 * 10**0.7)
    assert not MeanOfRuns(column="growth", per=["power", "depth"], at_least=0).measure(table, 3).points
    with refused(CheckError, "power 0.25, depth 10", "run"):
        MeanOfRuns(column="growth", per=["power", "depth"], at_least=0).measure(pd.concat([table, table]), 2)


def test_a_column_named_value_needs_no_error_but_does_not_count_where_its_error_is_too_large() -> None:
    check = MeanOfRuns(column="value", per=["step"], at_least=0)
    table = pd.DataFrame({"step": 1, "run": [0, 1], "value": [1.0, 3.0]})
    assert [point.shown.value for point in check.measure(table, 2).points] == [2.0]
    assert [point.shown.value for point in check.measure(table.assign(error=[0, 2], tolerance=1), 2).points] == [1.0]


@pytest.mark.parametrize(
    "check",
    [
        MeanOfRuns(column="growth", per=["power", "depth"], at_least=0.1),
        ZeroOfExponent(column="growth", by="depth", against="power", first=0.25, last=0.75, per=["inputs"], at_least=0),
        GrowthExponent(column="growth", per=["power"], at_most=2),
    ],
    ids=lambda check: check.name,
)
def test_a_single_run_has_an_unknown_spread(check: Check) -> None:
    grid = [(a, depth, run) for a in (0.25, 0.75) for depth in (10, 100) for run in (0, 1)]
    table = pd.DataFrame(grid, columns=["power", "depth", "run"]).assign(inputs="x")
    table["growth"] = table["depth"] ** (2 * (0.6 - table["power"])) * (1 + 0.001 * table["run"])
    assert verdict(check, table, runs=1) == SUPPORTED
    found = result(check, table[table["run"] == 0], runs=1)
    assert found.verdict == INCONCLUSIVE
    assert not found.exact


@pytest.mark.parametrize(
    "check",
    [
        MeanOfRuns(column="loss", per=["optimizer", "depth"], at_least=0),
        MeanOfRuns(column="loss", rows={"optimizer": "adam"}, per=["depth"], at_least=0),
        GrowthExponent(column="loss", by="depth", per=["optimizer"], at_most=2),
    ],
)
def test_rows_are_grouped_and_chosen_by_any_column_of_text(check: Check) -> None:
    places = [(optimizer, depth, run) for optimizer in ("adam", "sgd") for depth in (2, 4) for run in range(3)]
    table = pd.DataFrame(places, columns=["optimizer", "depth", "run"]).assign(loss=1.0)
    assert len(check.measure(table, 2).points) in (2, 4)
    with refused(TableError, "loss", "text", 2, 12):
        check.measure(table.assign(loss="low"), 2)
