"""Oracle: every count of small tables, printed in any usual way. Sees an honest number accused, a made-up one pass."""

import random
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction

import numpy as np
import pytest

from resaudit.figures.printed import Examined, consistent

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


def is_possible(text: str, of: int, runs: int = 1, whole: int = 100) -> bool:
    return Examined.as_share(text, whole, of, "stated", runs).possible


def test_ten_thousand_honest_numbers_are_possible() -> None:
    """Shares and means of up to ten runs, printed by any of four printers, or printed for each run before the mean."""
    rng = random.Random(1)
    for _ in range(10_000):
        of, runs, digits = rng.choice([50, 300, 999, 5000, 10_000, 50_000]), rng.randint(1, 10), rng.randint(1, 4)
        rate, printer = rng.random(), PRINTERS[rng.choice(list(PRINTERS))]
        errors = [Fraction(100 * round(of * min(1, rate * rng.uniform(0.9, 1.1))), of) for _ in range(runs)]
        if rng.random() < 0.3:
            errors = [Fraction(printer(error, digits)) for error in errors]
        assert is_possible(printer(sum(errors) / runs, digits), of, runs), (of, runs, digits, errors)


@pytest.mark.parametrize(("of", "runs", "digits"), [(7, 1, 1), (40, 1, 2), (125, 3, 1), (32, 10, 3), (2000, 1, 2)])
def test_exactly_the_numbers_that_some_count_gives_are_possible(of: int, runs: int, digits: int) -> None:
    """By enumeration of all counts; and the stated chance is the share of all numbers that some count gives."""
    assert runs == 1 or Fraction(100, of) % Fraction(1, 10**digits) == 0, "rounded before their mean: too many to list"
    trials = of * runs
    given = {
        print_(Fraction(100 * count, trials), digits) for count in range(trials + 1) for print_ in PRINTERS.values()
    }
    every = [f"{step / 10**digits:.{digits}f}" for step in range(100 * 10**digits)]
    found = {text for text in every if is_possible(text, of, runs)}
    assert found == given - {f"{100:.{digits}f}"}
    examined = Examined.as_share(every[0], 100, of, "stated", runs)
    assert examined.chance == pytest.approx(len(found) / len(every), rel=0.02)


@pytest.mark.parametrize(
    ("text", "of", "runs", "whole", "possible"),
    [
        ("6.38", 5000, 1, 100, True),  # 319
        ("6.39", 5000, 1, 100, False),
        ("6.39", 10_000, 1, 100, True),
        ("0.7042", 5000, 1, 1, True),
        ("0.7043", 5000, 1, 1, False),
        ("5.19", 28, 1, 100, False),  # 1 of 28 is 3.57, 2 are 7.14
        ("100.02", 5000, 1, 100, False),
    ],
)
def test_known_numbers(text: str, of: int, runs: int, whole: int, possible: bool) -> None:
    assert is_possible(text, of, runs, whole) == possible


def test_one_possible_share_is_enough_and_every_other_test_must_pass() -> None:
    share, impossible = (Examined.as_share("6.39", 100, of, "") for of in (10_000, 5000))
    exact, other = Examined.as_exact("13.5", 13.538736), Examined.as_repeated("13.5", "13.7", "")
    assert [consistent(tests) for tests in ([], [share, impossible], [impossible], [exact, other], [share, exact])] == [
        None, True, False, False, True,
    ]  # fmt: skip


def test_exact_values_and_repetitions() -> None:
    assert [Examined.as_exact(text, 0.200432).possible for text in ("0.20", "0.2", "0.21")] == [True, True, False]
    # 13.59 may have been cut off to 13.5.
    others = ("13.54", "13.59", "13.61", "13", "14")
    assert [Examined.as_repeated("13.5", other, "section 4.1").possible for other in others] == [
        True,
        True,
        False,
        True,
        True,
    ]
