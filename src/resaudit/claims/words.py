"""Verdicts in words: effects, intervals, thresholds, and the sentence that a person would say."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from resaudit.base.text import effect_and_interval, number, span
from resaudit.claims.decision import Turns, Verdict
from resaudit.claims.verdicts import CheckResult, Judged, Judgement, region_of, unmeasured
from resaudit.plan.check import Check

CHOICES_NAMED = 3
"""Learning rates that are named where a verdict depends on them; of more, how many there are."""
_ALONE = {
    Verdict.supported: "meets the threshold",
    Verdict.contradicted: "fails the threshold",
    Verdict.depends: "depends on the learning rate",
    Verdict.inconclusive: "undecided",
}
_AMONG = {
    Verdict.contradicted: ("fails", "fail"),
    Verdict.depends: ("depends on the learning rate", "depend on the learning rate"),
    Verdict.inconclusive: ("is undecided", "are undecided"),
}


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
    diverged = "" if result.check.about_divergence else "".join(f"; {words}" for words in worst.diverged[:1])
    found = f"{result.measured.unit} {effect} ({_interval_of(result, worst, ends)}, n = {worst.runs}{diverged})"
    lead = ". Worst" if len(result.points) > 1 else ""
    depends = f", which {choices_in_words(worst)}" if worst.verdict is Verdict.depends else ""
    return (
        f"{name}: {how_often(result.points)}{without}{lead}: {found} for {worst.where}{depends}; "
        f"our threshold: {threshold_in_words(result.check)}.{out_of_reach(result)}"
    )


def leaning(judgement: Judgement) -> str:
    """Which way an open claim leans, by the effects alone; empty if it is decided or nothing was measured.

    Of a run that is too small to be evidence, or on other data, it says what was seen.
    """
    inside = [
        least <= point.effect <= most
        for result in judgement.checks
        for least, most in [region_of(result.check)]
        for point in result.points
    ]
    if judgement.verdict is not Verdict.inconclusive or not inside:
        return ""
    against = inside.count(False)
    seen = f"{against} of {len(inside)} effects {'lies' if against == 1 else 'lie'} beyond our thresholds"
    if not against:
        seen = f"all {len(inside)} effects meet our thresholds" if len(inside) > 1 else "the effect meets our threshold"
    if judgement.obstacle:
        return f"Seen here, which is no evidence: {seen}."
    return f"It leans {'against' if against else 'towards'} the claim: {seen}."


def choices_in_words(point: Judged) -> str:
    """At which choices a comparison holds, and at which it fails.

    >>> from resaudit.claims.decision import Choice
    >>> choices = tuple(Choice(f"rate {rate}", 1.0, (1.0, 1.0), (1.0, 1.0), 3) for rate in (1, 2, 3))
    >>> verdicts = (Verdict.supported, Verdict.contradicted, Verdict.supported)
    >>> choices_in_words(Judged("depth 4", choices, verdicts, Verdict.depends))
    'holds at rate 1 and rate 3, fails at rate 2'
    """
    words = []
    for verdict, word in ((Verdict.supported, "holds"), (Verdict.contradicted, "fails")):
        names = [c.name for c, found in zip(point.choices, point.verdicts, strict=True) if found is verdict]
        more = len(names) - CHOICES_NAMED
        listed = [*names[:CHOICES_NAMED], *([f"{more} others"] if more > 0 else [])]
        words += [f"{word} at {' and '.join(listed)}"] if listed else []
    return ", ".join(words)


def turns_in_words(turns: Turns) -> str:
    """Where a verdict turns as its threshold moves, rounded to the safe side.

    >>> turns_in_words(Turns("at_least", 12.345, 30.0))
    'would hold up to 12.3, fails above 30'
    >>> turns_in_words(Turns("at_most", 5.536, 2.515)), turns_in_words(Turns("within_factor", 3.0, 1.0))
    ('would hold from 5.54 up, fails below 2.51', 'would hold from 3 up, fails at none')
    >>> turns_in_words(Turns("at_most", math.inf, 0.3))
    'would hold at no threshold, fails below 0.3'
    >>> turns_in_words(Turns("at_most", math.inf, math.inf))
    'contradicted at every threshold'
    """
    if turns.everywhere:
        return f"{turns.everywhere} at every threshold"
    least = turns.key == "at_least"
    weaker, stronger = (ROUND_FLOOR, ROUND_CEILING) if least else (ROUND_CEILING, ROUND_FLOOR)
    supported, contradicted = _rounded(turns.supported, weaker), _rounded(turns.contradicted, stronger)
    holds = f"up to {supported}" if least else f"from {supported} up"
    # No ratio lies outside every factor above 1.
    never = not math.isfinite(turns.contradicted) or (turns.key == "within_factor" and turns.contradicted <= 1)
    fails = f"{'above' if least else 'below'} {contradicted}"
    return f"would hold {holds if math.isfinite(turns.supported) else 'at no threshold'}, fails " + (
        "at none" if never else fails
    )


def _rounded(value: float, towards: str) -> str:
    """Three digits in words; an infinite number is not rounded."""
    if not math.isfinite(value):
        return number(value)
    return number(float(Context(prec=3, rounding=towards).create_decimal(repr(value))), 3)


def is_ratio(result: CheckResult) -> bool:
    """Whether the effect is a ratio, for which 1 means no difference."""
    return result.measured.unit == "ratio"


def out_of_reach(result: CheckResult) -> str:
    """A sentence that theory excludes the threshold at this size, with the reason; empty if it does not."""
    if result.limit is None or not result.limit.excludes(result.check):
        return ""
    return f" No effect can meet this threshold at this size: {result.limit.reason}"


def _interval_of(result: CheckResult, worst: Judged, ends: str) -> str:
    if result.exact:
        return "exact"
    if result.measured.spread:
        return f"{ends} {result.measured.spread}"
    error = 1 - result.own_level
    together = round(error / (1 - result.level)) if worst.verdict is Verdict.contradicted else 1
    level = result.level if together > 1 else result.own_level
    words = [f"{number(100 * level)} % CI {ends}"]
    words += [f"Bonferroni over {together}"] if together > 1 else []
    words += ["over all learning rates not distinguishable from the best"] if len(worst.choices) > 1 else []
    if result.coverage is not None:
        own = number(100 * result.own_level)
        words.append(f"{own} % intervals cover {100 * result.coverage:.0f} % if runs are log-normal")
    return ", ".join(words)


def how_often(points: Sequence[Judged]) -> str:
    """How many comparisons meet the threshold.

    >>> point = Judged("", (), (), Verdict.supported)
    >>> how_often([point]), how_often([point, point])
    ('meets the threshold', 'all 2 comparisons meet the threshold')
    """
    counts = {verdict: sum(point.verdict is verdict for point in points) for verdict in Verdict}
    met = counts[Verdict.supported]
    if len(points) == 1:
        return next(_ALONE[verdict] for verdict, count in counts.items() if count)
    if met == len(points):
        return f"all {met} comparisons meet the threshold"
    others = [f"{counts[verdict]} {words[counts[verdict] > 1]}" for verdict, words in _AMONG.items() if counts[verdict]]
    return ", ".join([f"{met} of {len(points)} comparisons meet the threshold", *others])
