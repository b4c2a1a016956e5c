"""How likely a rerun turns a verdict: the claim is judged again by runs of other seeds, simulated from those at hand.

Neither this run's effect nor a rerun's is the true one, so a rerun's is drawn around this one with the errors of both
(a predictive draw). Resampling the runs alone has only one of these errors, and too little of it where runs are few.
docs/intervals.md has both measured.

- Effects of means: the jackknife's values of the runs are drawn anew as normal ones, and so is their spread.
- Shares, medians and best rates: whole runs are drawn with replacement, by weights that are drawn first (the Bayesian
  bootstrap, Rubin 1981). For shares that is a beta-binomial law, summed exactly if a claim has no other effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from resaudit.claims.checks.measured import Effect, Measured, Point, drawn_anew, median_of
from resaudit.claims.intervals import LeftOut, half_width, share_interval
from resaudit.claims.records import CheckResult, Judgement, TurnsOnRerun
from resaudit.claims.verdicts import AGAINST, choice_of, judge_point, range_of, region_of
from resaudit.plan.claim import Check, Claim

RERUNS = 1000
OF_RATES = 200
"""Reruns of a claim about best rates, which are chosen anew in each."""
SEED = 1
UNLIKELY = 1e-9
"""Counts less likely than this are left out of sums."""
Ends = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends of intervals, shape (reruns,)."""
Place = tuple[Check, CheckResult, Measured, Point]


def turns_on_rerun(claim: Claim, table: pd.DataFrame, judgement: Judgement) -> TurnsOnRerun | None:
    """The chance that a rerun turns a verdict; None if it is not known.

    So it is if no effect has a spread over runs, the sample is too small, or some runs diverged and made an effect
    infinite: how the others are spread is then in no replicate.

    Args:
        claim: the claim with its checks.
        table: the table of the claim's figure.
        judgement: the verdict by this table.
    """
    if judgement.obstacle or all(result.exact and not result.spread for result in judgement.checks):
        return None
    places: list[Place] = []
    for result in judgement.checks:
        check = claim.checks[result.name]
        measured = check.measure(table, claim.needs.runs)
        places += [(check, result, measured, point) for point in measured.points]
    if not places or any(map(_has_unknown_spread, (effect for *_, point in places for effect in point.effects))):
        return None
    least = AGAINST.index("inconclusive" if any(result.lacking for result in judgement.checks) else "supported")
    is_summed = all(map(_is_one_share, places))
    reruns = OF_RATES if any(point.again for *_, point in places) else RERUNS
    shares = (_summed(places, least) if is_summed else _simulated(places, least, reruns)).round(4)
    same = shares[AGAINST.index(judgement.verdict)]
    # No turn in 1000 reruns does not mean that there is none.
    near = (reruns * same + 1) / (reruns + 2)
    return TurnsOnRerun(
        chance=round(float(1 - same), 4),
        error=0.0 if is_summed else float(np.sqrt(near * (1 - near) / reruns)),
        verdicts={verdict: float(share) for verdict, share in zip(AGAINST, shares, strict=True) if share > 0},
    )


def _simulated(places: Sequence[Place], least: int, reruns: int) -> np.ndarray:
    """The share of reruns with each verdict, which is at best the one at index ``least`` of AGAINST."""
    drawn = Reruns(reruns)
    codes = np.max([drawn.verdicts(place) for place in places], axis=0)
    return np.bincount(np.maximum(codes, least), minlength=len(AGAINST)) / reruns


def _has_unknown_spread(effect: Effect) -> bool:
    """Whether runs diverged, not all, and the mean with them is infinite; relative to that, the effect is zero."""
    hits, runs = effect.diverged
    return 0 < hits < runs and bool(effect.replicates) and (effect.value == 0 or not np.isfinite(effect.value))


def _is_one_share(place: Place) -> bool:
    """Whether a place has one effect, either exact or the share of one group of runs."""
    *_, measured, point = place
    return len(point.effects) == 1 and not measured.spread and (point.shown.is_exact or len(point.shown.recounted) == 1)


def _summed(places: Sequence[Place], least: int) -> np.ndarray:
    """The chance of each verdict over all counts; those of different places are independent."""
    no_worse = np.ones(len(AGAINST))
    for place in places:
        one = place[-1].shown
        cumulative = _law_of_count(*one.counted[0]) if one.counted else np.ones(1)
        law = np.diff(cumulative, prepend=0)
        likely = np.flatnonzero(law > UNLIKELY)
        codes = [_judged(place, [_with_counts(one, [hits] * len(one.recounted))]) for hits in likely.tolist()]
        no_worse *= np.bincount(codes, law[likely] / law[likely].sum(), len(AGAINST)).cumsum()
    no_worse[:least] = 0
    return np.diff(no_worse, prepend=0)


def _law_of_count(hits: float, runs: int) -> np.ndarray:
    """The cumulative law of the count in a rerun, 0 to ``runs``: beta-binomial.

    It is that of whole runs drawn by weights that are drawn first. An outcome that no run has, or all, stays so.
    """
    from scipy.special import betaln

    counts, others = np.arange(runs + 1), runs - hits
    if not (hits and others):
        return (counts >= hits).astype(float)
    logs = betaln(counts + hits, runs - counts + others) - betaln(counts + 1, runs - counts + 1)
    law = np.exp(logs - logs.max())
    return np.asarray(law.cumsum() / law.sum())


def _with_counts(effect: Effect, hits: Sequence[int]) -> Effect:
    """The effect with other counts, of as many runs; an exact one as it is."""
    counted = (
        *((hit, runs) for hit, (_, runs) in zip(hits, effect.recounted, strict=True)),
        *effect.counted[len(hits) :],
    )
    shares = [each / runs for each, runs in counted]
    return replace(effect, value=shares[0] - sum(shares[1:]), counted=counted) if counted else effect


def _with_runs(effect: Effect, rng: np.random.Generator) -> Effect:
    """A median, or a ratio of two, of whole runs drawn anew."""
    return median_of(*(values[drawn_anew(len(values), rng)] for values in map(np.array, effect.ordered)))


def _judged(place: Place, effects: Sequence[Effect]) -> int:
    """The verdict at a place by other effects, as its index in AGAINST."""
    check, result, measured, point = place
    other = replace(point, effects=tuple(effects))
    return AGAINST.index(judge_point(check, other, result.own_level, result.level, measured).verdict)


class Reruns:
    """Simulated reruns of one claim.

    Comparisons that have as many runs in the same place, such as two numerators, draw the same: so they are of the same
    runs, or, where they are not, correlated by chance alone.
    """

    def __init__(self, count: int) -> None:
        self._count, self._rng = count, np.random.default_rng(SEED)
        self._noise: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray]] = {}

    def verdicts(self, place: Place) -> np.ndarray:
        """The verdict at a place in each rerun, as its index in AGAINST, shape (reruns,)."""
        check, result, measured, point = place
        if point.again:
            return np.array([_judged(place, point.again(number)) for number in range(self._count)])
        if any(effect.ordered for effect in point.effects):
            again = ([_with_runs(effect, self._rng) for effect in point.effects] for _ in range(self._count))
            return np.array([_judged(place, effects) for effects in again])
        least, most = region_of(check)
        uniform = self._rng.random((2, self._count))
        choices = [self._choice(check, result, measured, effect, uniform) for effect in point.effects]
        inside = np.array([(least <= own[0]) & (own[1] <= most) for own, _ in choices])
        outside = np.array([(shared[1] < least) | (most < shared[0]) for _, shared in choices])
        return np.select(
            [inside.all(axis=0), outside.all(axis=0), (inside | outside).all(axis=0)],
            [AGAINST.index(verdict) for verdict in ("supported", "contradicted", "depends")],
            AGAINST.index("inconclusive"),
        )

    def _choice(
        self, check: Check, result: CheckResult, measured: Measured, effect: Effect, uniform: np.ndarray
    ) -> list[Ends]:
        """The own and the shared intervals at one choice."""
        levels, nothing = (result.own_level, result.level), np.zeros(self._count)
        known = choice_of(check, effect, *levels, measured)
        if effect.counted:
            ends = [self._of_counts(effect, level, uniform) for level in levels]
        elif means := self._of_means(effect, measured):
            ends = [means(level) for level in levels]
        else:
            return [(nothing + low, nothing + high) for low, high in (known.own, known.shared)]
        hits, runs = known.diverged
        # A rerun without a diverged run has no more than the other open ends.
        some = uniform[0] >= (1 - hits / runs) ** runs if hits else nothing > 0
        reaching = [
            np.where(some, end(known.reaching, default=never), end(effect.reaching, default=never))
            for end, never in ((min, np.inf), (max, -np.inf))
        ]
        return [(np.minimum(low, reaching[0]), np.maximum(high, reaching[1])) for low, high in ends]

    def _of_counts(self, effect: Effect, level: float, uniform: np.ndarray) -> Ends:
        """Intervals of shares: the same quantile of each choice's law, since their pairs are of the same runs."""
        hits = [_law_of_count(*counted).searchsorted(u) for counted, u in zip(effect.recounted, uniform, strict=False)]
        each, of = np.unique(np.array(hits), axis=1, return_inverse=True)
        ends = np.array([share_interval(_with_counts(effect, one).counted, level) for one in each.T.tolist()])
        return ends[of.ravel(), 0], ends[of.ravel(), 1]

    def _of_means(self, effect: Effect, measured: Measured) -> Callable[[float], Ends] | None:
        """Intervals of a function of means by their level; None if the interval is the same whatever the runs."""
        scale, back = (np.log, np.exp) if measured.logarithmic else (np.asarray, np.asarray)
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = scale(effect.value)
            moved = [scale(group.effects) - middle for group in effect.replicates]
        if not (effect.replicates and all(np.isfinite(each).all() for each in (middle, *moved))):
            return None
        if min(group.runs for group in effect.replicates) < 2:
            return None
        spread = []
        for number, (group, each) in enumerate(zip(effect.replicates, moved, strict=True)):
            weights, factor = self._drawn(number, len(each), group.runs - 1)
            middle = middle + weights @ each
            spread.append(LeftOut(factor[:, None] * each, group.runs))
        least, most = range_of(measured)

        def ends(level: float) -> Ends:
            half = half_width(spread, level)
            with np.errstate(over="ignore"):
                value = np.clip(back(middle), least, most)
                low, high = back(middle - half), back(middle + half)
            return np.minimum(np.maximum(low, least), value), np.maximum(np.minimum(high, most), value)

        return ends

    def _drawn(self, place: int, runs: int, freedom: int) -> tuple[np.ndarray, np.ndarray]:
        """Of a group of runs in each rerun: the weights of its jackknife's values, and the factor of their spread.

        The true variance is the known one times n - 1 over a chi-squared number, and so, by another, is the rerun's.
        """
        if (place, runs, freedom) not in self._noise:
            true, again = self._rng.chisquare(freedom, (2, self._count)) / freedom
            # The jackknife's variance is (n - 1)/n times the sum of squares: of this run, and of the rerun.
            weights = self._rng.standard_normal((self._count, runs)) * np.sqrt(2 * (runs - 1) / runs / true)[:, None]
            self._noise[place, runs, freedom] = weights, np.sqrt(again / true)
        return self._noise[place, runs, freedom]
