"""How likely a rerun turns a verdict. Oracle: runs drawn again from a known law, at several distances from a threshold.

Sees a chance that leaves out one of the two errors (resampling predicts half of the turns), comparisons of the same
runs that turn one by one, a law of counts that is not theirs, and a chance where runs decide nothing.
"""

import numpy as np
import pandas as pd
import pytest
from benchmarks.reruns import LAWS, POSITIVE, simulated, table, verdicts

from resaudit.claims.checks.groups import RatioOfMeans
from resaudit.claims.checks.rates import BestRateRatio, FinalLossRatio
from resaudit.claims.checks.runs import MeanOfRuns, MedianOfRuns, ShareOfRuns
from resaudit.claims.records import TurnsOnRerun
from resaudit.claims.reruns import turns_on_rerun
from resaudit.claims.verdicts import judge
from resaudit.plan.claim import Check
from tests.claims.made import claim, sweep


def turns(check: Check, rows: pd.DataFrame, scale: str = "laptop") -> TurnsOnRerun:
    asked = claim(check, runs=1)
    found = turns_on_rerun(asked, rows, judge(asked, rows, scale))
    assert found
    return found


@pytest.mark.parametrize("runs", [5, 20])
def test_as_many_verdicts_turn_as_predicted(runs: int) -> None:
    true, predicted, resampled = np.moveaxis(simulated(LAWS["normal"], runs, trials=20), -1, 0)
    assert predicted.mean() == pytest.approx(true.mean(), rel=0.2)
    assert 1.3 * resampled.mean() < true.mean()
    assert true[predicted < 0.1].mean() < 0.1 < 0.3 < true[predicted > 0.3].mean()


def test_comparisons_of_the_same_runs_turn_together() -> None:
    exponents = np.random.default_rng(1).standard_normal(10) + 0.6
    one, many = (table(exponents, places) for places in (1, 20))
    (check,) = POSITIVE.checks.values()
    assert 0.1 < turns(check, one).chance < 0.5
    assert turns(check, one) == turns(check, many)
    assert 0.005 < turns(check, one).error < 0.02


@pytest.mark.parametrize("runs", [3, 10])
def test_verdicts_have_the_shares_of_runs_drawn_from_the_laws_that_these_may_have(runs: int) -> None:
    """A true variance, a true mean and other runs, one after the other, with Student's t of each rerun."""
    exponents = np.linspace(-1, 1, runs) * 0.3 + {3: 1.0, 10: 0.2}[runs]
    rng, draws = np.random.default_rng(3), 50_000
    true = exponents.std(ddof=1) * np.sqrt((runs - 1) / rng.chisquare(runs - 1, draws))
    means = exponents.mean() + true / np.sqrt(runs) * rng.standard_normal(draws)
    again = means[:, None] + true[:, None] * rng.standard_normal((draws, runs))
    expected = np.bincount(verdicts(again), minlength=3) / draws
    found = turns(POSITIVE.checks["mean"], table(exponents)).verdicts
    shares = [found.get(verdict, 0) for verdict in ("supported", "contradicted", "inconclusive")]
    assert shares == pytest.approx(expected, abs=0.04)


def test_a_rerun_is_contradicted_at_the_level_that_the_comparisons_share_and_lacks_what_this_run_lacks() -> None:
    exponents = np.linspace(-1, 1, 10) - 0.6
    one, many = (turns(POSITIVE.checks["mean"], table(exponents, places)).verdicts for places in (1, 20))
    assert 0.1 < many["contradicted"] < one["contradicted"] - 0.2
    alone = table(exponents + 9).query("run < 2").assign(place=1)
    lacking, rows = claim(*POSITIVE.checks.values(), runs=3), pd.concat([table(exponents + 9), alone])
    found = turns_on_rerun(lacking, rows, judge(lacking, rows, "laptop"))
    assert found
    assert found.verdicts == {"inconclusive": 1}


@pytest.mark.parametrize("hits", [(192,), (192, 195)])
def test_shares_have_the_law_of_counts(hits: tuple[int, ...]) -> None:
    rows = pd.DataFrame({"network": "a", "k": range(len(hits)), "runs": 200, "good": hits})
    check = ShareOfRuns(networks=["a"], column="good", by="k", at_least=0.9)
    # Of 200 runs, 189 are the fewest whose exact interval begins at 0.9.
    rng = np.random.default_rng(2)
    fewest = [rng.binomial(200, rng.beta(hit, 200 - hit, 100_000)) for hit in hits]
    found = turns(check, rows)
    assert found.error == 0
    assert found.chance == pytest.approx(1 - np.mean(np.min(fewest, axis=0) >= 189), abs=0.01)
    assert found.verdicts["supported"] == pytest.approx(1 - found.chance)


def test_a_printed_share_is_the_same_in_every_rerun() -> None:
    rows = pd.DataFrame(
        {"network": "a", "k": [1], "runs": 10_000, "good": 9000, "published": 0.5, "published_runs": 40}
    )
    near = ShareOfRuns(networks=["a"], column="good", by="k", differ_from="published", at_least=0.2)
    assert judge(claim(near, runs=1), rows, "laptop").verdict == "supported"
    assert turns(near, rows).chance < 0.001


def test_medians_and_best_rates_are_found_anew_in_each_rerun() -> None:
    def of_values(values: np.ndarray) -> float:
        rows = pd.DataFrame({"case": "a", "run": range(len(values)), "value": values})
        return turns(MedianOfRuns(column="value", per=["case"], at_least=1), rows).chance

    runs = np.linspace(0, 1, 20)
    # The sixth least of 20 bounds the median.
    assert of_values(2 + runs) == 0
    assert 0.2 < of_values(1 - runs[5] + runs) < 0.8

    faster = BestRateRatio(network="b", others=["a"], at_least=3)
    apart, near = (
        sweep({"a": lambda _, rate: {0.01: 9.0, 0.1: 1.0, 1.0: 9.0}[rate],
               "b": lambda _, rate, tie=tie: {0.01: 9.0, 0.1: tie, 1.0: 1.0}[rate]}, factor=1.3)
        for tie in (9.0, 1.3)
    )  # fmt: skip
    assert turns(faster, apart).chance == 0
    assert turns(faster, near).chance > 0.1


def test_rates_that_are_tied_with_opposite_verdicts_are_so_in_a_rerun() -> None:
    of_rates = {"a": {0.01: 9.0, 0.1: 1.0, 1.0: 9.0}, "b": {0.01: 9.0, 0.1: 1.0, 1.0: 1.05}}
    rows = sweep({name: lambda _, rate, of=of: of[rate] for name, of in of_rates.items()}, factor=1.001)
    assert turns(FinalLossRatio(network="a", others=["b"], at_most=1.02), rows).verdicts == {"depends": 1}


def test_what_no_rerun_can_turn_has_no_chance() -> None:
    few = table(np.array([1.0, 2.0]))
    too_small = claim(*POSITIVE.checks.values(), runs=3)
    assert turns_on_rerun(too_small, few, judge(too_small, few, "laptop")) is None
    single = few[few["run"] == 0].drop(columns="run")
    exact = claim(*POSITIVE.checks.values(), runs=1)
    assert judge(exact, single, "laptop").verdict == "supported"
    assert turns_on_rerun(exact, single, judge(exact, single, "laptop")) is None


def test_where_some_runs_diverged_no_chance_is_known() -> None:
    """Of eight runs, each of which diverges once in four times, none or one does in a third of the reruns."""
    check = claim(MeanOfRuns(column="value", per=["case"], at_most=5), runs=3)
    for diverged, verdict in ((1, "inconclusive"), (2, "contradicted")):
        values = [np.inf] * diverged + np.linspace(1.5, 2.5, 8 - diverged).tolist()
        rows = pd.DataFrame({"case": "a", "run": range(8), "value": values})
        found = judge(check, rows, "laptop")
        assert found.verdict == verdict
        assert turns_on_rerun(check, rows, found) is None
    check = claim(RatioOfMeans(column="value", by="case", above="a", below="b", at_most=9), runs=3)
    rows = pd.DataFrame({"case": list("aaabbb"), "run": [0, 1, 2] * 2, "value": [1.0, 2, 3, 1, 2, np.inf]})
    assert turns_on_rerun(check, rows, judge(check, rows, "laptop")) is None
    # Two runs of each case, which is too few.
    check = claim(MeanOfRuns(column="value", per=["case"], at_most=5), runs=3)
    rows = pd.DataFrame({"case": list("aabb"), "run": [0, 1, 1, 2], "value": [1.0, 2.0, 1.0, 2.0]})
    assert turns_on_rerun(check, rows, judge(check, rows, "laptop")) is None
