"""Oracle: every check on tables that are odd but possible gives a judgement or one line, never a warning or worse.

Sees a logarithm of nothing, a division by zero, text taken for a number or for true, an empty selection indexed; and
a claim that is supported by what such a table cannot show.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import CheckError, ResauditError, TableError
from resaudit.base.models import meanings
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
from resaudit.claims.records import Judgement
from resaudit.claims.verdicts import judge, range_of
from resaudit.claims.words import why
from resaudit.plan.claim import Check, checks_by_name
from tests.claims.made import along_training, by_depth, claim, result, spread, sweep, verdict, with_excess
from tests.refusals import refused

C = "condition_number"
TRAINED = along_training({"a": lambda x: 0.5 + 0 * x, "b": lambda x: 1 + 0 * x}).assign(index=lambda t: t["loss"] / 8)
BY_DEPTH = by_depth({"a": lambda d: spread(d, 1.01), "b": lambda d: spread(d**2, 1.01)})
SWEPT = sweep({"a": lambda _, rate: 0.001 / rate, "b": lambda depth, rate: 0.02 * depth * rate})
CURVES = pd.DataFrame(
    [
        (n, d, r, e, x / (1 + e))
        for n in "ab"
        for d in (4, 16)
        for e in (0, 1, 10, 100)
        for r, x in enumerate(spread(1))
    ],
    columns=["network", "depth", "run", "epoch", "excess_loss"],
)
MEASURED = pd.DataFrame(
    [(p, d, u, 1e-16, 1e-15, 2.0 / u) for p in "ab" for d in range(4) for u in (1, 10, 100)],
    columns=["property", "draw", "units", "error", "tolerance", "value"],
)
COUNTED = pd.DataFrame({"network": list("aab"), "k": [1, 2, 1], "runs": 100.0, "hits": [50.0, 60.0, 70.0]})
ENDS = SWEPT.rename(columns={"final_loss": "error"}).assign(step=9)[
    ["network", "depth", "learning_rate", "run", "step", "error"]
]
NORMS = pd.DataFrame(
    [
        (n, d, p, r, d ** (p - 0.5) * x)
        for n in "ab"
        for d in (2, 4, 8)
        for p in (0.2, 0.4, 0.6)
        for r, x in enumerate(spread(1))
    ],
    columns=["network", "depth", "power", "run", "norm"],
)
BOTH = {"network": "a", "others": ["b"]}
CASES: list[tuple[Check, pd.DataFrame, str]] = [
    (RatioAcrossDepths(networks=["a", "b"], column=C, within_factor=1.1), BY_DEPTH, C),
    (GrowthExponent(networks=["a", "b"], column=C, at_least=0.5), BY_DEPTH, C),
    (GrowthExponent(networks=["a", "b"], column=C, at_least=0.5, span="overall"), BY_DEPTH, C),
    (GrowthExponent(column="value", by="units", rows={"property": "a"}, per=["draw"], at_most=-0.5), MEASURED,
     "value"),
    (GrowthDifference(network="a", other="b", column=C, at_most=0), BY_DEPTH, C),
    (RatioOfMeans(column=C, by="network", above="a", below="b", per=["depth"], at_most=1), BY_DEPTH, C),
    (DifferenceOfMeans(column=C, by="network", above="a", below="b", per=["depth"], at_most=0), BY_DEPTH, C),
    (AtEveryLoss(**BOTH, column=C, at_most=1, losses=5), TRAINED, C),
    (AtEveryLoss(**BOTH, column="index", compare="difference", at_most=0, losses=5), TRAINED, "index"),
    (LargeAgainstSmallLoss(**BOTH, column=C, at_most=1), TRAINED, C),
    (AtTheEnd(network="a", other="b", column=C, within_factor=2), TRAINED, C),
    (EarlyFall(network="a", column="index", at_least=0.1), TRAINED, "index"),
    (EarlyFall(network="a", column="index", of_whole=True, at_least=0.1), TRAINED, "index"),
    (FallByLoss(network="a", column="index", of_whole=True, at_least=0.1), TRAINED, "index"),
    (PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2), TRAINED, "index"),
    (PeakAtDrop(network="a", peak="gradient_norm", drop="index", at_most=2), TRAINED, "gradient_norm"),
    (FinalExcess(networks=["a", "b"], at_most=0.1), SWEPT, "excess_loss"),
    (FinalLossRatio(**BOTH, at_least=2), SWEPT, "excess_loss"),
    (FinalLossRatio(**BOTH, at_least=2, excess=False), SWEPT, "final_loss"),
    (FinalLossPairs(**BOTH, factor=2, at_least=0.5), SWEPT, "excess_loss"),
    (FinalLossAcrossDepths(network="a", at_most=1.1), SWEPT, "final_loss"),
    (BestRateRatio(**BOTH, at_least=2), SWEPT, "excess_loss"),
    (BestRateKept(network="a", at_least=0.3), SWEPT, "excess_loss"),
    (SpreadOverRates(networks=["a", "b"], depth=16, at_most=1.05), SWEPT, "final_loss"),
    (CurveRatio(network="a", other="b", within_factor=10), CURVES, "excess_loss"),
    (IdentitiesHold(properties=["a", "b"], at_most=1), MEASURED, "error"),
    (IdentitiesHold(properties=["a", "b"], at_most=1), MEASURED, "tolerance"),
    (Magnitude(properties=["a"], at_least=0.5, at_most=3), MEASURED, "value"),
    (MeanOfRuns(column=C, per=["network", "depth"], at_least=1), BY_DEPTH, C),
    (MedianOfRuns(column=C, per=["network", "depth"], at_least=1), BY_DEPTH, C),
    (AgainstBounds(column=C, by="network", bounds={"a": 2, "b": 3}, per=["depth"], at_least=0.9), BY_DEPTH, C),
    (AgainstBounds(column=C, by="network", bounds={"a": 2, "b": 3}, per=["depth"], statistic="median", at_most=99),
     BY_DEPTH, C),
    (ShareOfSteps(column="index", above=0.1, per=["network"], at_least=0.1), TRAINED, "index"),
    (ShareOfSteps(column="index", change=True, below=0, span=0.2, until=9, per=["network"], at_least=0.1), TRAINED,
     "index"),
    (ShareOfRuns(networks=["a"], column="hits", by="k", at_least=0.1), COUNTED, "hits"),
    (ShareChange(networks=["a"], column="hits", by="k", at_least=0.1), COUNTED, "hits"),
    (ShareChange(networks=["a"], column="hits", by="k", at_least=0.1), COUNTED, "runs"),
    (EndRatio(network="a", other="b", column="error", at_most=1), ENDS, "error"),
    (ZeroOfExponent(column="norm", by="depth", against="power", first=0, last=1, per=["network"], at_least=0.4), NORMS,
     "norm"),
    (MonotoneRuns(column="index", direction="falls", tolerance=0.1, per=["network"], at_least=0.1), TRAINED, "index"),
]  # fmt: skip
Where = Callable[[pd.DataFrame], "pd.Series[bool]"]
Change = Callable[[pd.DataFrame, str], pd.DataFrame]


def everywhere(table: pd.DataFrame) -> "pd.Series[bool]":
    return pd.Series(True, index=table.index)


def of_a(table: pd.DataFrame) -> "pd.Series[bool]":
    return table["network" if "network" in table else "property"] == "a"


def first_run(table: pd.DataFrame) -> "pd.Series[bool]":
    key = next((key for key in ("run", "draw", "k") if key in table), "")  # of counts over runs the first group
    return table[key] == table[key].min()


def third_row(table: pd.DataFrame) -> "pd.Series[bool]":
    return pd.Series(np.arange(len(table)) == 2, index=table.index)


def holding(value: float, where: Where, column: str | None = None) -> Change:
    """The check's column, or another, with a value in some rows."""

    def change(table: pd.DataFrame, checked: str) -> pd.DataFrame:
        name = column or checked
        return table if name not in table else table.assign(**{name: table[name].mask(where(table), value)})

    return change


def as_text(column: str | None = None) -> Change:
    def change(table: pd.DataFrame, checked: str) -> pd.DataFrame:
        name = column or checked
        return table if name not in table else table.assign(**{name: table[name].astype(str)})

    return change


def with_word(table: pd.DataFrame, checked: str) -> pd.DataFrame:
    return table.assign(**{checked: [*table[checked][:-1], "many"]})


def unresolved(where: Where) -> Change:
    def change(table: pd.DataFrame, checked: str) -> pd.DataFrame:
        return holding(np.nan, where)(table.assign(resolved=~where(table)), checked) if "resolved" in table else table

    return change


def only(where: Where) -> Change:
    return lambda table, _: table[where(table)]


def last_epoch(table: pd.DataFrame) -> "pd.Series[bool]":
    return table["epoch"] == table["epoch"].max() if "epoch" in table else first_run(table)


ODD: dict[str, Change] = {
    "nothing": lambda table, _: table,
    "zero": holding(0.0, everywhere),
    "zero of a": holding(0.0, of_a),
    "zero in a run": holding(0.0, first_run),
    "negative": holding(-1.0, everywhere),
    "one negative": holding(-1.0, third_row),
    "infinite": holding(np.inf, everywhere),
    "infinite of a": holding(np.inf, of_a),
    "infinite in a run": holding(np.inf, first_run),
    "minus infinite": holding(-np.inf, of_a),
    "huge": holding(1e308, of_a),
    "tiny": holding(1e-308, of_a),
    "missing": holding(np.nan, third_row),
    "a word": with_word,
    "text": as_text(),
    "depth as text": as_text("depth"),
    "loss as text": as_text("loss"),
    "rates as text": as_text("learning_rate"),
    "resolved as text": as_text("resolved"),
    "depth as float": lambda t, _: t.assign(depth=t["depth"].astype(float)) if "depth" in t else t,
    "no rows": lambda table, _: table.iloc[:0],
    "one row": lambda table, _: table.iloc[:1],
    "one run": only(first_run),
    "without a": only(lambda table: ~of_a(table)),
    "without b": only(of_a),
    "a in one run": only(lambda table: ~of_a(table) | first_run(table)),
    "a without the last epoch": only(lambda table: ~(of_a(table) & last_epoch(table))),
    "the last epoch alone": only(last_epoch),
    "one depth": lambda table, _: table[table["depth"] == 16] if "depth" in table else table,
    "a rate that few tried": lambda t, _: t[(t["learning_rate"] < 1) | first_run(t)] if "learning_rate" in t else t,
    "in another order": lambda table, _: table.sample(frac=1, random_state=1),
    "twice": lambda table, _: pd.concat([table, table], ignore_index=True),
    "unresolved": unresolved(everywhere),
    "unresolved of a": unresolved(of_a),
    "unresolved at the end": unresolved(last_epoch),
    "diverged": holding(np.inf, everywhere, "loss"),
    "a diverged": holding(np.inf, of_a, "loss"),
    "loss of zero": holding(0.0, last_epoch, "loss"),
    "loss below zero": holding(-1.0, last_epoch, "loss"),
    "loss that stays": holding(1.0, everywhere, "loss"),
    "optimum of zero": holding(0.0, everywhere, "optimal_loss"),
    "optimum above": holding(2.0, everywhere, "optimal_loss"),
    "no tolerance": holding(0.0, everywhere, "tolerance"),
    "any tolerance": holding(np.inf, everywhere, "tolerance"),
}


def judged(check: Check, table: pd.DataFrame) -> Judgement | str:
    try:
        return judge(claim(check, runs=3), table, "laptop")
    except ResauditError as error:
        return str(error)


@pytest.mark.parametrize("name", ODD)
def test_every_check_gives_a_judgement_with_a_reason_or_one_line(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for check, table, column in CASES:
            said = judged(check, ODD[name](table, column))
            words = said if isinstance(said, str) else why(said)
            assert words, (name, check)
            assert "\n" not in words
            assert "nan" not in words.split()
            # Where nothing is measured it is said why.
            checks = [] if isinstance(said, str) else said.checks
            assert all(found.points or found.left_out for found in checks), (name, check)


@pytest.mark.parametrize(
    "name", ["one row", "one run", "missing", "a word", "text", "no rows", "minus infinite", "any tolerance"]
)
def test_nothing_is_supported_where_there_is_nothing_to_support_it(name: str) -> None:
    for check, table, column in CASES:
        if name == "any tolerance" and column != "tolerance":
            continue
        odd = ODD[name](table, column)
        if name == "minus infinite" and isinstance(check, PeakAtDrop | AtEveryLoss):
            continue
        if name in ("one row", "one run") and isinstance(check, ShareOfRuns):  # a row has the counts of many
            continue
        said = judged(check, odd)
        assert isinstance(said, str) or said.verdict != "supported", (check, said)


@pytest.mark.parametrize("name", ["infinite", "infinite of a", "infinite in a run", "diverged", "a diverged"])
def test_a_run_that_diverges_supports_no_claim_whichever_way_it_points(name: str) -> None:
    tried, broken = 0, []
    for check, table, column in CASES:
        diverged, found = ODD[name](table, column), result(check, table)
        seen = diverged.columns[~(diverged == table).all()].intersection([column, *check.reads, *check.columns])
        if "run" not in table or seen.empty or not found.points or check.about_divergence:
            continue
        ends = [end for point in found.points for choice in point.choices for end in choice.own]
        (low, high), (least, most) = (min(ends), max(ends)), range_of(check.measure(table, 3))
        # Just what the honest runs show, unless that is all that can be.
        for threshold in [{"at_least": low}] * (low > least) + [{"at_most": high}] * (high < most):
            asked = check.model_copy(update={"at_least": None, "at_most": None, "within_factor": None} | threshold)
            assert verdict(asked, table) == "supported", asked
            tried, said = tried + 1, judged(asked, diverged)
            if not isinstance(said, str) and said.verdict == "supported":
                broken.append((asked, [(p.where, p.effect, p.ends) for p in said.checks[0].points]))
    assert tried > 10
    assert not broken, broken


def test_the_list_of_checks_says_what_a_negative_value_does() -> None:
    """Of every check, for a column that a claim may choose."""
    told, free = set(), ("column", "peak", "drop")
    # Other tests of this process may have made up some.
    known = [kind for kind in checks_by_name().values() if kind.__module__.startswith(("resaudit.", "residual."))]
    for check, table, column in CASES:
        for key in {key for key in free if getattr(check, key, None) == column}:
            if column == "value":  # of single draws
                continue
            said = judged(check, ODD["negative"](table, column))
            refuses, counts = (word in meanings(type(check))[key] for word in ("refuse", "a negative value counts"))
            assert refuses != counts, (check, key)
            ratio = getattr(check, "compare", "ratio") == "ratio"
            assert isinstance(said, str) == (refuses and ratio), (check, said)
            told.add((type(check), key))
    assert told == {(kind, key) for kind in known for key in free if key in kind.model_fields}


def test_the_order_of_rows_does_not_matter() -> None:
    for check, table, column in CASES:
        one, other = (result(check, rows).points for rows in (table, ODD["in another order"](table, column)))
        assert sorted(one, key=lambda p: p.where) == sorted(other, key=lambda p: p.where), check


@pytest.mark.parametrize(
    ("name", "column", "kind", "facts"),
    [
        ("a word", C, TableError, [C, "text", f"line {len(BY_DEPTH) + 1} (1 such"]),
        ("text", "final_loss", TableError, ["final_loss", "text", "line 2"]),
        ("depth as text", C, TableError, ["depth", "text", "line 2"]),
        ("resolved as text", C, TableError, ["resolved", "another value", "line 2"]),
        ("no rows", C, TableError, ["no rows"]),
        ("negative", "final_loss", TableError, ["final_loss", "≥ 0", "line 2"]),
        (
            "one negative",
            "excess_loss",
            TableError,
            ["excess_loss", "≥ 0", "line 4 (1 such"],
        ),
        ("one negative", C, CheckError, [C, "-1"]),
        ("loss of zero", "loss", TableError, ["loss has 0;"]),
    ],
)
def test_what_is_wrong_with_a_table_is_said(
    name: str, column: str, kind: type[ResauditError], facts: list[object]
) -> None:
    check, table = next(
        (check, table)
        for check, table, checked in CASES
        if (isinstance(check, AtEveryLoss) if column == "loss" else checked == column)
    )
    with refused(kind, *facts):
        verdict(check, ODD[name](table, column))


def test_a_key_that_is_missing_is_refused_though_the_run_has_no_spectrum() -> None:
    table = BY_DEPTH.assign(depth=BY_DEPTH["depth"].astype(float), resolved=True)
    table.loc[3, ["depth", "resolved"]] = [np.nan, False]
    with refused(TableError, "depth", "no value", 5):
        verdict(CASES[0][0], table)


def test_epochs_are_not_taken_for_runs() -> None:
    table = pd.concat([BY_DEPTH.assign(epoch=epoch) for epoch in (0, 10)], ignore_index=True)
    with refused(CheckError, "run"):
        verdict(CASES[0][0], table)


def test_a_norm_of_zero_is_less_than_any_other_and_not_one() -> None:
    table = by_depth({"a": lambda d: np.zeros(8) if d == 16 else spread(0.1, 1.01)})
    found = result(RatioAcrossDepths(networks=["a"], column=C, at_most=1.1), table)
    assert [p.effect for p in found.points] == [pytest.approx(1), pytest.approx(1), 0]


def at_one_rate(a: float, b: float) -> pd.DataFrame:
    """Excess losses of all runs, at an optimum of 0.337 whose digits they have no share in."""
    table = sweep({"a": lambda *_: a, "b": lambda *_: b}, depths=(4,), rates=(0.1,), factor=1.0)
    return table.assign(optimal_loss=0.337, final_loss=0.337 + table["excess_loss"])


def test_networks_at_the_optimum_have_no_ratio_and_it_is_said() -> None:
    found = result(FinalLossRatio(network="a", others=["b"], within_factor=10), at_one_rate(0.0, 0.0))
    assert found.points == []
    assert found.verdict == "inconclusive"
    (missing,) = found.missing
    assert missing.startswith("b, depth 4:")
    reached = FinalLossRatio(network="a", others=["b"], at_least=10)
    # Only one of them is there.
    assert verdict(reached, at_one_rate(0.0, 1e-30)) == "supported"
    assert verdict(reached, at_one_rate(1e-30, 0.0)) == "contradicted"


def test_excess_losses_far_below_the_last_digit_of_the_loss_are_told_apart() -> None:
    table = at_one_rate(1e-25, 1e-20)
    assert table["final_loss"].min() == 0.337
    found = result(FinalLossRatio(network="a", others=["b"], at_least=10), table)
    assert [p.effect for p in found.points] == [pytest.approx(1e5)]
    assert found.verdict == "supported"


def test_a_network_of_which_every_rate_diverged_counts_against_it() -> None:
    table = with_excess(SWEPT, SWEPT["network"] == "b", np.inf)
    for one, other, rate, verdict_ in (("a", "b", np.inf, "supported"), ("b", "a", 0.0, "contradicted")):
        higher = result(BestRateRatio(network=one, others=[other], at_least=2), table)
        assert [p.effect for p in higher.points] == [rate] * 2
        assert higher.verdict == verdict_
        ratio = {"supported": "inconclusive"}.get(verdict_, verdict_)
        assert verdict(FinalLossRatio(network=one, others=[other], at_least=2), table) == ratio
    for excess, expected in (("a", "supported"), ("b", "contradicted")):
        assert verdict(FinalExcess(networks=[excess], at_most=1), table) == expected
    none = with_excess(SWEPT, SWEPT["run"] < 2, np.inf)
    found = result(BestRateRatio(**BOTH, at_least=2), none)
    assert found.points == []
    assert [missing.split(":")[0] for missing in found.missing] == [f"b, depth {d}" for d in (4, 16)]


def test_a_rate_that_not_every_run_tried_is_not_the_best() -> None:
    thin = SWEPT[(SWEPT["learning_rate"] < 1) | (SWEPT["run"] == 0)]
    found = result(FinalExcess(networks=["a"], at_most=1), thin)
    # The best of those that all tried.
    assert found.points[0].effect == pytest.approx(0.01, rel=1e-3)
    untried = {f"a, depth {d}, rate {rate}" for d in (4, 16) for rate in (1, 10)}
    assert {line.split(":")[0] for line in found.missing} == untried
    assert {line.split(":")[0] for line in found.excluded} == {f"a, depth {d}" for d in (4, 16)}


@pytest.mark.parametrize(
    ("error", "tolerance", "expected"),
    [(0.0, 0.0, "supported"), (1e-300, 0.0, "contradicted"), (np.inf, 1.0, "contradicted"),
     (np.inf, np.inf, "contradicted"), (0.5, np.inf, "contradicted")],
)  # fmt: skip
def test_identities_at_the_ends_of_numbers(error: float, tolerance: float, expected: str) -> None:
    check = IdentitiesHold(properties=["a"], at_most=1)
    table = MEASURED.assign(error=[error, *MEASURED["error"][1:]], tolerance=[tolerance, *MEASURED["tolerance"][1:]])
    assert verdict(check, table) == expected
