"""How often a verdict is wrong: the whole procedure simulated, with ways of judging that must do worse.

``python benchmarks/verdict_errors.py`` takes minutes on one core; docs/intervals.md has the worst. A claim says of k
networks that the loss at the best learning rate is at most a threshold. Each network is trained at five learning rates:
two are equally good, one is nearly so, two are worse; a run's losses at all rates share most of its noise.

- "supported, just false": one network's true loss lies at its threshold, all others' are far below.
- "contradicted, just true": the true losses of all networks lie at their thresholds.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from resaudit.claims.decision import ERROR_RATE, Choice, Verdict, shared_level, verdict_of_all, verdict_of_choices
from resaudit.claims.intervals import LeftOut, interval, replicate_means
from resaudit.figures.rates import BestRate

SEED = 1
RATES = np.array([0.1, 0.3, 1.0, 3.0, 10.0])
WORSE = np.array([1.0, 0.05, 0.0, 0.0, 1.5])
"""Logarithms of the losses' medians at the rates."""
SHARED_NOISE = 0.8
FAR = 100.0
SCREENED = 5
FRESH = 30
RUNGS = ((100, 0.025), (400, 0.015), (1600, 0.01))
LOOKS = (10, 20, 30, 40, 50)


@dataclass(frozen=True)
class Effect:
    """What a claim is about, for losses with log-normal noise.

    Attributes:
        name: in words.
        deviation: standard deviation of the losses' logarithm.
        of: losses of some runs at one rate, shape (runs,), to the values whose mean is the effect.
        truth: the effect at the best rate.
        logarithmic: whether intervals are made on a log scale.
    """

    name: str
    deviation: float
    of: Callable[[np.ndarray], np.ndarray]
    truth: float
    logarithmic: bool


EFFECTS = (
    Effect("geometric mean, σ = 1", 1.0, np.log, 0.0, False),
    Effect("geometric mean, σ = 2", 2.0, np.log, 0.0, False),
    Effect("mean, σ = 0.3", 0.3, np.asarray, math.exp(0.3**2 / 2), True),
    Effect("mean, σ = 1", 1.0, np.asarray, math.exp(0.5), True),
    Effect("mean, σ = 2", 2.0, np.asarray, math.exp(2.0), True),
)


EVERYTHING = (-math.inf, math.inf)
BEYOND = [Choice(name="beyond the grid", effect=math.nan, own=EVERYTHING, shared=EVERYTHING, n=0)]
"""Rates that nobody tried may be better if the least loss lies at the end of the grid and still falls there."""


class Losses:
    """The losses of one network, drawn run after run."""

    def __init__(self, rng: np.random.Generator, deviation: float) -> None:
        self._rng, self._deviation = rng, deviation
        self._drawn = np.empty((0, len(RATES)))

    def of(self, start: int, stop: int) -> np.ndarray:
        """Of runs from start to before stop, shape (runs, rates)."""
        missing = stop - len(self._drawn)
        if missing > 0:
            shared, own = self._rng.standard_normal((missing, 1)), self._rng.standard_normal((missing, len(RATES)))
            noise = math.sqrt(SHARED_NOISE) * shared + math.sqrt(1 - SHARED_NOISE) * own
            self._drawn = np.concatenate([self._drawn, np.exp(WORSE + self._deviation * noise)])
        return self._drawn[start:stop]


Judge = Callable[[Effect, Sequence[Losses], Sequence[float]], Verdict]
"""Judges that every network's effect is at most its threshold."""


def measured(effect: Effect, losses: np.ndarray, rates: Sequence[float], own: float, shared: float) -> list[Choice]:
    """The effect at some rates, with its intervals at both levels."""
    choices = []
    for rate in rates:
        means = replicate_means(effect.of(losses[:, int(np.flatnonzero(rate == RATES)[0])]))
        left_out, runs = [LeftOut(means[1:], len(losses))], len(losses)
        ends = [interval(float(means[0]), left_out, level, effect.logarithmic) for level in (own, shared)]
        choices.append(Choice(name=f"rate {rate:g}", effect=float(means[0]), own=ends[0], shared=ends[1], n=runs))
    return choices


def judged(comparisons: Sequence[Sequence[Choice]], thresholds: Sequence[float]) -> Verdict:
    """The verdict on the claim."""
    regions = [(-math.inf, threshold) for threshold in thresholds]
    return verdict_of_all(
        [
            verdict_of_choices([choice.verdict(region) for choice in choices])
            for choices, region in zip(comparisons, regions, strict=True)
        ]
    )


def screened_and_confirmed(fresh: int, error: float = ERROR_RATE) -> Judge:
    """Rates by a screening; ties, effects and intervals by fresh runs."""

    def judge(effect: Effect, networks: Sequence[Losses], thresholds: Sequence[float]) -> Verdict:
        shared, comparisons = shared_level(len(networks), error), []
        for network in networks:
            left = np.sort(BestRate.to_confirm(RATES, network.of(0, SCREENED)))
            losses = network.of(SCREENED, SCREENED + fresh)
            best = BestRate.choose(left, losses[:, np.isin(RATES, left)], grid=RATES)
            choices = measured(effect, losses, best.order, 1 - error, shared)
            comparisons.append(choices + BEYOND if best.still_falling else choices)
        return judged(comparisons, thresholds)

    return judge


def same_runs(runs: int, all_tied: bool) -> Judge:
    """Rates and effects from the same runs, at one shared level (before) or at the shown rate alone (a control)."""

    def judge(effect: Effect, networks: Sequence[Losses], thresholds: Sequence[float]) -> Verdict:
        level = shared_level(len(networks)) if all_tied else 1 - ERROR_RATE
        comparisons = []
        for network in networks:
            losses = network.of(0, runs)
            best = BestRate.choose(RATES, losses)
            rates = best.order if all_tied else (float(RATES[np.argmin(losses.mean(axis=0))]),)
            comparisons.append(measured(effect, losses, rates, level, level))
        return judged(comparisons, thresholds)

    return judge


def first_decided(looks: Sequence[tuple[int, float]]) -> Judge:
    """Looks with more and more fresh runs, each at its own error rate, until one decides."""

    def judge(effect: Effect, networks: Sequence[Losses], thresholds: Sequence[float]) -> Verdict:
        verdict = "inconclusive"
        for fresh, error in looks:
            verdict = screened_and_confirmed(fresh, error)(effect, networks, thresholds)
            if verdict != "inconclusive":
                break
        return verdict

    return judge


WAYS: dict[str, Judge] = {
    "screened and confirmed": screened_and_confirmed(FRESH),
    "three rungs, error shared": first_decided(RUNGS),
    "rates and effects of the same ten runs, one level": same_runs(10, all_tied=True),
    "control: the best rate alone, measured on the runs that chose it": same_runs(10, all_tied=False),
    "control: five looks at 95 %": first_decided([(runs, ERROR_RATE) for runs in LOOKS]),
}


def error_rates(way: Judge, effect: Effect, comparisons: int, trials: int) -> tuple[float, float]:
    """How often the claim is supported although just false, and contradicted although just true."""
    rng = np.random.default_rng(SEED)
    far = effect.truth + FAR
    wrong = [0, 0]
    for _ in range(trials):
        networks = [Losses(rng, effect.deviation) for _ in range(comparisons)]
        one_false = [effect.truth] + [far] * (comparisons - 1)
        wrong[0] += way(effect, networks, one_false) == "supported"
        wrong[1] += way(effect, networks, [effect.truth] * comparisons) == "contradicted"
    return wrong[0] / trials, wrong[1] / trials


def table(trials: int, comparisons: Sequence[int]) -> Iterator[str]:
    """The table, in Markdown, line by line."""
    heads = [f"k = {k}: {kind}" for k in comparisons for kind in ("S", "C")]
    yield f"| way of judging | effect | {' | '.join(heads)} |"
    yield "|---|---|" + "---|" * len(heads)
    for name, way in WAYS.items():
        for effect in EFFECTS:
            rates = [rate for k in comparisons for rate in error_rates(way, effect, k, max(100, trials // k))]
            yield f"| {name} | {effect.name} | {' | '.join(f'{100 * rate:.1f}' for rate in rates)} |"


def main() -> None:
    """Print the table; numbers are per cent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=4000, help="simulated claims for k = 1; fewer for larger k")
    parser.add_argument("--comparisons", type=int, nargs="+", default=[1, 2, 6, 40])
    arguments = parser.parse_args()
    for line in table(arguments.trials, arguments.comparisons):
        print(line, flush=True)


if __name__ == "__main__":
    main()
