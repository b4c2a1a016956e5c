"""Oracle: made tables with two learning rates that are tied for the best, of which it is known what holds at each.

Sees a claim that is decided by which of two equal rates is drawn, a tied rate that is passed over, or passed over for
its missing values, a rate that its diverged runs leave among the best, and one that nobody has looked beyond.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.checks.depths import RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall, FallByLoss, PeakAtDrop
from resaudit.claims.checks.losses import AtEveryLoss, AtTheEnd, LargeAgainstSmallLoss
from resaudit.claims.checks.rates import (
    BestRateKept,
    BestRateRatio,
    EndRatio,
    FinalExcess,
    FinalLossAcrossDepths,
    FinalLossPairs,
    FinalLossRatio,
)
from resaudit.claims.verdicts import judge
from resaudit.claims.words import why
from resaudit.figures.sweeps import Stage
from resaudit.plan.claim import Check
from tests.claims.made import (
    RUNS,
    along_training,
    by_depth,
    claim,
    mentions,
    result,
    spread,
    sweep,
    verdict,
    with_excess,
)

SUPPORTED, CONTRADICTED, INCONCLUSIVE, DEPENDS = "supported", "contradicted", "inconclusive", "depends"
C, NORM = "condition_number", "mean_frobenius_norm"
BOTH = {"network": "a", "others": ["b"]}


def norms(holds: bool) -> pd.DataFrame:
    """Norms that are constant over depth, or that grow."""
    table = by_depth({"a": lambda d: spread(3.0 if holds else d, 1.01)}, depths=(2, 16)).assign(epoch=0)
    return table.rename(columns={C: NORM})


def conditions(holds: bool) -> pd.DataFrame:
    """Condition numbers of a that are half those of b, or five times as large."""
    return along_training({"a": lambda x: (0.5 if holds else 5.0) + 0 * x, "b": lambda x: 1 + 0 * x})


def tilted(holds: bool) -> pd.DataFrame:
    """Condition numbers of a that are smallest at large losses, or largest there."""
    return along_training({"a": lambda x: x ** (-1.0 if holds else 1.0), "b": lambda x: 1 + 0 * x})


def falling(holds: bool) -> pd.DataFrame:
    """An index that falls by 0.3 at the first epoch, or by 0.01, and later by 0.05."""
    early = 0.3 if holds else 0.01
    return along_training(
        {"a": lambda x: 0.5 - early * (np.arange(len(x)) > 0) - 0.05 * (np.arange(len(x)) > 4)}, column="index"
    )


def peaking(holds: bool) -> pd.DataFrame:
    """An index that falls between epochs 1 and 2, and a gradient that peaks at 2, or at 30."""
    table = along_training({"a": lambda x: 0.5 - 0.3 * (np.arange(len(x)) > 1)}, column="index")
    return table.assign(gradient_norm=np.where(table["epoch"] == (2 if holds else 30), 9.0, 1.0))


def curves(holds: bool) -> pd.DataFrame:
    """Excess losses of a that are twice those of b, or fifty times as large."""
    table = along_training({"a": lambda x: (2.0 if holds else 50.0) * x, "b": lambda x: 1.0 * x}, column="excess_loss")
    return table.assign(depth=4)


FOLLOWED: dict[str, tuple[Check, Callable[[bool], pd.DataFrame]]] = {
    "ratio_across_depths": (
        RatioAcrossDepths(networks=["a"], column=NORM, epochs=[1.0], within_factor=1.1), norms
    ),
    "at_every_loss": (AtEveryLoss(**BOTH, column=C, at_most=1, losses=5), conditions),
    "large_against_small_loss": (LargeAgainstSmallLoss(**BOTH, column=C, at_most=1), tilted),
    "at_the_end": (AtTheEnd(network="a", other="b", column=C, within_factor=3), conditions),
    "early_fall": (EarlyFall(network="a", column="index", within=0.01, at_least=0.1), falling),
    "fall_by_loss": (FallByLoss(network="a", column="index", at_least=0.1), falling),
    "early_fall of the whole": (
        EarlyFall(network="a", column="index", within=0.01, of_whole=True, at_least=0.5), falling
    ),
    "peak_at_drop": (PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2), peaking),
    "curve_ratio": (CurveRatio(network="a", other="b", epochs=[0.1, 1.0], within_factor=10), curves),
}  # fmt: skip
"""Checks of figures that follow training at every tied rate, and tables of one rate."""


def at_tied(shown: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """A table with the rows of the learning rate that is shown and of one that is tied with it."""
    # The other one first: what is shown is said by a column, not by the order of rows.
    parts = [other.assign(learning_rate=0.01, shown=False), shown.assign(learning_rate=0.1, shown=True)]
    return pd.concat(parts, ignore_index=True)


def followed(name: str, shown: bool, other: bool) -> tuple[Check, pd.DataFrame]:
    check, made = FOLLOWED[name]
    return check, at_tied(made(shown), made(other))


def swept(levels: dict[tuple[str, int], tuple[float, float]]) -> pd.DataFrame:
    """Excess losses by network and depth at the rates 0.1 and 1, which are tied if they are within ten per cent."""
    networks, depths = (tuple(dict.fromkeys(part)) for part in zip(*levels, strict=True))
    return sweep(
        {name: lambda depth, rate, name=name: levels[name, depth][int(rate == 1.0)] for name in networks},
        depths=depths, rates=(0.1, 1.0), factor=1.0001,
    )  # fmt: skip


def excesses(shown: bool, other: bool) -> tuple[Check, pd.DataFrame]:
    levels = tuple(0.1 if holds else 0.105 for holds in (shown, other))
    return FinalExcess(networks=["a"], at_most=0.102), swept({("a", 4): levels})


def ratios(shown: bool, other: bool) -> tuple[Check, pd.DataFrame]:
    levels = tuple(0.1 if holds else 0.105 for holds in (shown, other))
    return FinalLossRatio(**BOTH, at_least=9.8), swept({("a", 4): levels, ("b", 4): (1.0, 50.0)})


def ratios_of_others(shown: bool, other: bool) -> tuple[Check, pd.DataFrame]:
    levels = tuple(1.05 if holds else 1.0 for holds in (shown, other))
    return FinalLossRatio(**BOTH, at_least=10.2), swept({("a", 4): (0.1, 50.0), ("b", 4): levels})


def depths(shown: bool, other: bool) -> tuple[Check, pd.DataFrame]:
    levels = tuple(1.0 if holds else 1.1 for holds in (shown, other))
    return FinalLossAcrossDepths(network="a", at_most=1.02), swept({("a", 4): (1.0, 50.0), ("a", 16): levels})


TIED: dict[str, Callable[[bool, bool], tuple[Check, pd.DataFrame]]] = {
    **{name: lambda shown, other, name=name: followed(name, shown, other) for name in FOLLOWED},
    "final_excess": excesses,
    "final_loss_ratio": ratios,
    "final_loss_ratio of the others": ratios_of_others,
    "final_loss_across_depths": depths,
}


@pytest.mark.parametrize("name", TIED)
def test_a_claim_is_decided_only_if_it_is_so_at_every_tied_rate(name: str) -> None:
    verdicts = {pair: verdict(*TIED[name](*pair)) for pair in ((True, True), (False, False))}
    assert verdicts == {(True, True): SUPPORTED, (False, False): CONTRADICTED}
    for pair in ((True, False), (False, True)):
        check, table = TIED[name](*pair)
        assert verdict(check, table) == DEPENDS
        both = result(check, table).points
        alone = result(check, TIED[name](pair[0], pair[0])[1]).points
        # That of the rate shown.
        assert [p.effect for p in both] == [pytest.approx(p.effect) for p in alone]


@pytest.mark.parametrize("name", TIED)
def test_a_verdict_says_that_its_interval_is_of_every_tied_rate(name: str) -> None:
    check, table = TIED[name](True, False)
    assert mentions(why(judge(claim(check), table, "laptop")), "not distinguishable")
    one = FOLLOWED[name][1](True) if name in FOLLOWED else table[table["learning_rate"] != 1.0]
    found = judge(claim(check), one, "laptop")
    assert "distinguishable" not in why(found)
    assert {len(point.choices) for point in found.checks[0].points} == {1}


def test_a_swept_rate_with_a_diverged_run_is_not_tied_however_low_the_others_end() -> None:
    for check, table, first in ((*excesses(True, True), 0.1), (*ratios(True, True), 10.0), (*depths(True, True), 1.0)):
        deep = (table["network"] == "a") & (table["depth"] == table["depth"].max()) & (table["learning_rate"] == 1.0)
        assert result(check, table).points[0].choices[1:]
        for level in (1.0, 0.5):
            lower = with_excess(table, deep, level * table["excess_loss"])
            diverged = with_excess(lower, deep & (table["run"] == 2), np.inf)
            point = result(check, diverged).points[0]
            # That of the rate at which no run diverged.
            assert point.effect == pytest.approx(first, rel=1e-3)
            assert len(point.choices) == 1
            assert verdict(check, diverged) == SUPPORTED


def test_a_run_unknown_at_a_tied_rate_leaves_the_end_open() -> None:
    check, table = followed("at_the_end", True, True)
    unknown = ~table["shown"] & (table["run"] == 0) & (table["epoch"] == 100) & (table["network"] == "a")
    found = result(check, table.assign(resolved=~unknown))
    assert [(point.ends, point.verdict) for point in found.points] == [((0.0, np.inf), INCONCLUSIVE)]


@pytest.mark.parametrize(("name", "ends"), [("early_fall of the whole", (-np.inf, 1)), ("peak_at_drop", (0, np.inf))])
def test_a_tied_rate_without_a_value_leaves_the_verdict_open(name: str, ends: tuple[float, float]) -> None:
    check, table = followed(name, True, True)
    never = table.assign(index=table["index"].where(table["shown"], 0.5))
    # At the tied rate the index never falls.
    assert verdict(check, never) == INCONCLUSIVE
    assert [point.ends for point in result(check, never).points] == [ends]


@pytest.mark.parametrize("name", ["at_every_loss", "large_against_small_loss", "at_the_end", "curve_ratio"])
def test_tied_rates_are_compared_whichever_runs_they_have(name: str) -> None:
    check, table = followed(name, True, True)
    few = 1 if name == "at_the_end" else 4  # a median needs seven runs
    lost = ~table["shown"] & np.where(table["network"] == "a", table["run"] < few, table["run"] >= RUNS - few)
    assert verdict(check, table[~lost]) == SUPPORTED


def rates_of(best: dict[tuple[str, int], tuple[float, ...]], beyond: bool = True) -> pd.DataFrame:
    """Sweeps over 0.01, 0.1 and 1 whose losses are equal at the best rates and large at the others."""
    networks, of_depths = (tuple(dict.fromkeys(part)) for part in zip(*best, strict=True))
    return sweep(
        {name: lambda depth, rate, name=name: 0.1 if rate in best[name, depth] else 50.0 for name in networks},
        depths=of_depths, factor=1.0001, beyond=beyond,
    )  # fmt: skip


PAIRS = [
    (BestRateRatio, BOTH, [("a", 4), ("b", 4)], "b, depth 4"),
    (BestRateKept, {"network": "a"}, [("a", 16), ("a", 4)], "depth 16 over 4"),
]


@pytest.mark.parametrize(("kind", "names", "places", "where"), PAIRS)
def test_ratios_of_best_rates_are_of_all_pairs_of_tied_ones(kind, names, places, where) -> None:  # type: ignore[no-untyped-def]
    table = rates_of(dict(zip(places[::-1], ((0.01, 0.1), (0.1, 1.0)), strict=True)))
    found = result(kind(**names, at_least=0.9), table)
    (point,) = found.points
    # Of the smallest of each.
    assert (point.where, point.effect) == (where, pytest.approx(10))
    assert point.ends == pytest.approx((1, 100))
    assert found.verdict == SUPPORTED
    assert found.excluded == []
    assert verdict(kind(**names, at_least=1.7), table) == INCONCLUSIVE
    assert verdict(kind(**names, at_most=0.9), table) == CONTRADICTED
    said = why(judge(claim(kind(**names, at_least=1.7)), table, "laptop"))
    assert mentions(said, "1 to 100 over")
    one = rates_of(dict(zip(places[::-1], ((0.01,), (1.0,)), strict=True)))
    said = why(judge(claim(kind(**names, at_least=1.7)), one, "laptop"))
    assert "ratio 100 (exact, n = 8)" in said


@pytest.mark.parametrize(("kind", "names", "places", "where"), PAIRS)
@pytest.mark.parametrize("edge", [0.01, 1.0])
def test_a_best_rate_at_the_edge_of_the_grid_leaves_ratios_of_rates_open(kind, names, places, where, edge) -> None:  # type: ignore[no-untyped-def]
    tied = tuple(sorted({0.1, edge}))
    for position, (network, depth) in enumerate(places):
        best = dict.fromkeys(places, (0.1,)) | {places[position]: tied}
        inside, ended = (result(kind(**names, within_factor=20), rates_of(best, beyond)) for beyond in (True, False))
        assert inside.verdict == SUPPORTED
        assert ended.verdict == INCONCLUSIVE
        assert [(p.where, p.ends) for p in ended.points] == [(where, (0.0, np.inf))]
        said = f"{network}, depth {depth}: a rate at the edge of the grid is tied for the best"
        assert (inside.excluded, ended.excluded) == ([], [said])


@pytest.mark.parametrize(("kind", "names", "places", "where"), PAIRS)
@pytest.mark.parametrize("threshold", [{"at_least": 0.33}, {"at_least": 1.7}])
def test_a_grid_of_one_rate_says_nothing_of_the_best(kind, names, places, where, threshold) -> None:  # type: ignore[no-untyped-def]
    table = rates_of(dict.fromkeys(places, (0.1,)))
    found = result(kind(**names, **threshold), table[table["learning_rate"] == 0.1])
    assert found.verdict == INCONCLUSIVE
    assert [(p.where, p.ends) for p in found.points] == [(where, (0.0, np.inf))]
    assert len(found.excluded) == 2


FALLING = {"a": lambda _, rate: 0.001 / rate, "b": lambda _, rate: 0.1 if rate == 0.1 else 1.0}


def test_a_loss_that_still_falls_at_the_edge_of_the_grid_leaves_claims_on_losses_open() -> None:
    excess = FinalExcess(networks=["a"], at_most=0.5)
    for check, places in ((excess, ["a, depth 4"]), (FinalLossRatio(**BOTH, at_least=2), ["b, depth 4"])):
        inside, ended = (result(check, sweep(FALLING, depths=(4,), beyond=beyond)) for beyond in (True, False))
        assert inside.verdict == SUPPORTED
        assert ended.verdict == INCONCLUSIVE
        ((where, (low, high)),) = [(p.where, p.ends) for p in ended.points]
        # An excess is at most that at the start.
        assert (where, low, high) == (places[0], 0.0, pytest.approx(999_999) if check is excess else np.inf)
        said = "a, depth 4: the loss still falls at the edge of the grid"
        assert (inside.excluded, ended.excluded) == ([], [said])
    flat = sweep({"a": lambda *_: 0.1}, depths=(4,), beyond=False)
    # At the edge, but no longer falling.
    assert verdict(excess, flat) == SUPPORTED


def test_a_network_that_diverges_at_every_rate_in_some_run_counts_against_it() -> None:
    table = sweep({"a": lambda *_: 0.1, "b": lambda *_: 0.1}, depths=(4,))
    lost = with_excess(table, (table["network"] == "a") & (table["run"] < 2), np.inf)
    assert verdict(FinalExcess(networks=["a"], at_most=0.5), lost) == CONTRADICTED
    rates = BestRateRatio(**BOTH, at_least=0.001)
    assert [(p.effect, p.ends) for p in result(rates, lost).points] == [(0.0, (0.0, 0.0))]
    assert verdict(rates, table) == SUPPORTED
    assert verdict(rates, lost) == CONTRADICTED


# The screening leaves 0.1 for both; b's losses at it are 50 times a's, and at a smaller rate would be ten times larger.
LEFT_BY_SCREENING = {
    "a": lambda _, rate: {0.01: 0.3, 0.1: 0.001}.get(rate, 9.0),
    "b": lambda _, rate: {0.01: 0.5, 0.1: 0.05}.get(rate, 9.0),
}


def confirmed_where_some_diverge(diverging: dict[str, int]) -> pd.DataFrame:
    """A screening in which no run diverges, and fresh runs of which so many do at the one rate that it leaves."""
    screening = sweep(LEFT_BY_SCREENING, depths=(4,), factor=1.01)
    fresh = screening[screening["learning_rate"] == 0.1]
    for network, count in diverging.items():
        fresh = with_excess(fresh, (fresh["network"] == network) & (fresh["run"] < count), np.inf)
    confirmation = fresh.assign(stage=Stage.CONFIRMATION, run=fresh["run"] + 8)
    return pd.concat([screening.assign(stage=Stage.SCREENING), confirmation], ignore_index=True).assign(step=100)


# The effect, and its largest value.
BOUNDED: dict[str, tuple[Check, float, float]] = {
    "ratio": (FinalLossRatio(**BOTH, at_least=10), 50.0, np.inf),
    "pairs": (FinalLossPairs(**BOTH, factor=10, at_least=0.5), 1.0, 1.0),
    "ends": (EndRatio(network="b", other="a", column="excess_loss", at_least=10), 50.0, np.inf),
    # The best rate is at most that one.
    "rates": (BestRateRatio(**BOTH, at_least=0.9), 1.0, np.inf),
}


@pytest.mark.parametrize(("check", "effect", "most"), BOUNDED.values(), ids=BOUNDED)
def test_runs_that_do_not_diverge_bound_a_network_whose_fresh_runs_diverge_at_every_rate_left(
    check: Check, effect: float, most: float
) -> None:
    (without,) = result(check, confirmed_where_some_diverge({})).points
    assert without.effect == pytest.approx(effect, rel=0.02)
    # The bound decides if the other network is said to be better, and leaves open that this one is.
    for network, expected in (("b", SUPPORTED), ("a", INCONCLUSIVE)):
        found = result(check, confirmed_where_some_diverge({network: 2}))
        (point,) = found.points
        assert point.effect == pytest.approx(effect, rel=0.02)
        assert found.verdict == expected
        assert (point.ends[1] == most) if network == "b" else (point.ends[0] == 0.0)
        assert any(mentions(said, f"{network}, depth 4") for said in found.excluded)


@pytest.mark.parametrize("name", ["ratio", "pairs"])
def test_a_bound_wants_as_many_runs_as_any_loss(name: str) -> None:
    check, *_ = BOUNDED[name]
    enough, few = (result(check, confirmed_where_some_diverge({"b": count})) for count in (5, 6))
    assert (len(enough.points), few.verdict) == (1, INCONCLUSIVE)
    assert mentions(few.missing[0], 2, 3)


def test_the_excess_of_a_network_is_bounded_by_its_runs_that_do_not_diverge() -> None:
    for at_most, expected in ((0.1, INCONCLUSIVE), (0.01, CONTRADICTED)):
        found = result(FinalExcess(networks=["b"], at_most=at_most), confirmed_where_some_diverge({"b": 2}))
        assert found.verdict == expected
        (point,) = found.points
        assert point.ends[0] == pytest.approx(point.effect, rel=0.05)
        assert point.ends[1] > 1000 * point.effect  # the excess at the start


def test_a_bound_at_the_edge_of_the_grid_is_none() -> None:
    screening = sweep(LEFT_BY_SCREENING, depths=(4,), factor=1.01, beyond=False)
    table = confirmed_where_some_diverge({"b": 2})
    inside = table[table["learning_rate"].isin(screening["learning_rate"].unique())]
    cut = inside[inside["learning_rate"] >= 0.1]
    # What ends are is no matter of rates beyond the grid.
    for check, *_ in (case for name, case in BOUNDED.items() if name != "ends"):
        assert verdict(check, inside) == SUPPORTED
        assert verdict(check, cut) == INCONCLUSIVE


def test_the_more_sweeps_a_check_rests_on_the_more_rates_may_be_best() -> None:
    levels = {0.01: 50.0, 0.1: 1.3, 1.0: 1.0}
    table = sweep({name: lambda _, rate: levels[rate] for name in "ab"}, depths=(4, 16), factor=1.225)

    def ends(from_depth: int) -> tuple[float, float]:
        point = result(BestRateRatio(**BOTH, from_depth=from_depth, at_most=1), table).points[-1]
        assert point.where == "b, depth 16"
        return point.ends

    # Two sweeps, of which each says that 1 is best.
    assert ends(16) == (1, 1)
    # The same sweeps, two of four.
    assert ends(4) == pytest.approx((0.1, 1))


def test_a_tied_rate_of_which_a_table_has_only_the_judged_epochs_is_measured() -> None:
    for other, expected in ((True, SUPPORTED), (False, "depends")):
        check, table = followed("curve_ratio", True, other)
        assert verdict(check, table[table["shown"] | table["epoch"].isin([10, 100])]) == expected
        # Of a rate that is not tied there is the end alone.
        assert verdict(check, table[table["shown"] | (table["epoch"] == 100)]) == SUPPORTED
