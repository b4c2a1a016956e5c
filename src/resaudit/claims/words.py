"""Verdicts in words: effects, intervals, thresholds, and the sentence that a person would say."""

from collections.abc import Sequence

from resaudit.base.text import effect_and_interval, number, span
from resaudit.claims.decision import ERROR_RATE
from resaudit.claims.verdicts import CheckResult, Judged, Judgement, Verdict, unmeasured
from resaudit.plan.check import Check

_MEETS = {Verdict.supported: "meets", Verdict.contradicted: "fails", Verdict.inconclusive: "leaves open"}


def threshold_in_words(check: Check) -> str:
    """The claim's side of our threshold.

    >>> threshold_in_words(Check(at_most=1)), threshold_in_words(Check(within_factor=2))
    ('≤ 1', 'within a factor of 2')
    >>> threshold_in_words(Check(at_least=-0.5, at_most=0.5))
    '−0.5 to 0.5'
    """
    if check.within_factor is not None:
        return f"within a factor of {number(check.within_factor)}"
    low, high = check.region
    if low is not None and high is not None:
        return span(low, high)
    return f"≥ {number(low)}" if low is not None else f"≤ {number(high)}"


def why(judgement: Judgement) -> str:
    """The verdict in the words that a person would say."""
    return judgement.obstacle or " ".join(map(sentence, judgement.checks))


def sentence(result: CheckResult) -> str:
    """What a check found: how many comparisons meet the threshold, and the least favourable one."""
    name, worst = result.name.replace("-", " ").capitalize(), result.worst
    if worst is None:
        excluded = result.measured.without_effect
        return f"{name}: nothing could be measured" + (f" ({'; '.join(excluded[:3])})." if excluded else ".")
    unknown = unmeasured(result.check, result.points)
    without = f" (nothing measured for {', '.join(unknown)})" if unknown else ""
    effect, ends = effect_and_interval(worst.effect, *worst.ends, is_ratio(result), digits=3)
    found = f"{result.measured.unit} {effect} ({_interval_of(result, ends)}, n = {worst.runs})"
    lead = ". Worst" if len(result.points) > 1 else ""
    return (
        f"{name}: {how_often(result.points)}{without}{lead}: {found} for {worst.where}; "
        f"our threshold: {threshold_in_words(result.check)}.{out_of_reach(result)}"
    )


def is_ratio(result: CheckResult) -> bool:
    """Whether the effect is a ratio, for which 1 means no difference."""
    return result.measured.unit == "ratio"


def out_of_reach(result: CheckResult) -> str:
    """A sentence that theory excludes the threshold at this size, with the reason; empty if it does not."""
    if result.limit is None or not result.limit.excludes(result.check):
        return ""
    return f" No effect can meet this threshold at this size: {result.limit.reason}"


def _interval_of(result: CheckResult, ends: str) -> str:
    if result.exact:
        return "exact"
    if result.measured.spread:
        return f"{ends} {result.measured.spread}"
    together = round(ERROR_RATE / (1 - result.level))
    words = [f"95 % CI {ends}"]
    words += [f"Bonferroni over {together}"] if together > 1 else []
    words += (
        ["over all learning rates not distinguishable from the best"]
        if any(point.tied for point in result.points)
        else []
    )
    if result.coverage is not None:
        words.append(f"each interval covers {100 * result.coverage:.0f} % if runs are log-normal")
    return ", ".join(words)


def how_often(points: Sequence[Judged]) -> str:
    """How many comparisons meet the threshold.

    >>> point = Judged("", 1, 1, 1, 3, Verdict.supported)
    >>> how_often([point]), how_often([point, point])
    ('meets the threshold', 'all 2 comparisons meet the threshold')
    """
    counts = {verdict: sum(point.verdict is verdict for point in points) for verdict in _MEETS}
    met, failed, undecided = counts.values()
    if len(points) == 1:
        words = ("meets the threshold", "fails the threshold", "undecided")
        return next(word for word, count in zip(words, counts.values(), strict=True) if count)
    if met == len(points):
        return f"all {met} comparisons meet the threshold"
    return f"{met} of {len(points)} comparisons meet the threshold, {failed} fail, {undecided} are undecided"
