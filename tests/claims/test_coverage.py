"""Oracle: the simulation that made the tables of docs/intervals.md, again with fewer simulations.

Sees tables that are not those of the intervals that verdicts have, and a stated level that is missed unsaid.
"""

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from benchmarks.coverage import (
    COLUMNS,
    COMPARED,
    LEVELS,
    PAGE,
    RUNS,
    Case,
    all_pairs,
    cases,
    independent,
    rare_cases,
    shares_of,
    with_many_runs,
)

from resaudit.claims.intervals import covered
from resaudit.claims.verdicts import SHORT

T, BOOTSTRAPPED = 4000, 100
Cases = Iterator[tuple[Case, Callable[..., float]]]


def rows_of(title: str) -> list[list[str]]:
    """The cells of a table of the page."""
    (table,) = re.findall(rf"\*\*{title}\*\*\n\n((?:\|.+\n)+)", PAGE.read_text("utf-8"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def committed() -> dict[tuple[str, str, str, str], list[float]]:
    """By level, effect, law and method, the shares at each number of runs."""
    columns = {"One network": COLUMNS[: len(LEVELS)], "Other methods, level 95 %": COLUMNS[len(LEVELS) :]}
    found = {}
    for title, of_table in columns.items():
        for effect, law, *cells in rows_of(f"{title}, n = 3, 5, 10, 30"):
            for (method, level), cell in zip(of_table, cells, strict=True):
                found[level, effect, law, method] = [float(x) / 100 for x in cell.split()]
    return found


COMMITTED = committed()


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: f"{case.effect}, {case.law}")
def test_the_tables_are_what_the_script_makes(case: Case) -> None:
    for (method, level), shares in shares_of(case, RUNS, T, BOOTSTRAPPED).items():
        if not shares:
            continue
        told = COMMITTED[level, case.effect, case.law, method]
        assert len(told) == len(shares)
        simulated = T if method in ("t", "Cox") else BOOTSTRAPPED
        for one, other in zip(told, shares, strict=True):
            # Five standard errors, of both; a rare event may be absent from the fewer simulations.
            error = 5 * np.sqrt(max(one * (1 - one), 0.005) / simulated) + 5e-4
            assert other == pytest.approx(one, abs=error), (method, level)


def test_the_tables_of_two_networks_are_what_the_script_makes() -> None:
    rows, every = rows_of("Two networks, n = 3, 5, 10, 30"), independent(T)
    assert [row[:2] for row in rows] == [[case.effect, case.law] for case, _ in every]
    for (_, law, *cells), (_, shares) in zip(rows, every, strict=True):
        for (level, value), cell in zip(LEVELS.items(), cells, strict=True):
            found = shares["t", level]
            assert [float(x) / 100 for x in cell.split()] == pytest.approx(found, abs=5 * np.sqrt(0.05 * 0.95 / T))
            assert min(found) > value - SHORT - 0.01 or "σ = 2" in law


@pytest.mark.parametrize(
    ("title", "every"), [("Rare large runs", rare_cases), ("Pairs of two networks' runs", all_pairs)]
)
def test_the_tables_with_many_runs_are_what_the_script_makes(title: str, every: Callable[[], Cases]) -> None:
    rows, found = rows_of(f"{title}, n = 10, 30, 100"), with_many_runs(every(), T)
    assert [row[:2] for row in rows] == [[case.effect, case.law] for case, _ in found]
    for (_, _, *cells), (_, shares) in zip(rows, found, strict=True):
        for level, cell in zip(LEVELS, cells, strict=True):
            told = np.array([float(x) / 100 for x in cell.split()])
            error = 5 * np.sqrt(np.maximum(told * (1 - told), 0.005) / T) + 5e-4
            assert (np.abs(told - shares["t", level]) <= error).all(), level


def test_intervals_of_pairs_cover_at_least_their_level() -> None:
    for case, shares in with_many_runs(all_pairs(), T):
        for name, level in LEVELS.items():
            # Three standard errors.
            assert min(shares["t", name]) >= level - 3 * np.sqrt(level * (1 - level) / T), case.law


def test_every_number_of_the_tables_is_held() -> None:
    compared = [case for case in cases() if case.effect == COMPARED]
    assert len(COMMITTED) == len(LEVELS) * len(list(cases())) + (len(COLUMNS) - len(LEVELS)) * len(compared)


def test_the_level_is_reached_or_what_is_reached_is_printed() -> None:
    for (level, effect, law, method), shares in COMMITTED.items():
        if method != "t" or "σ = 2" in law:
            continue
        for runs, share in zip(RUNS, shares, strict=True):
            if effect in ("ratio of geometric means", "exponent of growth"):
                assert share > LEVELS[level] - SHORT
            elif share < LEVELS[level] - SHORT - 0.01:
                told = covered(runs, LEVELS[level], logarithmic=effect != "mean")
                # No more than is covered.
                assert told < share + 0.01
                # It is printed.
                assert LEVELS[level] - told > SHORT
