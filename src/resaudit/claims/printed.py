"""Whether a printed number can be: the arithmetic of counts, of rounded shares and of means of shares.

A share of n images is a whole number of them, a mean over r runs a whole number of n r. Few enough images for the
digits that are printed, and not every number is such a share: a table can be examined without its data (GRIM: Brown and
Heathers, Social Psychological and Personality Science 8, 2017). This is never a verdict on a claim: a number that is
possible may still be wrong.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from resaudit.plan.printed import PrintedNumber, Share

WHOLE = {"percent": 100, "share": 1}
SCALE = {"millions": 10**6, "count": 1}


@dataclass(frozen=True)
class Examined:
    """One arithmetic test of a printed number.

    Attributes:
        test: what the number was held against.
        possible: whether any value that is printed like this passes.
        chance: the share of numbers with as many digits that pass; 1: the test cannot fail.
        detail: the count, sum or number that decided.
    """

    test: str
    possible: bool
    chance: float
    detail: str


def printed_is_possible(printed: PrintedNumber) -> list[Examined]:
    """Hold a printed number against everything that is known of it.

    Returns:
        A result for each share, sum and repetition; the number is consistent if one share is possible (or none is
        stated) and every other test passes.
    """
    return [*(_of_share(printed, share) for share in printed.shares), *_of_counts(printed)]


def is_consistent(printed: PrintedNumber) -> bool:
    """Whether nothing speaks against a number: one of its shares is possible, and every other test passes."""
    shares = [_of_share(printed, share).possible for share in printed.shares]
    return (any(shares) or not shares) and all(test.possible for test in _of_counts(printed))


def values_printed_as(number: str) -> tuple[Fraction, Fraction]:
    """The values that are printed as a number: rounded up, down or to even, or cut off.

    Returns:
        The least value, and the one from which on no value is printed so.

    >>> [float(end) for end in values_printed_as("6.38")]
    [6.375, 6.39]
    """
    return Fraction(number) - _last_digit(number) / 2, Fraction(number) + _last_digit(number)


def _last_digit(number: str) -> Fraction:
    return Fraction(1, 10 ** len(number.partition(".")[2]))


def _of_share(printed: PrintedNumber, share: Share) -> Examined:
    trials, whole, digit = share.of * share.runs, WHOLE[printed.unit], _last_digit(printed.number)
    per_unit = Fraction(trials, whole)
    least, most = values_printed_as(printed.number)
    if share.runs > 1 and Fraction(whole, share.of) % digit:
        # The runs' shares may have been rounded, or cut off, before their mean was taken.
        least, most = least - digit / 2, most + digit
    count = _first_count(least * per_unit)
    possible = count < most * per_unit and 0 <= count <= trials
    nearest = min(max(round(Fraction(printed.number) * per_unit), 0), trials)
    value = float(nearest / per_unit)
    chance = _chance((most - least) * per_unit, least * per_unit, (digit * per_unit).denominator)
    test = f"a share of {share.of}" if share.runs == 1 else f"a mean over {share.runs} runs of shares of {share.of}"
    return Examined(test, possible, chance, f"{nearest} of {trials} is {value:.{_digits(printed.number) + 3}g}")


def _chance(width: Fraction, least: Fraction, places: int) -> float:
    """The share of numbers with a count in their interval: left ends lie at equal distances, ``places`` to a count."""
    nearest = -least % Fraction(1, places)
    return min(1.0, max(0, math.ceil((width - nearest) * places)) / places)


def _first_count(least: Fraction) -> int:
    return max(0, math.ceil(least))


def _digits(number: str) -> int:
    return len(number.replace(".", "").lstrip("0"))


def _of_counts(printed: PrintedNumber) -> Iterator[Examined]:
    least, most = values_printed_as(printed.number)
    if printed.sum_of:
        implied = sum(math.prod(factors) for factors in printed.sum_of)
        possible = least <= Fraction(implied, SCALE[printed.unit]) < most
        yield Examined("the count that the text implies", possible, 0.0, f"{implied:,}".replace(",", " "))
    for other in printed.same_as:
        low, high = values_printed_as(other)
        yield Examined("the same quantity, printed again", low < most and least < high, 0.0, other)
