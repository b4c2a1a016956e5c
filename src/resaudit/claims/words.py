"""Verdicts in words: effects, intervals, thresholds, and the sentence that a person would say."""

import math
from collections.abc import Sequence

from resaudit.claims.checks.check import Check
from resaudit.claims.verdicts import ERROR_RATE, CheckResult, Judged, Judgement, Verdict, unmeasured

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_MEETS = {Verdict.supported: "meets", Verdict.contradicted: "fails", Verdict.inconclusive: "leaves open"}
NEAR_ONE = 0.1
"""Ratios this close to 1 are printed in per cent."""


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits and written-out powers of ten.

    >>> number(1.0141), number(-2.3e9), number(0.00012), number(60000.0), number(None)
    ('1.014', '−2.3 × 10⁹', '1.2 × 10⁻⁴', '60000', 'not known')
    >>> number(3.0, 2), number(0.4583, 3), number(float("inf"))
    ('3', '0.458', 'infinite')
    """
    if value is None:
        return "not known"
    if math.isinf(value):
        return "infinite" if value > 0 else "−infinite"
    if float(value).is_integer() and abs(value) < 1e5:
        text = f"{value:.0f}"
    elif 1e-3 <= abs(value) < 9999.5:
        text = f"{value:.{max(digits, len(f'{abs(value):.0f}'))}g}"
    else:
        mantissa, exponent = f"{value:.{min(digits, 3) - 1}e}".split("e")
        power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
        text = power if float(mantissa) == 1 else f"{float(mantissa):g} × {power}"
    return text.replace("-", "−")


def span(low: float | None, high: float | None, digits: int = 4) -> str:
    """An interval in words; None: unbounded.

    >>> span(0.909, 1.1), span(2, None), span(None, 3), span(None, None), span(1, 1)
    ('0.909 to 1.1', 'at least 2', 'at most 3', 'unbounded', '1')
    """
    low = None if low is not None and math.isinf(low) else low
    high = None if high is not None and math.isinf(high) else high
    if low is not None and high is not None:
        return number(low, digits) if low == high else f"{number(low, digits)} to {number(high, digits)}"
    if low is not None:
        return f"at least {number(low, digits)}"
    return "unbounded" if high is None else f"at most {number(high, digits)}"


def effect_and_interval(
    effect: float | None, low: float | None, high: float | None, ratio: bool, digits: int = 4
) -> tuple[str, str]:
    """An effect and its interval; a ratio near 1 as a change in per cent.

    >>> effect_and_interval(1.0141, 1.0132, 1.0151, ratio=True)
    ('+1.41 %', '+1.32 to +1.51 %')
    >>> effect_and_interval(3.0, 1.1, 8.2, ratio=True)
    ('3', '1.1 to 8.2')
    """
    known = [value for value in (effect, low, high) if value is not None]
    if ratio and len(known) == 3 and all(abs(value - 1) < NEAR_ONE for value in known):
        changes = [f"{100 * (value - 1):+.3g}".replace("-", "−").replace("+0", "0") for value in known]
        return f"{changes[0]} %", f"{changes[1]} to {changes[2]} %" if changes[1] != changes[2] else f"{changes[1]} %"
    return number(effect, digits), span(low, high, digits)


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
        left_out = result.measured.left_out
        return f"{name}: nothing could be measured" + (f" ({'; '.join(left_out[:3])})." if left_out else ".")
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
    """That theory excludes the threshold at this size, with the reason; empty if it does not."""
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
    words += ["over all tied learning rates"] if any(point.tied for point in result.points) else []
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
