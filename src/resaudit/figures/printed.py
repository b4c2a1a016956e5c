"""The numbers that papers print, beside ours, and whether they can be: by the arithmetic of shares and counts.

A share of n images is a whole number of them, a mean over r runs a whole number of n r. If there are few images for the
digits that are printed, not every number is such a share: a table can be examined without its data (GRIM: Brown and
Heathers, Social Psychological and Personality Science 8, 2017). This is never a verdict on a claim: a number that is
possible may still be wrong.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from resaudit.base.models import Count, PairId, Part

if TYPE_CHECKING:
    import pandas as pd


class Examined(Part):
    """A test of a printed number by arithmetic."""

    test: Literal["share", "exact value", "repetition"]
    """What it was held against: a share of images, of which one must be possible; an exact value; another place."""
    of: str
    """Which share, value or place."""
    possible: bool
    """Whether a value that passes is printed like this."""
    chance: Annotated[float, Field(ge=0, le=1)]
    """The share of numbers with as many decimals that pass; 1: the test cannot fail."""
    nearest: str
    """The value that decided: the nearest share, the count, or the other number."""

    @classmethod
    def as_share(cls, number: str, whole: int, of: int, reason: str, runs: int = 1) -> Self:
        """Whether a number is printed for some count of images (or other trials), or the mean of these over runs.

        Args:
            number: as printed, with its trailing zeros.
            whole: the number that stands for all images: 100 for per cent, else 1.
            of: number of images.
            reason: why the number may be this share.
            runs: number of runs whose mean is printed.

        >>> Examined.as_share("6.38", 100, 5000, "half of the test images").nearest
        '319 of 5000 is 6.38'
        """
        trials, digit = of * runs, _last_digit(number)
        per_unit = Fraction(trials, whole)
        least, most = values_printed_as(number)
        if runs > 1 and Fraction(whole, of) % digit:
            # The runs' shares may have been rounded, or cut off, before their mean was taken.
            least, most = least - digit / 2, most + digit
        first = max(0, math.ceil(least * per_unit))
        nearest = min(round(Fraction(number) * per_unit), trials)
        return cls(
            test="share",
            of=f"{of}" + (f", mean over {runs} runs" if runs > 1 else "") + f": {reason}",
            possible=first < most * per_unit and first <= trials,
            chance=_chance((most - least) * per_unit, least * per_unit, (digit * per_unit).denominator),
            nearest=f"{nearest} of {trials} is {float(nearest / per_unit):.{len(number) + 2}g}",
        )

    @classmethod
    def as_exact(cls, number: str, value: float) -> Self:
        """Whether a number is printed for a value that is known exactly, such as a count of parameters."""
        least, most = values_printed_as(number)
        possible = least <= Fraction(value) < most
        return cls(test="exact value", of="counted here", possible=possible, chance=0.0, nearest=f"{value:.10g}")

    @classmethod
    def as_repeated(cls, number: str, other: str, where: str) -> Self:
        """Whether the number and another one, printed elsewhere, can be of the same value."""
        (least, most), (low, high) = values_printed_as(number), values_printed_as(other)
        return cls(test="repetition", of=where, possible=low < most and least < high, chance=0.0, nearest=other)


class PrintedValue(Part):
    """A number that is printed in the paper, with ours."""

    what: str
    """Of what: a network, a depth, a count."""
    printed: float
    """The paper's number."""
    printed_low: float | None = None
    """Lower end of its interval; null: none."""
    printed_high: float | None = None
    """Upper end of its interval; null: none."""
    here: float | None
    """Our number; null where it has not been computed."""
    low: float | None = None
    """Lower end of our interval; null: none."""
    high: float | None = None
    """Upper end of our interval; null: none."""
    n: Count | None = None
    """How many runs our number rests on; null where it is not of runs, or not known."""
    examined: list[Examined] = []
    """What arithmetic says of the paper's number: no verdict, since a number that is possible may be wrong."""
    consistent: bool | None = None
    """Whether one of the shares examined is possible and every other test passes; null: nothing was examined."""

    @model_validator(mode="before")
    @classmethod
    def _with_result(cls, given: Any) -> Any:
        derived = isinstance(given, dict) and "examined" in given and "consistent" not in given
        return given | {"consistent": consistent(given["examined"])} if derived else given


class Printed(Part):
    """A table of a paper whose numbers a figure computes again."""

    figure: PairId
    """The figure that has our numbers, even if it has not been drawn."""
    quantity: str
    """What the numbers are, with their unit."""
    digits: Annotated[int, Field(ge=0, le=12)]
    """Decimals that the paper prints."""
    spread: str
    """What an interval is; empty where there is none."""
    remark: str
    """What must be known to compare them; possibly empty."""
    values: list[PrintedValue]
    """The numbers."""


def over_runs(values: "pd.Series | None") -> dict[str, Any]:
    """Mean, mean minus and plus one standard deviation, and number of runs, as keys of a printed value.

    >>> import pandas as pd
    >>> over_runs(pd.Series([1.0, 3.0]))["low"], over_runs(pd.Series([2.0])), over_runs(None)
    (0.5857864376269049, {'here': 2.0, 'low': None, 'high': None, 'n': 1}, {'here': None})
    """
    if values is None or values.empty:
        return {"here": None}
    mean, low, high = float(values.mean()), None, None
    if len(values) > 1:
        deviation = float(values.std(ddof=1))
        low, high = mean - deviation, mean + deviation
    return {"here": mean, "low": low, "high": high, "n": len(values)}


def examined_in_words(test: Examined) -> str:
    """A test and its result, in words.

    >>> examined_in_words(Examined.as_share("6.38", 100, 5000, "half of the test images"))
    'possible: 319 of 5000 is 6.38 (as 50 % of all numbers with these digits)'
    >>> examined_in_words(Examined.as_exact("13.59", 13.538736))
    'impossible: exactly 13.538736'
    >>> examined_in_words(Examined.as_repeated("13.5", "13.54", "section 4.1"))
    'possible: 13.54 in section 4.1'
    """
    result = "possible" if test.possible else "impossible"
    match test.test:
        case "share":
            return f"{result}: {test.nearest} (as {100 * test.chance:.3g} % of all numbers with these digits)"
        case "exact value":
            return f"{result}: exactly {test.nearest}"
        case "repetition":
            return f"{result}: {test.nearest} in {test.of}"


def consistent(tests: Iterable[Examined]) -> bool | None:
    """Whether one of the shares is possible, and every other test passes; None without a test."""
    shares = [test.possible for test in tests if test.test == "share"]
    others = [test.possible for test in tests if test.test != "share"]
    return (any(shares) or not shares) and all(others) if shares or others else None


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


def _chance(width: Fraction, least: Fraction, places: int) -> float:
    """The share of numbers with a count in their interval; its left ends lie at ``places`` equal steps to a count."""
    nearest = -least % Fraction(1, places)
    return min(1.0, max(0, math.ceil((width - nearest) * places)) / places)
