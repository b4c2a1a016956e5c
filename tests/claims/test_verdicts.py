"""Oracle: the rules in words. Sees an interval on the wrong side, evidence too thin to count, a claim half held."""

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import CheckError, TableError
from resaudit.claims.checks.depths import GrowthExponent, RatioAcrossDepths
from resaudit.claims.checks.losses import AtEveryLoss
from resaudit.claims.decision import ERROR_RATE, Verdict, error_of
from resaudit.claims.verdicts import judge
from resaudit.claims.words import threshold_in_words, why
from resaudit.plan.claim import Check, Needs
from tests.claims.made import RUNS, along_training, by_depth, claim, mentions, spread
from tests.refusals import refused

CONSTANT = RatioAcrossDepths(networks=["a"], column="condition_number", within_factor=1.1)
GROWS = GrowthExponent(networks=["b"], column="condition_number", at_least=0.5)


def table(factor: float = 1.01, runs: int = RUNS) -> pd.DataFrame:
    """Network a is constant, b grows linearly."""
    return by_depth({"a": lambda _: spread(3, factor, runs), "b": lambda d: spread(d, factor, runs)})


def test_all_checks_must_hold_and_one_that_fails_is_enough() -> None:
    falls = GrowthExponent(networks=["b"], column="condition_number", at_most=0)
    unknown = GrowthExponent(networks=["a"], column="condition_number", at_least=0)
    assert judge(claim(CONSTANT, GROWS), table(), "laptop").verdict == "supported"
    assert judge(claim(CONSTANT, falls), table(), "laptop").verdict == "contradicted"
    assert judge(claim(CONSTANT, unknown), table(), "laptop").verdict == "inconclusive"
    assert judge(claim(falls, unknown), table(), "laptop").verdict == "contradicted"


@pytest.mark.parametrize(
    ("check", "low_side", "high_side"),
    [
        (Check(at_most=1.0), "supported", "contradicted"),
        (Check(at_least=1.0), "contradicted", "supported"),
        (Check(within_factor=1.05), "contradicted", "contradicted"),
    ],
)
def test_the_whole_interval_decides(check: Check, low_side: Verdict, high_side: Verdict) -> None:
    def of(effect: float, factor: float) -> Verdict:
        rows = by_depth({"a": lambda d: spread(effect if d > 2 else 1.0, factor)}, depths=(2, 4))
        asked = RatioAcrossDepths(networks=["a"], column="condition_number", **dict(check))
        return judge(claim(asked), rows, "laptop").verdict

    assert of(0.5, 1.01) is low_side
    assert of(2.0, 1.01) is high_side
    assert of(1.01, 1.5) == "inconclusive"
    # The threshold itself belongs to the claim.
    assert of(1.0, 1.0) == "supported"


def test_intervals_of_one_claim_share_the_error_rate() -> None:
    found = judge(claim(CONSTANT, GROWS), table(), "laptop").checks
    # Three depths over the first, and three steps.
    assert {f.level for f in found} == {1 - ERROR_RATE / 6}
    wide = judge(claim(CONSTANT, GROWS), table(1.3), "laptop").checks[0].points[0]
    narrow = judge(claim(CONSTANT.model_copy(update={"depths": [2, 4]})),
                   table(1.3), "laptop").checks[0].points[0]  # fmt: skip
    assert (
        wide.choices[0].shared[0]
        < narrow.choices[0].shared[0]
        < narrow.choices[0].shared[1]
        < wide.choices[0].shared[1]
    )
    # Support needs each by itself.
    assert wide.choices[0].own == narrow.choices[0].own


def test_a_rung_has_its_share_of_the_error_in_both_levels_and_in_words() -> None:
    looks = {rung: judge(claim(CONSTANT), table(1.3), "laptop", rung=rung) for rung in (None, 1, 2, 3)}
    checks = {rung: look.checks[0] for rung, look in looks.items()}
    assert [check.own_level for check in checks.values()] == pytest.approx([0.95, 0.975, 0.985, 0.99])
    assert [check.level for check in checks.values()] == pytest.approx([1 - e / 3 for e in (0.05, 0.025, 0.015, 0.01)])
    widths = [check.points[0].choices[0].own[1] - check.points[0].choices[0].own[0] for check in checks.values()]
    assert widths == sorted(widths)
    assert mentions(why(looks[2]), "98.5 % CI")
    # The looks of a ladder err no more often than one.
    assert sum(error_of(rung) for rung in (1, 2, 3)) == pytest.approx(error_of(None))


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"scale": "smoke"}, ("laptop", "paper", "smoke")),
        ({"runs": 9}, (9, "runs", 8)),
        ({"depths": (2, 64)}, ("depth 64",)),
    ],
)
def test_less_than_the_least_evidence_is_inconclusive_and_says_what_is_missing(change: dict, missing: tuple) -> None:  # type: ignore[type-arg]
    asked = claim(CONSTANT, runs=change.get("runs", 3), depths=change.get("depths", ()))
    judgement = judge(asked, table(), change.get("scale", "laptop"))
    assert judgement.verdict == "inconclusive"
    assert mentions(why(judgement), *missing)
    # What was measured is still told.
    assert judgement.checks


def test_one_run_only_is_no_evidence() -> None:
    judgement = judge(claim(CONSTANT), table(runs=1), "laptop")
    assert judgement.verdict == "inconclusive"
    assert mentions(why(judgement), 3, "runs", 1)


def test_a_network_that_is_not_there_is_missing() -> None:
    judgement = judge(claim(GROWS), table().query("network == 'a'"), "laptop")
    assert judgement.verdict == "inconclusive"
    assert mentions(why(judgement), "network b")


def test_without_a_table_a_claim_is_not_run_and_its_checks_are_still_told() -> None:
    judgement = judge(claim(CONSTANT), None, "laptop")
    assert judgement.verdict == "not run"
    assert mentions(why(judgement), "fig04")
    assert judgement.checks[0].verdict == "not run"


def test_a_claim_without_a_figure_says_so_and_why() -> None:
    lost = claim(CONSTANT).model_copy(update={"not_yet": "its numbers are lost"})
    said = why(judge(lost, None, "laptop"))
    assert mentions(said, "no figure", lost.not_yet)
    assert "drawn" not in said


def test_values_under_the_noise_floor_are_never_evidence() -> None:
    rows = table()
    exploding = (rows["network"] == "a") & (rows["depth"] == 16)
    rows.loc[exploding, "condition_number"] = 1e9
    assert judge(claim(CONSTANT), rows, "laptop").verdict == "contradicted"
    rows.loc[exploding & (rows["run"] == 0), "resolved"] = False
    judgement = judge(claim(CONSTANT), rows, "laptop")
    assert judgement.verdict == "supported"
    (excluded,) = judgement.checks[0].excluded
    assert mentions(excluded, "a, depth 16", "1 of 8")


def test_unresolved_values_along_training_are_left_out_with_their_neighbourhood() -> None:
    check = AtEveryLoss(network="a", others=["b"], column="condition_number", at_most=1, losses=8)
    rows = along_training({"a": lambda x: np.where(x < 0.45, 99.0, 0.5), "b": lambda x: 1 + 0 * x})
    assert judge(claim(check), rows, "laptop").verdict == "contradicted"
    rows.loc[(rows["network"] == "a") & (rows["loss"] < 0.45), "resolved"] = False
    judgement = judge(claim(check), rows, "laptop")
    assert judgement.verdict == "supported"
    assert len(judgement.checks[0].excluded) >= 1


@pytest.mark.parametrize("column", ["condition_number", "depth", "run", "network"])
def test_a_missing_column_is_told_with_those_there_are(column: str) -> None:
    with refused(CheckError, [column], list(table().drop(columns=column).columns)):
        judge(claim(CONSTANT), table().drop(columns=column), "laptop")


def test_a_value_that_should_be_there_is_told_with_its_line() -> None:
    rows = table()
    rows.loc[4, "condition_number"] = np.nan
    with refused(TableError, "condition_number", "no value", 6, 1):
        judge(claim(CONSTANT), rows, "laptop")
    rows.loc[4, "resolved"] = False
    # A run that diverged has no spectrum.
    assert judge(claim(CONSTANT), rows, "laptop").checks


def test_the_worst_point_and_the_words_of_a_verdict() -> None:
    judgement = judge(claim(GROWS), by_depth({"b": lambda d: spread(min(d, 8), 1.01)}), "laptop")
    worst = judgement.checks[0].worst
    assert worst is not None
    assert worst.where == "b, depth 8 to 16"
    assert mentions(why(judgement), "2 of 3", "1 fails", worst.where, "≥ 0.5", "n = 8")


def test_criteria_in_words() -> None:
    assert threshold_in_words(Check(at_least=-0.5, at_most=0.5)) == "−0.5 to 0.5"


def test_runs_of_which_only_the_end_is_known_are_not_followed() -> None:
    smaller = AtEveryLoss(network="a", others=["b"], column="condition_number", at_most=1, losses=5)
    table = along_training({"a": lambda x: x, "b": lambda x: 2 * x})
    ends = table[table["epoch"] == table["epoch"].max()]
    both = pd.concat([table, ends.assign(run=ends["run"] + RUNS)], ignore_index=True)
    for followed, expected in ((RUNS, "supported"), (RUNS + 1, "inconclusive")):
        asked = claim(smaller).model_copy(update={"needs": Needs(runs=3, followed=followed)})
        judgement = judge(asked, both, "laptop")
        assert judgement.verdict == expected
        assert mentions(judgement.obstacle, "a", "b", followed, RUNS) == (expected == "inconclusive")
