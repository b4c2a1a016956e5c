"""Oracle: every count of small tables, printed in any usual way. Sees an honest number accused, a made-up one pass."""

import random
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest

from resaudit.claims.printed import is_consistent, printed_is_possible
from resaudit.plan.printed import PrintedNumber, Share

Printer = Callable[[Fraction, int], str]


def _decimal(rounding: str) -> Printer:
    def printer(value: Fraction, digits: int) -> str:
        return str(
            (Decimal(value.numerator) / Decimal(value.denominator)).quantize(Decimal(1).scaleb(-digits), rounding)
        )

    return printer


PRINTERS: dict[str, Printer] = {
    "up": _decimal(ROUND_HALF_UP),
    "to even": _decimal(ROUND_HALF_EVEN),
    "cut off": _decimal(ROUND_DOWN),
    "single precision": lambda value, digits: f"{np.float32(float(value)):.{digits}f}",
}


def number(text: str, of: int, runs: int = 1, unit: str = "percent") -> PrintedNumber:
    """A printed share."""
    return PrintedNumber(number=text, unit=unit, where="Table 1", shares=[Share(of=of, runs=runs, reason="stated")])


def test_ten_thousand_honest_numbers_are_possible() -> None:
    """Shares and means of up to ten runs, printed by any of four printers, or printed for each run before the mean."""
    rng = random.Random(1)
    for _ in range(10_000):
        of, runs, digits = rng.choice([50, 300, 999, 5000, 10_000, 50_000]), rng.randint(1, 10), rng.randint(1, 4)
        rate, printer = rng.random(), PRINTERS[rng.choice(list(PRINTERS))]
        errors = [Fraction(100 * round(of * min(1, rate * rng.uniform(0.9, 1.1))), of) for _ in range(runs)]
        if rng.random() < 0.3:
            errors = [Fraction(printer(error, digits)) for error in errors]
        assert is_consistent(number(printer(sum(errors) / runs, digits), of, runs)), (of, runs, digits, errors)


@pytest.mark.parametrize(("of", "runs", "digits"), [(7, 1, 1), (40, 1, 2), (125, 3, 1), (32, 10, 3), (2000, 1, 2)])
def test_exactly_the_numbers_that_some_count_gives_are_possible(of: int, runs: int, digits: int) -> None:
    """By enumeration of all counts; and the stated chance is the share of all numbers that some count gives."""
    assert runs == 1 or Fraction(100, of) % Fraction(1, 10**digits) == 0, "rounded before their mean: too many to list"
    trials = of * runs
    given = {
        print_(Fraction(100 * count, trials), digits) for count in range(trials + 1) for print_ in PRINTERS.values()
    }
    every = [f"{step / 10**digits:.{digits}f}" for step in range(100 * 10**digits)]
    found = {text for text in every if is_consistent(number(text, of, runs))}
    assert found == given - {f"{100:.{digits}f}"}
    (examined,) = printed_is_possible(number(every[0], of, runs))
    assert examined.chance == pytest.approx(len(found) / len(every), rel=0.02)


@pytest.mark.parametrize(
    ("text", "of", "runs", "unit", "possible"),
    [
        ("6.38", 5000, 1, "percent", True),  # 319
        ("6.39", 5000, 1, "percent", False),
        ("6.39", 10_000, 1, "percent", True),
        ("0.7042", 5000, 1, "share", True),
        ("0.7043", 5000, 1, "share", False),
        ("5.19", 28, 1, "percent", False),  # 1 of 28 is 3.57, 2 are 7.14
        ("100.02", 5000, 1, "percent", False),
    ],
)
def test_known_numbers(text: str, of: int, runs: int, unit: str, possible: bool) -> None:
    assert is_consistent(number(text, of, runs, unit)) == possible


def test_one_possible_share_is_enough_and_every_other_test_must_pass() -> None:
    shares = [Share(of=of, reason="either") for of in (5000, 10_000)]
    assert is_consistent(PrintedNumber(number="6.39", unit="percent", where="Table 2", shares=shares))
    layers = [[3, 3, 3, 16], [2, 100_000]]  # 200 432
    for text, consistent in (("0.20", True), ("0.2", True), ("0.21", False)):
        assert is_consistent(PrintedNumber(number=text, unit="millions", where="", sum_of=layers)) == consistent
    for other, consistent in (("13.54", True), ("13.59", True), ("13.61", False), ("13", True), ("14", True)):
        # 13.59 may have been cut off to 13.5
        assert is_consistent(PrintedNumber(number="13.5", unit="millions", where="", same_as=[other])) == consistent
