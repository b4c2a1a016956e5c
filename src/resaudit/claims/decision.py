"""How claims are judged: two levels, choices that the paper leaves open, and what would change the answer.

A claim is supported only if *every* comparison holds. That is an intersection-union test (Berger 1982): each one may be
tested at 95 % by itself, and the claim still errs at most 5 % of the time. It is contradicted if *any* of them fails;
there all share the 5 % (Bonferroni). ``benchmarks/verdict_errors.py`` measures the error rates.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

ERROR_RATE = 0.05
"""How often a claim may be supported although it is false, or contradicted although it is true."""
ERRORS_OF_RUNGS = (0.025, 0.015, 0.01)
"""The shares of the error rate of three looks, each with four times the fresh runs of the one before."""
MOST_RUNS = 10_000
"""If a comparison needs more runs than this, it is too close to call."""

Span = tuple[float, float]
"""The ends of an interval, or of the effects for which a claim holds; infinite where there is none."""


class Verdict(Enum):
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
        own: its interval at 95 % (or the rung's level), which must lie in the claim's region for support.
        shared: its interval at the level that all comparisons of the claim share, which must lie outside to contradict.
        runs: number of runs.
        reaching: the ends of both intervals that no number of runs moves, see
            :class:`~resaudit.claims.checks.measured.Effect`.
        diverged: how many of how many runs diverged.
    """

    name: str
    effect: float
    own: Span
    shared: Span
    runs: int
    reaching: tuple[float, ...] = ()
    diverged: tuple[float, int] = (0, 0)

    def verdict(self, region: Span) -> Verdict:
        """Whether the effect lies in a region, so far as the intervals tell."""
        if region[0] <= self.own[0] and self.own[1] <= region[1]:
            return Verdict.supported
        outside = self.shared[1] < region[0] or region[1] < self.shared[0]
        return Verdict.contradicted if outside else Verdict.inconclusive

    def runs_to_decide(self, region: Span, logarithmic: bool) -> int | None:
        """About how many runs would decide it, if effect and spread stay as they are.

        An interval's half-width falls with the square root of the number of runs: n (half-width / distance)^2, with the
        distance between the effect and the nearest end of the region.

        Returns:
            0 if it is decided; None if no number up to :data:`MOST_RUNS` would do, or the interval has no width to go
            by.
        """
        if self.verdict(region) is not Verdict.inconclusive:
            return 0
        if self.is_open(region):
            return None
        scale, needed = math.log if logarithmic else float, 0.0
        for end, reach in self._to_move(region):
            if not _on_scale(logarithmic, end, reach, self.effect) or end == self.effect:
                return None
            half, distance = scale(reach) - scale(self.effect), scale(end) - scale(self.effect)
            needed = max(needed, self.runs * (half / distance) ** 2)
        return math.ceil(needed) if needed <= MOST_RUNS else None

    def is_open(self, region: Span) -> bool:
        """Whether no number of runs would decide it: nothing is known of the effect, or of how far it reaches."""
        return math.isnan(self.effect) or any(reach in self.reaching for _, reach in self._to_move(region))

    def _to_move(self, region: Span) -> Iterator[tuple[float, float]]:
        """Ends of the region, each with the end of the interval that must come to lie on the effect's side of it."""
        inside = region[0] <= self.effect <= region[1]
        interval = self.own if inside else self.shared
        ends = [end for end in region if math.isfinite(end)]
        # Inside, both ends of the interval must come to lie between those of the region; outside, one end must.
        for end in ends if inside else [min(ends, key=lambda end: abs(end - self.effect))]:
            yield end, interval[0] if end <= self.effect else interval[1]


def _on_scale(logarithmic: bool, *values: float) -> bool:
    return all(math.isfinite(value) and (value > 0 or not logarithmic) for value in values)


def error_of(rung: int | None) -> float:
    """The error rate of a look at the claims.

    >>> error_of(None), error_of(2)
    (0.05, 0.015)
    """
    return ERROR_RATE if rung is None else ERRORS_OF_RUNGS[rung - 1]


def shared_level(comparisons: int, error: float = ERROR_RATE) -> float:
    """The level of an interval that shares the error rate with all other comparisons of a claim (Bonferroni)."""
    return 1 - error / max(1, comparisons)


def verdict_of_choices(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a comparison by those on its choices: ``depends`` if each is decided, and not all alike."""
    kinds = set(verdicts)
    if len(kinds) == 1:
        return verdicts[0]
    return Verdict.depends if kinds <= {Verdict.supported, Verdict.contradicted} else Verdict.inconclusive


def verdict_of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on what holds only if every part holds: of the parts' verdicts, or of a claim's checks."""
    kinds = set(verdicts)
    for one in (Verdict.contradicted, Verdict.not_run, Verdict.inconclusive, Verdict.depends):
        if one in kinds:
            return one
    return Verdict.supported if kinds else Verdict.inconclusive


Threshold = Literal["at_least", "at_most", "within_factor"]
Decided = Literal["supported", "contradicted"]


@dataclass(frozen=True)
class Turns:
    """Where the verdict of a check turns as one of its thresholds moves: the flip distance.

    An infinite threshold means that the check has that verdict at none, or as :attr:`everywhere` says.
    """

    key: Threshold  # the threshold
    supported: float  # the threshold from which on the check is supported, towards a weaker claim
    contradicted: float  # the threshold beyond which it is contradicted, towards a stronger claim

    @property
    def everywhere(self) -> Decided | None:
        """The verdict at every threshold, as where runs diverge; None if there is no such verdict."""
        strongest = math.inf if self.key == "at_least" else -math.inf
        if self.supported == strongest:
            return "supported"
        return "contradicted" if self.contradicted == -strongest else None


def turns_of(key: Threshold, comparisons: Sequence[Sequence[Choice]]) -> Turns:
    """The flip distance: for support every interval must lie in the region, at every choice.

    To contradict, the shared intervals of one comparison must lie outside at every choice.

    Args:
        key: the threshold that moves.
        comparisons: the choices of each comparison; at least one.
    """
    if key == "at_least":
        return Turns(
            key,
            min(choice.own[0] for choices in comparisons for choice in choices),
            min(max(choice.shared[1] for choice in choices) for choices in comparisons),
        )
    reach, least = (_farthest, _nearest) if key == "within_factor" else (lambda span: span[1], lambda span: span[0])
    return Turns(
        key,
        max(reach(choice.own) for choices in comparisons for choice in choices),
        max(min(least(choice.shared) for choice in choices) for choices in comparisons),
    )


def _farthest(ratios: Span) -> float:
    """The least factor within which all of these ratios lie."""
    return max(ratios[1], 1 / ratios[0]) if ratios[0] > 0 else math.inf


def _nearest(ratios: Span) -> float:
    """The largest factor within which none of these ratios lies; 1 if they include 1."""
    below = 1 / ratios[1] if ratios[1] > 0 else math.inf
    return max(ratios[0], below, 1.0)
