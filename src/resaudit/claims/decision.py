"""How claims are judged: two levels, choices that the paper leaves open, and what would change the answer.

A claim is supported only if *every* comparison holds. That is an intersection-union test (Berger 1982): each one may be
tested at 95 % by itself, and the claim still errs at most 5 % of the time. It is contradicted if *any* of them fails;
there all share the 5 % (Bonferroni). ``benchmarks/verdict_errors.py`` measures the error rates.
"""

import math
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Annotated, Literal

from pydantic import BeforeValidator

from resaudit.base.models import Count, Number, Part
from resaudit.base.text import number

ERROR_RATE = 0.05
"""How often a claim may be supported although it is false, or contradicted although it is true."""
ERRORS_OF_RUNGS = (0.025, 0.015, 0.01)
"""The shares of the error rate of three looks, each with four times the fresh runs of the one before."""
MOST_RUNS = 10_000
"""If a comparison needs more runs than this, it is too close to call."""

Verdict = Literal["supported", "contradicted", "depends", "inconclusive", "not run"]
"""The result of judging a claim, a check or a comparison."""
OF_A_LIST = BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else given)
Span = Annotated[tuple[Number, Number], OF_A_LIST]
"""The ends of an interval, or of the effects for which a claim holds; infinite where there is none."""


class Choice(Part):
    """A comparison under one choice that the paper leaves open, such as one of the tied learning rates."""

    name: str
    """The choice; empty if there is only one."""
    effect: Number
    """The effect; NaN where it is not known."""
    own: Span
    """Its interval at 95 % (or the rung's level), which must lie in the claim's region for support."""
    shared: Span
    """Its interval at the level that all comparisons of the claim share, which must lie outside to contradict."""
    n: Count
    """How many runs or draws it rests on; 0 where not known."""
    reaching: list[Number] = []
    """The ends of both intervals that no number of runs moves, as where a rate was not measured."""
    diverged: Annotated[tuple[float, Count], OF_A_LIST] = (0, 0)
    """How many of how many runs diverged; 0 of 0 where that is what the check measures."""

    def verdict(self, region: Span) -> Verdict:
        """Whether the effect lies in a region, so far as the intervals tell."""
        if region[0] <= self.own[0] and self.own[1] <= region[1]:
            return "supported"
        outside = self.shared[1] < region[0] or region[1] < self.shared[0]
        return "contradicted" if outside else "inconclusive"

    def runs_to_decide(self, region: Span, logarithmic: bool) -> int | None:
        """About how many runs would decide it, if effect and spread stay as they are.

        An interval's half-width falls with the square root of the number of runs: n (half-width / distance)^2, with the
        distance between the effect and the nearest end of the region.

        Returns:
            0 if it is decided; None if no number up to :data:`MOST_RUNS` would do, or the interval has no width to go
            by.
        """
        if self.verdict(region) != "inconclusive":
            return 0
        if self.is_open(region):
            return None
        scale, needed = math.log if logarithmic else float, 0.0
        for end, reach in self._to_move(region):
            known = all(math.isfinite(x) and (x > 0 or not logarithmic) for x in (end, reach, self.effect))
            if not known or end == self.effect:
                return None
            half, distance = scale(reach) - scale(self.effect), scale(end) - scale(self.effect)
            needed = max(needed, self.n * (half / distance) ** 2)
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
    return "depends" if kinds <= {"supported", "contradicted"} else "inconclusive"


def verdict_of_all(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on what holds only if every part holds: of the parts' verdicts, or of a claim's checks."""
    against: tuple[Verdict, ...] = ("contradicted", "not run", "inconclusive", "depends")
    return next((one for one in against if one in verdicts), "supported" if verdicts else "inconclusive")


Threshold = Literal["at_least", "at_most", "within_factor"]


class Turns(Part):
    """Where the verdict of a check turns as one of its thresholds moves: the flip distance.

    An infinite threshold means that the check has that verdict at none, or as :attr:`everywhere` says.
    """

    key: Threshold
    """The threshold."""
    supported: Number
    """From here on, towards a weaker claim, the check is supported."""
    contradicted: Number
    """Beyond here, towards a stronger claim, it is contradicted."""

    @property
    def everywhere(self) -> Verdict | None:
        """The verdict at every threshold, as where runs diverge; None if there is no such verdict."""
        strongest = math.inf if self.key == "at_least" else -math.inf
        if self.supported == strongest:
            return "supported"
        return "contradicted" if self.contradicted == -strongest else None

    @property
    def words(self) -> str:
        """Both in words, rounded to the safe side.

        >>> print(Turns(key="at_least", supported=12.345, contradicted=30.0).words)
        would hold up to 12.3, fails above 30
        >>> print(Turns(key="at_most", supported=5.536, contradicted=2.515).words)
        would hold from 5.54 up, fails below 2.51
        >>> print(Turns(key="within_factor", supported=3.0, contradicted=1.0).words)
        would hold from 3 up, fails at none
        >>> print(Turns(key="at_most", supported=math.inf, contradicted=0.3).words)
        would hold at no threshold, fails below 0.3
        >>> print(Turns(key="at_most", supported=math.inf, contradicted=math.inf).words)
        contradicted at every threshold
        """
        if self.everywhere:
            return f"{self.everywhere} at every threshold"
        least = self.key == "at_least"
        weaker, stronger = (ROUND_FLOOR, ROUND_CEILING) if least else (ROUND_CEILING, ROUND_FLOOR)
        holds, fails = "at no threshold", "at none"
        if math.isfinite(self.supported):
            at = _rounded(self.supported, weaker)
            holds = f"up to {at}" if least else f"from {at} up"
        # No ratio lies outside every factor above 1.
        if math.isfinite(self.contradicted) and (self.key != "within_factor" or self.contradicted > 1):
            fails = f"{'above' if least else 'below'} {_rounded(self.contradicted, stronger)}"
        return f"would hold {holds}, fails {fails}"


def _rounded(value: float, towards: str) -> str:
    """Three digits in words."""
    return number(float(Context(prec=3, rounding=towards).create_decimal(repr(value))), 3)


def turns_of(key: Threshold, comparisons: Sequence[Sequence[Choice]]) -> Turns:
    """The flip distance: for support every interval must lie in the region, at every choice.

    To contradict, the shared intervals of one comparison must lie outside at every choice.

    Args:
        key: the threshold that moves.
        comparisons: the choices of each comparison; at least one.
    """
    if key == "at_least":
        return Turns(
            key=key,
            supported=min(choice.own[0] for choices in comparisons for choice in choices),
            contradicted=min(max(choice.shared[1] for choice in choices) for choices in comparisons),
        )
    reach, least = (_farthest, _nearest) if key == "within_factor" else (lambda span: span[1], lambda span: span[0])
    return Turns(
        key=key,
        supported=max(reach(choice.own) for choices in comparisons for choice in choices),
        contradicted=max(min(least(choice.shared) for choice in choices) for choices in comparisons),
    )


def _farthest(ratios: Span) -> float:
    """The least factor within which all of these ratios lie."""
    return max(ratios[1], 1 / ratios[0]) if ratios[0] > 0 else math.inf


def _nearest(ratios: Span) -> float:
    """The largest factor within which none of these ratios lies; 1 if they include 1."""
    below = 1 / ratios[1] if ratios[1] > 0 else math.inf
    return max(ratios[0], below, 1.0)
