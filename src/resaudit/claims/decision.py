"""How claims will be judged: two levels, choices that the paper leaves open, and what would change the answer.

A claim is supported only if *every* comparison holds. That is an intersection-union test (Berger 1982): each one may be
tested at 95 % by itself, and the claim still errs at most 5 % of the time. It is contradicted if *any* of them fails;
there all share the 5 % (Bonferroni). ``benchmarks/verdict_errors.py`` measures the error rates. Verdicts of today
(:mod:`resaudit.claims.verdicts`) use one level, the shared one, for both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

ERROR_RATE = 0.05
"""How often a claim may be supported although it is false, or contradicted although it is true."""
MOST_RUNS = 10_000
"""If a comparison needs more runs than this, it is too close to call."""

Span = tuple[float, float]
"""The ends of an interval, or of the effects for which a claim holds; infinite where there is none."""


class Outcome(Enum):
    """The result of judging a claim, a check or a comparison."""

    supported = "supported"
    contradicted = "contradicted"
    depends = "depends"
    inconclusive = "inconclusive"
    not_run = "not run"


@dataclass(frozen=True)
class Choice:
    """A comparison under one choice that the paper leaves open, such as one of the tied learning rates.

    Attributes:
        name: the choice; empty if there is only one.
        effect: the effect.
        own: its interval at 95 %, which must lie in the claim's region for support.
        shared: its interval at the level that all comparisons of the claim share, which must lie outside to contradict.
        runs: number of runs.
    """

    name: str
    effect: float
    own: Span
    shared: Span
    runs: int

    def outcome(self, region: Span) -> Outcome:
        """Whether the effect lies in a region, so far as the intervals tell."""
        if region[0] <= self.own[0] and self.own[1] <= region[1]:
            return Outcome.supported
        outside = self.shared[1] < region[0] or region[1] < self.shared[0]
        return Outcome.contradicted if outside else Outcome.inconclusive

    def runs_to_decide(self, region: Span, logarithmic: bool) -> int | None:
        """About how many runs would decide it, if effect and spread stay as they are.

        An interval's half-width falls with the square root of the number of runs: n (half-width / distance)^2, with the
        distance between the effect and the nearest end of the region.

        Returns:
            0 if it is decided; None if no number up to :data:`MOST_RUNS` would do, or the interval has no width to go
            by.
        """
        if self.outcome(region) is not Outcome.inconclusive:
            return 0
        scale = math.log if logarithmic else float
        inside = region[0] <= self.effect <= region[1]
        interval, needed = self.own if inside else self.shared, 0.0
        ends = [end for end in region if math.isfinite(end)]
        # Inside, both ends of the interval must come to lie between those of the region; outside, one end must.
        for end in ends if inside else [min(ends, key=lambda end: abs(end - self.effect))]:
            reach = interval[0] if end <= self.effect else interval[1]
            if not _on_scale(logarithmic, end, reach, self.effect) or end == self.effect:
                return None
            half, distance = scale(reach) - scale(self.effect), scale(end) - scale(self.effect)
            needed = max(needed, self.runs * (half / distance) ** 2)
        return math.ceil(needed) if needed <= MOST_RUNS else None


def _on_scale(logarithmic: bool, *values: float) -> bool:
    return all(math.isfinite(value) and (value > 0 or not logarithmic) for value in values)


def shared_level(comparisons: int) -> float:
    """The level of an interval that shares the error rate with all other comparisons of a claim (Bonferroni)."""
    return 1 - ERROR_RATE / max(1, comparisons)


def outcome_of_choices(verdicts: Sequence[Outcome]) -> Outcome:
    """The verdict on a comparison by those on its choices: ``depends`` if each is decided, and not all alike."""
    kinds = set(verdicts)
    if len(kinds) == 1:
        return verdicts[0]
    return Outcome.depends if kinds <= {Outcome.supported, Outcome.contradicted} else Outcome.inconclusive


def outcome_of_all(verdicts: Sequence[Outcome]) -> Outcome:
    """The verdict on what holds only if every part holds: of the parts' verdicts, or of a claim's checks."""
    kinds = set(verdicts)
    for one in (Outcome.contradicted, Outcome.not_run, Outcome.inconclusive, Outcome.depends):
        if one in kinds:
            return one
    return Outcome.supported if kinds else Outcome.inconclusive


@dataclass(frozen=True)
class Turns:
    """Where the verdict of a check turns, for a region with one end: the flip distance.

    Attributes:
        supported: the check is supported with a threshold from here on (towards a weaker claim).
        contradicted: it is contradicted with one beyond here (towards a stronger claim).
    """

    supported: float
    contradicted: float


def turns_at_most(comparisons: Sequence[Sequence[Choice]]) -> Turns:
    """The flip distance of a claim that every effect is *at most* a threshold.

    For support every interval must end below it; to contradict, one comparison must begin above it at every choice.
    """
    return Turns(
        supported=max(choice.own[1] for choices in comparisons for choice in choices),
        contradicted=max(min(choice.shared[0] for choice in choices) for choices in comparisons),
    )


def turns_at_least(comparisons: Sequence[Sequence[Choice]]) -> Turns:
    """The flip distance of a claim that every effect is *at least* a threshold."""
    return Turns(
        supported=min(choice.own[0] for choices in comparisons for choice in choices),
        contradicted=min(max(choice.shared[1] for choice in choices) for choices in comparisons),
    )
