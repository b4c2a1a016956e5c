"""The draw of a spot-check: weights and arrival times against plain twins, and the stated chance by simulation.

Sees arrival times that forget the weight or favour cheap jobs, a Λ that counts jobs not compared, and a chance that
depends on which jobs a forger chose or on what they cost.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from resaudit.audit.sampling import arrival, in_order, largest_share, missed, reached, weights

JOBS = [f"train/{number}" for number in range(40)]
CHANCE = np.random.default_rng(17)
WEIGHTS = dict(zip(JOBS, CHANCE.dirichlet(np.full(len(JOBS), 3.0)), strict=True))
SECONDS = dict(zip(JOBS, CHANCE.lognormal(2, 1.0, len(JOBS)), strict=True))
BUDGET = 0.1 * sum(SECONDS.values())
"""So small that Λ stays moderate: e^(sΛ) then has a mean that a simulation can find."""
SEEDS = [f"seed {number}" for number in range(2000)]
DEVIATIONS = 3.5
"""Of the mean's standard error: about one interval in 2000 does not cover."""
FORGERS: dict[str, tuple[Callable[[str], float], int]] = {
    "dearest": (lambda job: -SECONDS[job], 4),
    "cheapest": (lambda job: SECONDS[job], 4),
    "lightest": (lambda job: WEIGHTS[job], 8),
    "heaviest": (lambda job: -WEIGHTS[job], 3),
}
Draw = Callable[[str], Mapping[str, float]]


def forged_by(forger: str) -> set[str]:
    key, number = FORGERS[forger]
    return set(sorted(JOBS, key=key)[:number])


def compared_in_time(arrivals: Mapping[str, float]) -> Iterator[str]:
    """The jobs that are compared: each is begun while time is left, and finished."""
    used = 0.0
    for job in arrivals:
        if used >= BUDGET:
            return
        used += SECONDS[job]
        yield job


def stated_and_found(draw: Draw, forger: str) -> tuple[float, float]:
    """The mean of missed · e^(sΛ) over many seeds, 1 where the statement is right, and its standard error."""
    forged = forged_by(forger)
    share = sum(WEIGHTS[job] for job in forged)
    values = []
    for arrivals in draws(draw):
        compared = set(compared_in_time(arrivals))
        values.append(0.0 if forged & compared else 1 / missed(share, reached(arrivals, compared)))
    return float(np.mean(values)), float(np.std(values) / math.sqrt(len(values)))


@cache
def draws(draw: Draw) -> list[Mapping[str, float]]:
    return [draw(seed) for seed in SEEDS]


def ours(seed: str) -> Mapping[str, float]:
    return in_order(seed, WEIGHTS)


def without_weights(seed: str) -> Mapping[str, float]:
    """A broken draw: all jobs are as likely to come first."""
    return in_order(seed, dict.fromkeys(JOBS, 1 / len(JOBS)))


def cheap_first(seed: str) -> Mapping[str, float]:
    """A broken draw: the same arrival times, given to the jobs in the order of their costs."""
    times = sorted(ours(seed).values())
    return dict(zip(sorted(JOBS, key=SECONDS.__getitem__), times, strict=True))


@pytest.mark.parametrize("forger", FORGERS)
def test_the_stated_probability_holds_for_every_forger(forger: str) -> None:
    mean, error = stated_and_found(ours, forger)
    assert abs(mean - 1) < DEVIATIONS * error, f"{mean} ± {error}"


@pytest.mark.parametrize("broken", [without_weights, cheap_first])
def test_a_broken_draw_is_noticed(broken: Draw) -> None:
    found = {forger: stated_and_found(broken, forger) for forger in FORGERS}
    assert any(abs(mean - 1) > DEVIATIONS * error for mean, error in found.values()), found


@pytest.mark.parametrize("forger", FORGERS)
def test_up_to_a_given_reach_the_share_alone_decides(forger: str) -> None:
    forged, reach = forged_by(forger), 8.0
    share = sum(WEIGHTS[job] for job in forged)
    found = [min(arrivals[job] for job in forged) > reach for arrivals in draws(ours)]
    chance = missed(share, reach)
    assert abs(np.mean(found) - chance) < DEVIATIONS * math.sqrt(chance * (1 - chance) / len(SEEDS))


def test_one_draw_does_not_follow_from_another() -> None:
    first, second = (np.array([arrival(seed, job, 1.0) for seed in SEEDS]) for job in JOBS[:2])
    assert abs(np.corrcoef(first, second)[0, 1]) < DEVIATIONS / math.sqrt(len(SEEDS))
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < DEVIATIONS / math.sqrt(len(SEEDS))


def test_more_weight_comes_earlier_by_the_same_seed() -> None:
    assert arrival("s", "train/a", 0.2) == pytest.approx(arrival("s", "train/a", 0.1) / 2)
    assert in_order("s", WEIGHTS) == in_order("s", dict(reversed(WEIGHTS.items())))
    assert list(in_order("s", WEIGHTS).values()) == sorted(in_order("s", WEIGHTS).values())


def test_weights_against_exact_fractions() -> None:
    evidence = {"a": ["x", "y", "z"], "b": ["y"], "c": ["y", "z"], "nothing imported": []}
    exact = {
        job: sum(Fraction(1, 3 * len(jobs)) for jobs in evidence.values() if job in jobs) for job in ("x", "y", "z")
    }
    assert weights(evidence) == pytest.approx({job: float(weight) for job, weight in exact.items()})
    assert sum(exact.values()) == 1


def test_the_reach_ends_at_the_first_job_that_was_not_compared() -> None:
    arrivals = ours("s")
    first, second, third, *_ = arrivals
    assert reached(arrivals, {first, third}) == arrivals[first]
    assert reached(arrivals, {second, third}) == 0
    assert reached(arrivals, set(JOBS)) == math.inf


def test_the_bound_is_where_a_forgery_would_be_missed_once_in_twenty() -> None:
    assert missed(largest_share(40), 40) == pytest.approx(0.05)
    assert largest_share(0) == 1
