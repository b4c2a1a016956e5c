"""Oracle: tables of which it is known which rows count, and how many.

Sees places, runs or networks that are left out or let in by one, a mean of another kind, a worst point that is not.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import TableError
from resaudit.claims.checks.depths import GrowthDifference, GrowthExponent, RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall, PeakAtDrop
from resaudit.claims.checks.losses import AtEveryLoss, AtTheEnd, LargeAgainstSmallLoss
from resaudit.claims.checks.measured import Effect, Measured, Point
from resaudit.claims.checks.rates import (
    BestRateKept,
    BestRateRatio,
    FinalExcess,
    FinalLossPairs,
    FinalLossRatio,
    SpreadOverRates,
)
from resaudit.claims.checks.rows import epoch_at
from resaudit.claims.checks.runs import AgainstBounds, IdentitiesHold, Magnitude, MeanOfRuns
from resaudit.claims.intervals import LeftOut
from resaudit.claims.records import Comparison
from resaudit.claims.verdicts import judge, judge_point, judged_check, worst_of
from resaudit.claims.words import why
from resaudit.plan.claim import Check
from tests.claims.made import (
    RUNS,
    along_training,
    by_depth,
    choice,
    claim,
    mentions,
    result,
    spread,
    sweep,
    verdict,
    with_excess,
)
from tests.refusals import refused

C = "condition_number"
EVERY = AtEveryLoss(network="a", others=["b"], column=C, at_most=1, losses=3)
ENDS = LargeAgainstSmallLoss(network="a", others=["b"], column=C, at_most=1)
END = AtTheEnd(network="a", other="b", column=C, within_factor=2)


def flat(level: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda losses: level + 0 * losses


TRAINED = along_training({"a": flat(0.5), "b": flat(1.0)})


def said_of(points: list[Comparison], check: Check) -> str:
    worst = worst_of(check, points)
    assert worst is not None
    return worst.where


@pytest.mark.parametrize(
    ("check", "worst"),
    [(Check(at_most=1), "highest"), (Check(at_least=1), "lowest"), (Check(within_factor=2), "lowest")],
)
def test_the_worst_point_is_the_one_whose_interval_reaches_furthest(check: Check, worst: str) -> None:
    ends = {"narrow": (0.9, 1.1), "highest": (0.4, 5.0), "lowest": (0.1, 1.2)}
    points = [
        Comparison(where=where, effect=1.0, low=low, high=high, n=10, verdict="inconclusive", choices=[made])
        for where, (low, high) in ends.items()
        for made in [choice(1.0, (low, high), (low, high))]
    ]
    assert said_of(points, check) == said_of(points[::-1], check) == worst


@pytest.mark.parametrize(("check", "end"), [(Check(at_least=1), -np.inf), (Check(at_most=1), np.inf)])
def test_an_interval_that_touches_the_threshold_from_the_other_side_is_undecided(check: Check, end: float) -> None:
    found = judge_point(
        check, Point("here", (Effect(end, (LeftOut(np.array([1.0, end, end]), 3),), 3),)), 0.95, 0.95, Measured("", "")
    )
    assert set(found.ends) == {1.0, end}
    assert found.verdict == "inconclusive"


def test_a_finding_is_exact_only_if_no_point_of_it_has_a_spread() -> None:
    points = [Point("one", (Effect(1.0, (), 1),)), Point("other", (Effect(1.0, (LeftOut(np.ones(3), 3),), 3),))]
    check = MeanOfRuns(column="x", per=["y"], at_most=1)
    found = [judged_check(claim(check), "part-0", Measured("", "", of), 0.95).exact for of in (points[:1], points)]
    assert found == [True, False]


def measured(draws: int = 4) -> pd.DataFrame:
    rows = [(p, d, u, 1e-15, 1e-15, 2.0 * f / u) for p in "pq" for d, f in enumerate(spread(1, 1.01, draws))
            for u in (1, 10)]  # fmt: skip
    return pd.DataFrame(rows, columns=["property", "draw", "units", "error", "tolerance", "value"])


FALLS = GrowthExponent(column="value", by="units", rows={"property": "p"}, span="overall", at_most=-0.9)


@pytest.mark.parametrize(
    ("misspelt", "there"),
    [
        (FALLS.model_copy(update={"rows": {"property": "pp"}}), "p, q"),
        (MeanOfRuns(column="value", rows={"property": "P"}, per=["units"], at_least=0), "p, q"),
        (AgainstBounds(column="value", by="units", bounds={"100": 1.0}, at_most=2), "1, 10"),
    ],
)
def test_of_a_value_that_no_row_has_those_that_there_are_are_said(misspelt: Check, there: str) -> None:
    table = measured().rename(columns={"draw": "run"})
    judgement = judge(claim(misspelt), table, "laptop")
    assert judgement.verdict == "inconclusive"
    assert there in why(judgement)


def test_only_intervals_share_the_error_rate_and_an_error_as_large_as_its_tolerance_counts() -> None:
    identities = IdentitiesHold(properties=["p", "q"], at_most=1)
    judgement = judge(claim(identities, FALLS), measured(), "laptop")
    assert judgement.verdict == "supported"
    assert {found.level for found in judgement.checks} == {0.95}


def test_draws_are_counted_as_runs_are() -> None:
    identities = IdentitiesHold(properties=["p"], at_most=1)
    assert verdict(identities, measured(), runs=4) == "supported"
    few = judge(claim(identities, runs=5), measured(), "laptop")
    assert few.verdict == "inconclusive"
    assert mentions(few.obstacle, 5, "draws", 4)


@pytest.mark.parametrize("kind", ["identities", "magnitude"])
def test_a_property_that_is_missing_or_of_too_few_rows_is_not_supported_by_the_others(kind: str) -> None:
    if kind == "identities":
        check: Check = IdentitiesHold(properties=["p", "q"], at_most=1)
    else:
        check = Magnitude(properties=["p", "q"], at_most=3)
    table = measured()
    assert verdict(check, table) == "supported"
    for fewer in (table[table["property"] == "p"], table[(table["property"] == "p") | (table["draw"] < 1)]):
        judgement = judge(claim(check, runs=3), fewer, "laptop")
        assert judgement.verdict == "inconclusive"
        assert judgement.checks[0].unmeasured == ["q"]
        assert mentions(why(judgement), "q")


def test_the_least_number_of_runs_is_enough_and_one_fewer_is_not() -> None:
    constant = RatioAcrossDepths(networks=["a", "b"], column=C, within_factor=1.1)
    table = by_depth({"a": lambda _: spread(3, 1.001, 3), "b": lambda d: spread(3, 1.001, 3 if d < 16 else 2)})
    found = result(constant, table)
    assert [p.where for p in found.points] == [f"a, depth {d} over 2" for d in (4, 8, 16)] + [
        f"b, depth {d} over 2" for d in (4, 8)
    ]
    assert found.missing == ["b, depth 16: 2 runs, 3 are needed"]
    # The others are not all it says.
    assert judge(claim(constant), table, "laptop").verdict == "inconclusive"


def test_the_number_of_runs_told_is_the_smaller_one() -> None:
    table = by_depth({"a": lambda d: spread(3, 1.01, RUNS if d < 16 else 4)})
    found = result(RatioAcrossDepths(networks=["a"], column=C, within_factor=1.1), table)
    assert [p.n for p in found.points] == [8, 8, 4]


@pytest.mark.parametrize("common", [0, 2, 3])
def test_layers_of_a_network_need_enough_runs_that_are_in_all_of_them(common: int) -> None:
    growth = GrowthExponent(networks=["a"], column=C, by="layer", span="overall", at_least=0.5)
    table = by_depth({"a": lambda d: spread(d, 1.01, 4)}, depths=(2, 16)).rename(columns={"depth": "layer"})
    moved = (table["layer"] == 16) & (table["run"] >= common)
    found = result(growth, table.assign(run=table["run"].where(~moved, table["run"] + 100)))
    assert (len(found.points), found.verdict) == ((1, "supported") if common == 3 else (0, "inconclusive"))
    assert [mentions(line, common, 3) for line in found.missing] == [True] * (common < 3)


def test_runs_and_depths_are_needed_of_every_network() -> None:
    slower = GrowthDifference(network="a", other="b", column=C, at_most=0)
    table = by_depth({"a": lambda d: spread(d**0.5, 1.01), "b": lambda d: spread(d, 1.01)})
    assert verdict(slower, table) == "supported"
    asked = claim(slower, depths=(2, 16))

    def obstacle(rows: pd.DataFrame) -> str:
        return judge(asked, rows, "laptop").obstacle

    assert mentions(obstacle(table[table["network"] == "a"]), "network b")
    shallow = table[(table["network"] == "a") | (table["depth"] < 16)]
    assert mentions(obstacle(shallow), 3, "b, depth 16", 0)
    thin = table[(table["network"] == "a") | (table["depth"] < 16) | (table["run"] < 2)]
    assert mentions(obstacle(thin), 3, "b, depth 16", 2)
    few = table[(table["network"] == "b") | (table["run"] < 2)]
    assert mentions(judge(claim(slower), few, "laptop").obstacle, 3, "a", 2)


@pytest.mark.parametrize(
    "check",
    [
        GrowthExponent(networks=["a", "b"], column=C, at_least=0.5),
        GrowthExponent(networks=["b", "a"], column=C, at_least=0.5, span="overall"),
        RatioAcrossDepths(networks=["a", "b"], column=C, at_least=1),
    ],
)
def test_a_network_all_unresolved_is_not_supported_by_the_others(check: Check) -> None:
    table = by_depth({"a": lambda d: spread(d, 1.01), "b": lambda d: spread(d, 1.01)})
    assert verdict(check, table) == "supported"
    judgement = judge(claim(check), table.assign(resolved=table["network"] != "b"), "laptop")
    assert judgement.verdict == "inconclusive"
    assert judgement.checks[0].unmeasured == ["b"]
    assert mentions(why(judgement), "b")


def test_a_slope_over_all_depths_is_that_of_least_squares() -> None:
    levels = {2: 1.0, 4: 6.0, 8: 6.0, 16: 7.0}
    overall = GrowthExponent(networks=["a"], column=C, span="overall", at_least=0)
    found = result(overall, by_depth({"a": lambda d: spread(levels[d], 1.01)}))
    assert found.points[0].effect == pytest.approx(
        np.polyfit(np.log(list(levels)), np.log(list(levels.values())), 1)[0]
    )


def test_a_value_that_is_missing_is_refused_where_nothing_says_why() -> None:
    table = sweep({"a": lambda *_: 0.1})
    table.loc[7, "excess_loss"] = np.nan
    with refused(TableError, "excess_loss", "no value", 9, 1):
        verdict(FinalExcess(networks=["a"], at_most=1), table)


def test_the_line_told_is_that_of_the_file() -> None:
    table = sweep({"a": lambda *_: 0.1}).rename(columns={"final_loss": "loss"}).assign(epoch=100)
    earlier = table.assign(epoch=0)
    both = pd.concat([earlier, table], ignore_index=True)
    both.loc[len(earlier) + 3, "excess_loss"] = np.nan
    with refused(TableError, "excess_loss", "no value", len(earlier) + 5):
        verdict(FinalExcess(networks=["a"], at_most=1), both)


def test_a_tenth_percentile_under_the_noise_floor_is_no_evidence() -> None:
    table = by_depth({"a": lambda _: spread(3, 1.01)}).rename(columns={C: "lambda_p10"})
    table.loc[(table["depth"] == 16) & (table["run"] == 0), "resolved"] = False
    found = result(RatioAcrossDepths(networks=["a"], column="lambda_p10", within_factor=1.1), table)
    (excluded,) = found.excluded
    assert mentions(excluded, "a, depth 16", "1 of 8")


@pytest.mark.parametrize(("share", "epoch"), [(0.29, 29), (0.295, 29), (0.07, 7), (0.0, 0), (1.0, 100)])
def test_the_epoch_at_a_share_is_the_last_one_not_after_it(share: float, epoch: int) -> None:
    # 0.29 * 100 is 28.999999999999996 in double precision.
    assert epoch_at(pd.DataFrame({"epoch": range(101)}), share) == epoch


def test_the_losses_compared_are_those_that_enough_runs_of_all_networks_pass() -> None:
    # Run r of b starts at 4 / (1 + r / 10) and ends at a tenth of that; the third run of eight is the one that counts.
    shift = 1 + TRAINED["run"] / 10
    table = TRAINED.assign(loss=TRAINED["loss"].where(TRAINED["network"] == "a", TRAINED["loss"] / shift))
    found = result(EVERY, table)
    largest, smallest = 4 / 1.2, max(0.4, 0.4 / 1.5)
    assert [p.where for p in found.points] == [
        f"b, loss {loss:.3g}" for loss in (largest, np.sqrt(largest * smallest), smallest)
    ]
    assert [p.n for p in found.points] == [3, 8, 8]
    swapped = AtEveryLoss(network="b", others=["a"], column=C, at_least=1, losses=3)
    assert [p.n for p in result(swapped, table).points] == [3, 8, 8]


def test_the_losses_compared_end_where_enough_runs_of_all_networks_do() -> None:
    # Run r of b ends at 0.4 (1 + r / 10) and starts above 4.
    table = TRAINED.assign(loss=TRAINED["loss"] * np.where(TRAINED["network"] == "a", 1, 1 + TRAINED["run"] / 10))
    found = result(EVERY, table)
    assert [p.where for p in (found.points[0], found.points[-1])] == ["b, loss 4", "b, loss 0.48"]
    assert [p.n for p in found.points] == [8, 8, 3]


def test_the_ends_of_the_losses_are_those_runs_own_ends_and_not_just_beside() -> None:
    table = TRAINED.assign(loss=TRAINED["loss"] * 1.1 / 3)
    found = result(EVERY.model_copy(update={"losses": 20}), table)
    assert [p.n for p in found.points] == [RUNS] * 20
    assert not found.excluded


@pytest.mark.parametrize("network", ["a", "b"])
@pytest.mark.parametrize("check", [EVERY, ENDS])
def test_losses_at_which_too_few_runs_are_known_are_left_out(check: Check, network: str) -> None:
    for known, enough in ((3, True), (2, False)):
        unknown = (TRAINED["network"] == network) & (TRAINED["run"] >= known) & (TRAINED["epoch"] == 100)
        found = result(check, TRAINED.assign(resolved=~unknown))
        assert any(mentions(line, known, 3) for line in [*found.missing, *found.excluded]) is not enough
        if check is EVERY:
            assert [p.n for p in found.points] == [8, 8, known][: 3 if enough else 2]
        else:
            assert [p.n for p in found.points] == ([known] if enough else [])


@pytest.mark.parametrize("kind", [AtEveryLoss, LargeAgainstSmallLoss])
def test_every_other_network_is_compared(kind: type[AtEveryLoss] | type[LargeAgainstSmallLoss]) -> None:
    table = along_training({"a": flat(0.5), "b": flat(1.0), "c": flat(0.2)})
    found = result(kind(network="a", others=["b", "c"], column=C, at_most=1), table)
    assert {p.where.split(",")[0] for p in found.points} == {"b", "c"}


def test_where_networks_share_no_loss_it_is_said() -> None:
    of_a = TRAINED["network"] == "a"
    for apart in (10, 20, 100):
        table = TRAINED.assign(loss=TRAINED["loss"].where(of_a, TRAINED["loss"] / apart))
        (check,) = judge(claim(EVERY), table, "laptop").checks
        assert (check.points, [mentions(line, "no loss", 3) for line in check.missing]) == ([], [True])
    for known in (0, 2):
        table = TRAINED.assign(loss=TRAINED["loss"].where(of_a | (TRAINED["run"] < known), np.inf))
        (check,) = judge(claim(ENDS), table, "laptop").checks
        assert (check.points, [mentions(line, "b", known, 3) for line in check.missing]) == ([], [True])


@pytest.mark.parametrize("network", ["a", "b"])
def test_a_run_unknown_at_the_end_leaves_the_end_open(network: str) -> None:
    unknown = (TRAINED["network"] == network) & (TRAINED["run"] == 0) & (TRAINED["epoch"] == 100)
    # Of eight runs, the median's interval ends at the extremes; nor may the run be passed over.
    for table in (TRAINED.assign(resolved=~unknown), TRAINED[~unknown]):
        (point,) = result(END, table).points
        assert (point.verdict, point.n, point.choices[0].own) == ("inconclusive", 8, (0.0, np.inf))


def test_ratios_are_of_geometric_means_and_runs_of_one_number_are_not_paired() -> None:
    skewed = 10.0 ** np.where(TRAINED["run"] < 4, 0, 2)
    found = result(EVERY, TRAINED.assign(**{C: np.where(TRAINED["network"] == "a", skewed, 1.0)}))
    assert found.points[0].effect == pytest.approx(10)
    same = result(EVERY, TRAINED.assign(**{C: skewed})).points[0]
    other = 10.0 ** np.where(TRAINED["run"] % 2, 0, 2)
    apart = result(EVERY, TRAINED.assign(**{C: np.where(TRAINED["network"] == "a", skewed, other)})).points[0]
    assert (*same.choices[0].own, same.effect) == pytest.approx((*apart.choices[0].own, 1))
    assert apart.choices[0].own[0] < 0.5


def index_of(values: dict[int, float]) -> pd.DataFrame:
    """An index that changes to a value at an epoch; epochs are 0, 1, 2, 3, 5, 10, 30, 100."""
    table = along_training({"a": flat(0.0)}, column="index")
    return table.assign(index=[values[max(e for e in values if e <= epoch)] for epoch in table["epoch"]])


def test_the_whole_fall_is_to_the_least_value_from_the_first() -> None:
    early = EarlyFall(network="a", column="index", within=0.01, of_whole=True, at_least=0.5)
    found = result(early, index_of({0: 0.5, 1: 0.3, 5: 0.1, 30: 0.45}))
    assert found.points[0].effect == pytest.approx(0.5)


def test_the_steepest_fall_is_that_per_epoch() -> None:
    table = index_of({0: 0.5, 3: 0.4, 100: 0.1}).assign(gradient_norm=lambda t: np.where(t["epoch"] == 3, 9.0, 1.0))
    check = PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=0)
    assert result(check, table).points[0].effect == 0


def test_an_index_without_a_fall_has_no_time_of_it() -> None:
    check = PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2)
    for table in (index_of({0: 0.2}), index_of({0: 0.2, 5: 0.4})):
        found = result(check, table)
        assert found.points == []
        (missing,) = found.missing
        assert mentions(missing, "all runs", 0, 3)


def test_runs_that_diverged_do_not_count_when_things_happen() -> None:
    far = EarlyFall(network="a", column="index", within=0.01, at_least=0.1)
    table = index_of({0: 0.5, 1: 0.3})
    for known, places in ((3, 1), (2, 0)):
        diverged = (table["run"] >= known) & (table["epoch"] > 0)
        found = result(far, table.assign(loss=table["loss"].where(~diverged, np.inf)))
        assert [p.n for p in found.points] == [known] * places


def test_curves_are_compared_by_their_arithmetic_means_where_both_have_enough_runs() -> None:
    check = CurveRatio(network="a", other="b", epochs=[1.0], within_factor=10)
    rows = [(n, 4, run, e, 1.0 if n == "b" or run else 5.0) for n in "ab" for run in range(4) for e in (0, 10)]
    table = pd.DataFrame(rows, columns=["network", "depth", "run", "epoch", "excess_loss"])
    assert result(check, table).points[0].effect == pytest.approx(2)
    assert [p.n for p in result(check, table[(table["network"] == "a") | (table["run"] < 3)]).points] == [3]
    few = result(check, table[(table["network"] == "a") | (table["run"] < 2)])
    assert few.missing == ["depth 4, epoch 10: 2 runs, 3 are needed"]


THREE = sweep({"a": lambda d, r: 0.001 * d / r, "b": lambda d, r: 0.01 * d * r, "c": lambda _, r: r}, depths=(4, 8, 16))


def test_every_network_and_depth_of_a_sweep_is_looked_at() -> None:
    def wheres(check: Check) -> list[str]:
        return [p.where for p in result(check, THREE).points]

    depths = (4, 8, 16)
    assert wheres(FinalExcess(networks=["a", "b"], at_most=1)) == [f"{n}, depth {d}" for n in "ab" for d in depths]
    every_other = [f"{n}, depth {d}" for n in "bc" for d in depths]
    assert wheres(FinalLossRatio(network="a", others=["b", "c"], at_least=1)) == every_other
    assert wheres(FinalLossPairs(network="a", others=["b", "c"], factor=2, at_least=0.5)) == every_other
    assert wheres(BestRateRatio(network="a", others=["b", "c"], from_depth=4, at_least=1)) == every_other
    assert wheres(BestRateKept(network="a", at_least=1)) == ["depth 16 over 4"]


def test_the_best_rate_at_the_greatest_depth_is_held_against_that_at_the_least() -> None:
    best = {4: 1.0, 8: 0.1, 16: 0.01}
    table = sweep({"a": lambda d, r: 0.01 if r == best[d] else 1.0}, depths=(4, 8, 16))
    assert result(BestRateKept(network="a", at_least=1), table).points[0].effect == pytest.approx(0.01)


def test_the_spread_is_over_all_rates_of_all_networks_at_one_depth() -> None:
    table = sweep({"a": lambda *_: 0.0, "b": lambda _, r: 2 * r}, factor=1.0, beyond=False)
    table = with_excess(table, table["depth"] == 4, 98.0)
    check = SpreadOverRates(networks=["a", "b"], depth=16, at_most=1.05)
    assert [(p.where, p.effect) for p in result(check, table).points] == [("depth 16", pytest.approx(3))]
    of_a = table["network"] == "a"
    few = result(check, table[of_a | (table["run"] < 2)])
    assert few.points == []
    assert few.missing == ["b, depth 16: 2 runs, 3 are needed"]
    assert [(p.effect, p.n) for p in result(check, table[of_a | (table["run"] > 4)]).points] == [(pytest.approx(3), 3)]


def test_sweeps_count_the_least_number_of_runs_and_no_fewer() -> None:
    check = FinalExcess(networks=["a"], at_most=1)
    assert [p.n for p in result(check, THREE[THREE["run"] < 3]).points] == [3, 3, 3]
    few = result(check, THREE[THREE["run"] < 2])
    assert few.points == []
    assert few.missing[0] == "a, depth 4: 2 runs, 3 are needed"


def test_networks_of_a_sweep_have_an_interval() -> None:
    table = sweep({"a": lambda *_: 0.1, "b": lambda *_: 0.1}, rates=(0.1,), factor=5)
    point = result(FinalLossRatio(network="a", others=["b"], at_least=1), table).points[0]
    assert point.effect == pytest.approx(1)
    assert point.choices[0].own[0] < 0.8


def test_an_end_of_the_claims_side_for_each_end_of_the_values() -> None:
    table = measured().assign(value=lambda t: t["draw"] - 1.0)
    both = result(Magnitude(properties=["p"], at_least=-2, at_most=1), table)
    assert [(p.where, p.effect) for p in both.points] == [("p, least", -1), ("p, largest", 2)]
    assert both.verdict == "contradicted"


def test_every_network_that_a_check_speaks_of_is_named() -> None:
    assert AtTheEnd(network="a", other="b", column=C, at_most=1).named == ["a", "b"]
    assert AtEveryLoss(network="a", others=["b", "c"], column=C, at_most=1).named == ["a", "b", "c"]
    assert SpreadOverRates(networks=["a", "b"], depth=4, at_most=1).named == ["a", "b"]
    assert Check(within_factor=4).region == (0.25, 4)


def test_differences_keep_their_sign() -> None:
    check = AtEveryLoss(network="a", others=["b"], column=C, compare="difference", at_most=0, losses=2)
    assert result(check, TRAINED).points[0].effect == pytest.approx(-0.5, rel=1e-3)


def test_an_excess_is_a_share_of_the_optimum() -> None:
    doubled = THREE.assign(excess_loss=2 * THREE["excess_loss"], optimal_loss=2.0)
    check = FinalExcess(networks=["a"], at_most=1)
    effects = [[p.effect for p in result(check, table).points] for table in (THREE, doubled)]
    assert effects[0] == pytest.approx(effects[1])


def test_curves_are_of_the_runs_that_have_one() -> None:
    # At rate 1 there is the end alone, and it is another one.
    recorded = [(0.1, 0), (0.1, 10), (1.0, 10)]
    rows = [
        (n, 4, rate, run, epoch, (3.0 if n == "a" else 1.0) if rate < 1 else 50.0, rate < 1)
        for n in "ab" for rate, epoch in recorded for run in range(4)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["network", "depth", "learning_rate", "run", "epoch", "excess_loss", "shown"])
    check = CurveRatio(network="a", other="b", epochs=[0.0, 1.0], within_factor=10)
    assert [(p.effect, p.n) for p in result(check, table).points] == [(pytest.approx(3), 4)] * 2


def test_a_coordinate_that_is_not_a_whole_number_keeps_its_place() -> None:
    table = measured().assign(units=lambda t: t["units"] / 4)
    assert [p.where for p in result(FALLS, table).points] == ["units 0.25 to 2.5"]
    assert result(FALLS, table).points[0].effect == pytest.approx(-1)
