"""Verdicts in words: effects, intervals, thresholds, and the sentence that a person would say."""

from collections.abc import Sequence

from resaudit.base.text import number, span
from resaudit.claims.decision import Choice, Span, Verdict
from resaudit.claims.records import CheckResult, Comparison, Judgement
from resaudit.plan.claim import Check

CHOICES_NAMED = 3
"""Learning rates that are named where a verdict depends on them; of more, how many there are."""
_ALONE: dict[Verdict, str] = {
    "supported": "meets the threshold",
    "contradicted": "fails the threshold",
    "depends": "depends on the learning rate",
    "inconclusive": "undecided",
}
_AMONG: dict[Verdict, tuple[str, str]] = {
    "contradicted": ("fails", "fail"),
    "depends": ("depends on the learning rate", "depend on the learning rate"),
    "inconclusive": ("is undecided", "are undecided"),
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
        reasons = [*result.missing, *result.excluded]
        return f"{name}: nothing could be measured" + (f" ({'; '.join(reasons[:3])})." if reasons else ".")
    without = f" (nothing measured for {', '.join(result.unmeasured)})" if result.unmeasured else ""
    effect, ends = result.worst_in_words
    diverged = "".join(f"; {words}" for words in worst.diverged[:1])
    found = f"{result.unit} {effect} ({_interval_of(result, worst, ends)}, n = {worst.n}{diverged})"
    lead = ". Worst" if len(result.points) > 1 else ""
    depends = f", which {choices_in_words(worst.choices, result.region)}" if worst.verdict == "depends" else ""
    beyond = ""
    if result.limit and result.limit.excludes_threshold:
        beyond = f" No effect can meet this threshold at this size: {result.limit.reason}"
    often = how_often([point.verdict for point in result.points])
    return (
        f"{name}: {often}{without}{lead}: {found} for {worst.where}{depends}; "
        f"our threshold: {result.check.threshold}.{beyond}"
    )


def leaning(judgement: Judgement) -> str:
    """Which way an open claim leans, by the effects alone; empty if it is decided or nothing was measured.

    Of a run that is too small to be evidence, or on other data, it says what was seen.
    """
    inside = [
        result.region[0] <= point.effect <= result.region[1] for result in judgement.checks for point in result.points
    ]
    if judgement.verdict != "inconclusive" or not inside:
        return ""
    against = inside.count(False)
    seen = f"{against} of {len(inside)} effects {'lies' if against == 1 else 'lie'} beyond our thresholds"
    if not against:
        seen = f"all {len(inside)} effects meet our thresholds" if len(inside) > 1 else "the effect meets our threshold"
    if judgement.obstacle:
        return f"Seen here, which is no evidence: {seen}."
    return f"It leans {'against' if against else 'towards'} the claim: {seen}."


def choices_in_words(choices: Sequence[Choice], region: Span) -> str:
    """At which choices a comparison holds, and at which it fails.

    >>> ends = {"rate 1": (0.5, 0.6), "rate 2": (2.0, 3.0), "rate 3": (0.7, 0.8)}
    >>> choices = [Choice(name=name, effect=own[0], own=own, shared=own, n=3) for name, own in ends.items()]
    >>> choices_in_words(choices, (0.0, 1.0))
    'holds at rate 1 and rate 3, fails at rate 2'
    """
    words = []
    for verdict, word in (("supported", "holds"), ("contradicted", "fails")):
        names = [choice.name for choice in choices if choice.verdict(region) == verdict]
        more = len(names) - CHOICES_NAMED
        listed = [*names[:CHOICES_NAMED], *([f"{more} others"] if more > 0 else [])]
        words += [f"{word} at {' and '.join(listed)}"] if listed else []
    return ", ".join(words)


def _interval_of(result: CheckResult, worst: Comparison, ends: str) -> str:
    if result.exact:
        return "exact"
    if result.spread:
        return f"{ends} {result.spread}"
    error = 1 - result.own_level
    together = round(error / (1 - result.level)) if worst.verdict == "contradicted" else 1
    level = result.level if together > 1 else result.own_level
    words = [f"{number(100 * level)} % CI {ends}"]
    words += [f"Bonferroni over {together}"] if together > 1 else []
    words += ["over all learning rates not distinguishable from the best"] if len(worst.choices) > 1 else []
    if result.coverage is not None:
        own = number(100 * result.own_level)
        words.append(f"{own} % intervals cover {100 * result.coverage:.0f} % if runs are log-normal")
    return ", ".join(words)


def how_often(verdicts: Sequence[Verdict]) -> str:
    """How many comparisons meet the threshold.

    >>> how_often(["supported"]), how_often(["supported", "supported"])
    ('meets the threshold', 'all 2 comparisons meet the threshold')
    >>> how_often(["inconclusive", "supported", "contradicted", "inconclusive"])
    '1 of 4 comparisons meet the threshold, 1 fails, 2 are undecided'
    """
    met, several = verdicts.count("supported"), len(verdicts)
    if several == 1:
        return _ALONE[verdicts[0]]
    if met == several:
        return f"all {met} comparisons meet the threshold"
    counts = [(verdicts.count(verdict), words) for verdict, words in _AMONG.items()]
    others = [f"{count} {words[count > 1]}" for count, words in counts if count]
    return ", ".join([f"{met} of {several} comparisons meet the threshold", *others])
