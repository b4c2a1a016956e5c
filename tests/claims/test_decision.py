"""Oracle: the definitions, by exhaustion and by judging again at moved thresholds. Sees a level taken for the other."""

import itertools
import math
import random

import pytest

from resaudit.claims.decision import (
    Choice,
    Span,
    Threshold,
    Verdict,
    turns_of,
    verdict_of_all,
    verdict_of_choices,
)
from tests.claims.made import choice

S: Verdict
C: Verdict
D: Verdict
OPEN: Verdict
S, C, D, OPEN = "supported", "contradicted", "depends", "inconclusive"


def made_up(rng: random.Random) -> Choice:
    """A choice whose shared interval holds its own."""
    effect = rng.uniform(0.2, 5)
    own, shared = sorted(rng.uniform(0, 1) for _ in range(2))
    return choice(effect, (effect - own, effect + own), (effect - shared, effect + shared), 10)


def judged(comparisons: list[list[Choice]], region: Span) -> Verdict:
    return verdict_of_all([verdict_of_choices([each.verdict(region) for each in choices]) for choices in comparisons])


def test_support_needs_the_own_interval_and_contradiction_the_shared_one() -> None:
    between = choice(1.0, (0.9, 1.1), (0.7, 1.3), 10)
    assert between.verdict((-math.inf, 1.1)) == S
    assert between.verdict((-math.inf, 1.05)) == OPEN
    assert between.verdict((-math.inf, 0.8)) == OPEN  # below the own interval, within the shared one
    assert between.verdict((-math.inf, 0.69)) == C


@pytest.mark.parametrize("verdicts", [each for n in (1, 2, 3) for each in itertools.product([S, C, OPEN], repeat=n)])
def test_choices(verdicts: tuple[Verdict, ...]) -> None:
    """It depends exactly if each choice is decided and two differ; a claim that depends on none has their verdict."""
    verdict = verdict_of_choices(verdicts)
    assert (verdict == D) == (OPEN not in verdicts and len(set(verdicts)) > 1)
    assert (verdict == S) == (set(verdicts) == {S})
    assert (verdict == C) == (set(verdicts) == {C})


@pytest.mark.parametrize("verdicts", [each for n in (1, 2, 3) for each in itertools.product([S, C, D, OPEN], repeat=n)])
def test_all_must_hold(verdicts: tuple[Verdict, ...]) -> None:
    verdict = verdict_of_all(verdicts)
    assert (verdict == C) == (C in verdicts)
    assert (verdict == S) == (set(verdicts) == {S})
    assert (verdict == D) == (D in verdicts and set(verdicts) <= {S, D})


@pytest.mark.parametrize("at_most", [True, False])
def test_the_verdict_turns_where_it_is_said_to(at_most: bool) -> None:
    rng = random.Random(1)
    for _ in range(300):
        comparisons = [[made_up(rng) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 4))]
        turns = turns_of("at_most" if at_most else "at_least", comparisons)
        weaker = 1e-9 if at_most else -1e-9

        def at(threshold: float, comparisons: list[list[Choice]] = comparisons) -> Verdict:
            return judged(comparisons, (-math.inf, threshold) if at_most else (threshold, math.inf))

        assert at(turns.supported + weaker) == S
        assert at(turns.supported - weaker) != S
        assert at(turns.contradicted - weaker) == C
        assert at(turns.contradicted + weaker) != C


INFINITE = (math.inf, math.inf)


@pytest.mark.parametrize(
    ("key", "span", "verdict"),
    [
        ("at_most", INFINITE, C),
        ("at_least", INFINITE, S),
        ("at_most", (-math.inf, -math.inf), S),
        ("at_least", (-math.inf, -math.inf), C),
        ("within_factor", INFINITE, C),
        ("within_factor", (0.0, 0.0), C),
        ("at_most", (2.0, math.inf), None),
        ("at_least", (-math.inf, 2.0), None),
        ("within_factor", (0.0, math.inf), None),
    ],
)
def test_an_infinite_interval_turns_nowhere(key: Threshold, span: Span, verdict: Verdict | None) -> None:
    choices = [[choice(span[1], span, span, 10)]]
    everywhere = turns_of(key, choices).everywhere
    assert everywhere == verdict
    for at in (1.001, 3.0, 1e300):
        region = {"at_most": (-math.inf, at), "at_least": (at, math.inf), "within_factor": (1 / at, at)}[key]
        assert everywhere in (None, judged(choices, region))


def test_runs_to_decide() -> None:
    """The half-width is 0.4 and the distance 0.1 with ten runs: 160 runs have a quarter of the width."""
    open_ = choice(1.0, (0.6, 1.4), (0.5, 1.5), 10)
    assert open_.runs_to_decide((-math.inf, 1.1), logarithmic=False) == pytest.approx(160, abs=1)
    # Outside, the shared interval must leave the region: 0.5 to 0.1.
    assert open_.runs_to_decide((-math.inf, 0.9), logarithmic=False) == pytest.approx(250, abs=1)
    assert open_.runs_to_decide((0.9, 1.2), logarithmic=False) == pytest.approx(160, abs=1)
    assert open_.runs_to_decide((-math.inf, 1.5), logarithmic=False) == 0
    assert open_.runs_to_decide((-math.inf, 1.001), logarithmic=False) is None
    assert choice(1.0, (0.0, 2.0), (0.0, 3.0), 10).runs_to_decide((0.5, math.inf), logarithmic=True) is None
    # An end that no number of runs moves, on the side that decides and on the other one.
    assert choice(0.3, (0.1, 1.0), (0.1, 1.0), 10, (1.0,)).runs_to_decide((0.5, math.inf), False) is None
    assert choice(67.0, (8.0, math.inf), (5.0, math.inf), 50, (math.inf,)).runs_to_decide((10.0, math.inf), True)
    wide = choice(2.0, (1.0, 4.0), (0.5, 8.0), 10)
    assert wide.runs_to_decide((-math.inf, 2 * 2**0.5), logarithmic=True) == pytest.approx(40, abs=1)
