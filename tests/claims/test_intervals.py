"""Oracles: scipy's t-intervals, paired and Welch's, numpy's means, simulated coverage, tracemalloc.

Sees runs of different networks that are paired by their numbers, runs of one that are not, infinities or gaps that turn
a mean into nonsense or vanish, intervals that are too short, memory that grows with the square of the runs.
"""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from resaudit.claims.checks.depths import GrowthDifference, GrowthExponent, RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio, EarlyFall
from resaudit.claims.checks.losses import AtEveryLoss, AtTheEnd, LargeAgainstSmallLoss
from resaudit.claims.checks.measured import effect_of
from resaudit.claims.checks.rates import FinalExcess, FinalLossAcrossDepths, FinalLossRatio
from resaudit.claims.intervals import FEWEST, LeftOut, covered, interval, median_interval, replicate_means
from resaudit.claims.verdicts import judge
from resaudit.claims.words import why
from resaudit.plan.claim import Check
from tests.claims.made import along_training, by_depth, claim, mentions, result, sweep, verdict, with_excess

RNG = np.random.default_rng(3)
C = "condition_number"


def test_replicates_are_the_means_without_each_run() -> None:
    values = RNG.standard_normal((6, 4)) * 10.0 ** np.arange(-8, 8, 4)
    means = replicate_means(values)
    assert means.shape == (7, 4)
    assert np.allclose(means[0], values.mean(axis=0), rtol=1e-14)
    for run in range(6):
        assert np.allclose(means[1 + run], np.delete(values, run, axis=0).mean(axis=0), rtol=1e-13)
    assert np.array_equal(replicate_means(values[:, 0]), means[:, 0])


def test_nothing_cancels_where_one_run_is_larger_by_orders_of_magnitude() -> None:
    assert replicate_means(np.array([1e-20, 1e20, 3e-20]))[2] == pytest.approx(2e-20)
    assert replicate_means(np.array([1e20, 1e-20, 3e-20]))[1] == pytest.approx(2e-20)


def test_equal_runs_have_no_spread_not_even_of_rounding() -> None:
    assert set(replicate_means(np.full(10, 0.1))) == {0.1}


def test_no_runs_have_no_mean() -> None:
    assert np.isnan(replicate_means(np.empty(0))).tolist() == [True]
    assert np.isnan(replicate_means(np.empty((0, 2)))).tolist() == [[True, True]]


def test_gaps_do_not_count_and_infinities_do() -> None:
    values = np.array([[1.0, 1.0, np.nan, -np.inf], [3.0, np.inf, np.nan, np.inf], [np.nan, 2.0, np.nan, 2.0]])
    means = replicate_means(values)
    # Leaving out a run without a value changes nothing.
    assert means[:, 0].tolist() == [2, 3, 1, 2]
    assert means[:, 1].tolist() == [np.inf, np.inf, 1.5, np.inf]
    assert np.isnan(means[:, 2]).all()
    assert np.isnan(means[[0, 3], 3]).all()
    assert means[[1, 2], 3].tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("runs", [2, 3, 10, 100])
@pytest.mark.parametrize("level", [0.95, 0.99875])
def test_a_ratio_of_geometric_means_has_the_paired_t_interval(runs: int, level: float) -> None:
    logs = RNG.standard_normal((runs, 2))
    means = replicate_means(logs)
    ratios = np.exp(means[:, 0] - means[:, 1])
    expected = stats.ttest_rel(logs[:, 0], logs[:, 1]).confidence_interval(level)
    found = interval(ratios[0], [LeftOut(ratios[1:], runs)], level, logarithmic=True)
    assert found == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
    differences = means[:, 0] - means[:, 1]
    linear = interval(differences[0], [LeftOut(differences[1:], runs)], level, logarithmic=False)
    assert linear == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("sizes", [(2, 9), (5, 5), (30, 3)])
@pytest.mark.parametrize("level", [0.95, 0.99875])
def test_means_of_different_networks_have_welchs_interval(sizes: tuple[int, int], level: float) -> None:
    one, other = (RNG.standard_normal(n) * scale for n, scale in zip(sizes, (1, 7), strict=True))
    expected = stats.ttest_ind(one, other, equal_var=False).confidence_interval(level)
    found = effect_of(np.subtract, one, other)
    assert interval(found.value, found.replicates, level, logarithmic=False) == pytest.approx(
        (expected.low, expected.high)
    )
    assert found.runs == min(sizes)


def test_a_table_has_welchs_interval_whatever_the_order_of_its_rows() -> None:
    noise = {depth: RNG.standard_normal(n) for depth, n in ((2, 8), (4, 5), (8, 8), (16, 11))}
    rows = [("a", d, run, np.exp(x), True) for d, part in noise.items() for run, x in enumerate(part)]
    table = pd.DataFrame(rows, columns=["network", "depth", "run", C, "resolved"])
    ends = RatioAcrossDepths(networks=["a"], column=C, depths=[2, 16], at_least=1)
    overall = GrowthExponent(networks=["a"], column=C, span="overall", at_least=0)
    logs = np.log(list(noise))
    weights = (logs - logs.mean()) / np.sum((logs - logs.mean()) ** 2)
    parts = np.array([w**2 * x.var(ddof=1) / len(x) for w, x in zip(weights, noise.values(), strict=True)])
    freedom = parts.sum() ** 2 / np.sum(parts**2 / [len(x) - 1 for x in noise.values()])
    middle = np.sum([w * x.mean() for w, x in zip(weights, noise.values(), strict=True)])
    for rows_ in (table, table.sample(frac=1, random_state=2)):
        point = result(ends, rows_).points[0]
        expected = stats.ttest_ind(noise[16], noise[2], equal_var=False).confidence_interval(0.95)
        assert point.choices[0].own == pytest.approx((np.exp(expected.low), np.exp(expected.high)))
        point = result(overall, rows_).points[0]
        low, high = stats.t.interval(0.95, freedom, loc=middle, scale=np.sqrt(parts.sum()))
        assert point.choices[0].own == pytest.approx((low, high))
        assert point.n == 5


CHECKS = [
    (RatioAcrossDepths(networks=["a"], column=C, depths=[2, 16], at_least=1), "depth"),
    (GrowthExponent(networks=["a"], column=C, span="overall", at_least=0), "depth"),
    (GrowthDifference(network="a", other="b", column=C, at_least=0), "network"),
    (AtEveryLoss(network="a", others=["b"], column=C, at_least=1, losses=2), "network"),
    (AtEveryLoss(network="a", others=["b"], column="index", compare="difference", at_least=0,
                        losses=2), "network"),
    (LargeAgainstSmallLoss(network="a", others=["b"], column=C, at_least=1), "network"),
    (AtTheEnd(network="a", other="b", column=C, within_factor=2), "network"),
    (FinalLossRatio(network="a", others=["b"], at_least=1), "network"),
    (FinalLossAcrossDepths(network="a", at_least=1), "depth"),
    (CurveRatio(network="a", other="b", epochs=[1.0], within_factor=2), "network"),
]  # fmt: skip


def paired_table(check: Check, by: str, shuffled: bool) -> pd.DataFrame:
    """Runs that differ by large factors, the same in every depth and network; or in another order for some."""
    if isinstance(check, RatioAcrossDepths | GrowthExponent | GrowthDifference):
        table = by_depth({name: lambda _: np.ones(8) for name in "ab"})
    elif isinstance(check, FinalLossRatio | FinalLossAcrossDepths):
        # All rates end alike.
        table = sweep({name: lambda *_: 1.0 for name in "ab"}, rates=(0.1,), factor=1.0)
    else:
        table = along_training({name: lambda x: 1 + 0 * x for name in "ab"}, factor=1.0)
        table = table.assign(index=1.0, excess_loss=1.0, depth=4)
    other = table[by] == table[by].max()
    run = np.where(other & shuffled, (3 * table["run"] + 2) % 8, table["run"])
    tilt = 1 + 0.01 * other * (table["run"] % 2)
    # More at large losses and depths than at small ones, so that ratios and differences between them spread too.
    power = 1 + np.log(table["loss"]) if "loss" in table else np.log2(table["depth"]) if by == "network" else 1
    factor = (1 + 0.2 * run * tilt) ** power
    if "final_loss" in table:
        return table.assign(final_loss=1 + factor, excess_loss=factor)
    return table.assign(**{name: table[name] * factor for name in (C, "index", "excess_loss") if name in table})


def ends_of(check: Check, table: pd.DataFrame) -> list[tuple[float, float, float]]:
    return [(p.effect, *p.choices[0].own) for p in result(check, table).points]


@pytest.mark.parametrize(("check", "by"), CHECKS)
def test_no_interval_depends_on_how_the_runs_of_a_network_are_numbered(check: Check, by: str) -> None:
    as_made, renumbered = (ends_of(check, paired_table(check, by, shuffled)) for shuffled in (False, True))
    assert all(low < high for _, low, high in as_made)
    assert [pytest.approx(point, rel=1e-9) for point in as_made] == renumbered


@pytest.mark.parametrize(("check", "by"), CHECKS)
def test_a_run_counts_whether_or_not_another_network_has_its_number(check: Check, by: str) -> None:
    table = paired_table(check, by, shuffled=True)
    of_one = table[by] == table[by].min()
    apart = table[of_one & (table["run"] < 6) | ~of_one & (table["run"] >= 2)]
    same = apart.assign(run=apart["run"].where(of_one, apart["run"] - 2))
    assert ends_of(check, apart) == [pytest.approx(point, rel=1e-9) for point in ends_of(check, same)]
    assert {p.n for p in result(check, apart).points} == {6}


def test_runs_without_a_value_change_neither_n_nor_the_interval() -> None:
    check = AtEveryLoss(network="a", others=["b"], column=C, at_least=1, losses=2)
    table = paired_table(check, "network", shuffled=True).assign(resolved=True)
    unknown = (table["network"] == "a") & (table["run"] >= 5)
    found = result(check, table.assign(resolved=~unknown)).points
    expected = result(check, table[~unknown]).points
    assert [p.n for p in found] == [5, 5]
    assert [(p.effect, *p.choices[0].own) for p in found] == [
        pytest.approx((p.effect, *p.choices[0].own)) for p in expected
    ]


@pytest.mark.parametrize("logarithmic", [True, False])
def test_infinite_effects_have_the_range_of_their_replicates(logarithmic: bool) -> None:
    inf, everything = np.inf, (0.0 if logarithmic else -np.inf, np.inf)

    def of(effect: float, *replicates: float) -> tuple[float, float]:
        return interval(effect, [LeftOut(np.array(replicates), len(replicates))], 0.95, logarithmic)

    # One run diverged.
    assert of(inf, 2.0, inf, inf) == (2, inf)
    # Two or more did.
    assert of(inf, inf, inf, inf) == (inf, inf)
    assert of(inf, inf, np.nan, inf) == everything
    # One run has no interval.
    assert of(2.0, np.nan) == everything
    # One run decides.
    assert of(2.0, 2.0, inf, 2.0) == everything
    assert of(2.0, 2.0, 2.0) == (2, 2)
    if logarithmic:
        # Zero is as far off as infinity.
        assert of(0.0, 0.0, 3.0, 0.0) == (0, 3)
        assert of(2.0, 0.0, 2.0) == everything


def test_a_network_whose_every_rate_diverges_counts_against_a_low_loss() -> None:
    table = sweep({"a": lambda *_: 0.1, "b": lambda *_: 0.1}, depths=(4,))
    low = FinalExcess(networks=["a"], at_most=0.5)
    lower = FinalLossRatio(network="a", others=["b"], at_least=0.5)
    assert verdict(low, table) == verdict(lower, table) == "supported"

    def diverged(runs: int) -> pd.DataFrame:
        lost = (table["network"] == "a") & (table["run"] < runs)
        return with_excess(table, lost, np.inf)

    # But for one run it is low.
    assert verdict(low, diverged(1)) == verdict(lower, diverged(1)) == "inconclusive"
    assert verdict(low, diverged(2)) == verdict(lower, diverged(2)) == "contradicted"
    assert verdict(low, diverged(8)) == verdict(lower, diverged(8)) == "contradicted"
    assert result(low, diverged(8)).points[0].n == 8, "none vanishes"


def test_memory_is_linear_in_the_runs() -> None:
    values = RNG.standard_normal((5000, 20))
    tracemalloc.start()
    means = replicate_means(values)
    effects = np.exp(means - means[:, :1])
    found = interval(effects[0, 3], [LeftOut(effects[1:, 3], 5000)], 0.99, logarithmic=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[0] < effects[0, 3] < found[1]
    assert peak < 50e6


def test_a_check_of_5000_runs_stays_small() -> None:
    values = np.exp(RNG.standard_normal(5000))
    table = by_depth({"a": lambda d: d * values}, depths=tuple(range(1, 21)))
    tracemalloc.start()
    found = result(GrowthExponent(networks=["a"], column=C, at_least=0.5), table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {p.n for p in found.points} == {5000}
    assert peak < 50e6


@pytest.mark.parametrize(("runs", "logarithmic"), [(3, False), (5, True), (10, False), (30, True)])
def test_the_coverage_told_is_that_of_log_normal_runs(runs: int, logarithmic: bool) -> None:
    rng = np.random.default_rng(5)
    samples = np.exp(rng.standard_normal((1000, runs)))
    means = replicate_means(samples.T)
    ends = [interval(one[0], [LeftOut(one[1:], runs)], 0.95, logarithmic) for one in means.T]
    share = np.mean([low <= np.exp(0.5) <= high for low, high in ends])
    assert covered(runs, 0.95, logarithmic) == pytest.approx(share, abs=0.04)


def test_an_interval_that_covers_less_than_its_level_says_so() -> None:
    index = along_training({"a": lambda x: 0.5 * (x > 3)}, column="index").assign(network="a")
    fall = judge(claim(EarlyFall(network="a", column="index", within=0.01, at_least=0.1)), index, "laptop")
    assert fall.checks[0].coverage == covered(8, 0.95, logarithmic=False) < 0.93
    assert mentions(why(fall), f"{100 * covered(8, 0.95, False):.0f} %", "log-normal", "n = 8")
    ratio = judge(claim(GrowthExponent(networks=["a"], column=C, at_least=0.5)),
                  by_depth({"a": lambda d: np.full(8, d)}), "laptop")  # fmt: skip
    assert ratio.checks[0].coverage is None
    assert "log-normal" not in why(ratio)


def test_the_interval_of_one_run_covers_whatever_the_effect_can_be() -> None:
    table = sweep({"a": lambda _, rate: 0.1 if rate == 0.1 else 5.0})
    excess = FinalExcess(networks=["a"], at_most=0.5)
    alone = judge(claim(excess, runs=1), table[table["run"] == 0], "laptop")
    assert [point.choices[0].own for point in alone.checks[0].points] == [(0.0, pytest.approx(999_999))] * 2
    assert alone.checks[0].coverage is None
    assert "log-normal" not in why(alone)
    # Two have an interval, which is too narrow.
    two = judge(claim(excess, runs=1), table[table["run"] < 2], "laptop")
    assert two.checks[0].coverage == covered(2, 0.95, logarithmic=False)


@pytest.mark.parametrize("level", [0.95, 0.99, 0.99875])
def test_the_interval_of_a_median_is_the_shortest_that_covers_at_its_level_by_enumeration(level: float) -> None:
    """Of each number of runs below the median, by its binomial probability: whether the interval has it."""
    for runs in range(1, 41):
        ordered, below = np.arange(1.0, runs + 1), np.arange(runs + 1)
        chances = stats.binom.pmf(below, runs, 0.5)
        low, high = median_interval(ordered, level)
        # With so many runs below, the median lies between that run and the next.
        covers = chances[(low <= below) & (below < high)].sum()
        assert covers >= level - 1e-12
        shorter = chances[(low + 1 <= below) & (below < high - 1)].sum() if low > 0 else chances[1:-1].sum()
        assert shorter < level
        assert (high - 1, low) == ((runs - low), low) if np.isfinite(low) else high == np.inf
        if level == 0.95:
            assert np.isfinite(low) == (runs >= FEWEST)


@pytest.mark.parametrize(
    "law",
    [lambda rng, n: np.exp(3 * rng.standard_normal(n)), lambda rng, n: rng.standard_cauchy(n),
     lambda rng, n: rng.integers(0, 3, n)],
    ids=["log-normal", "Cauchy", "three values"],
)  # fmt: skip
@pytest.mark.parametrize("runs", [6, 9, 30])
def test_intervals_of_medians_cover_whatever_the_law(law, runs: int) -> None:  # type: ignore[no-untyped-def]
    rng, truth = np.random.default_rng(7), np.median(law(np.random.default_rng(8), 100_001))
    ends = [median_interval(np.sort(law(rng, runs)), 0.95) for _ in range(2000)]
    share = np.mean([low <= truth <= high for low, high in ends])
    assert share > 0.95 - 3 * np.sqrt(0.05 * 0.95 / 2000)
