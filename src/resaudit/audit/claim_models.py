"""Pydantic models of the claims in audit.json, with the words that the page and the terminal have for them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from resaudit.base.errors import VerdictError, listed
from resaudit.base.models import Count, Id, PairId, Part
from resaudit.base.text import effect_and_interval
from resaudit.claims.records import UNJUDGED, Verdict, VerdictUnderVariant
from resaudit.plan.claim import Limit, Statement

FITTED = "fitted"
STANDINGS = ("supported", "contradicted", "depends", "inconclusive", "not run", FITTED)
Sign = Literal["plus", "minus"]
End = Literal["low", "high", "shared_low", "shared_high"]
UNBOUNDED: dict[End, float] = {"low": -math.inf, "high": math.inf, "shared_low": -math.inf, "shared_high": math.inf}
"""The ends of a choice's two intervals where these are unbounded."""


class ChoiceMade(Part):
    """The effect at one choice that the paper leaves open, such as a learning rate tied for the best."""

    name: str
    """The choice; empty if there is only one."""
    effect: float | None
    """The effect; null where it is not known or infinite."""
    effect_infinite: Sign | None = None
    """The sign of an infinite effect; null: the effect is finite or not known. Older audits do not say."""
    infinite: bool = False
    """Whether the effect and all ends of its intervals are plus infinity, since runs diverged."""
    other_side: list[End] = []
    """The ends that are null and not unbounded, since runs diverged: lower ones that are plus infinity, upper ones that
    are minus infinity. Older audits have only ``infinite``."""
    low: float | None
    """Lower end of its interval at 95 %, or its rung's level, which must lie in the claim's region for support; null:
    unbounded, unless ``other_side`` has it."""
    high: float | None
    """Upper end; null: as of the lower."""
    shared_low: float | None
    """Lower end of its interval at the check's level, which must lie outside the region to contradict; null:
    unbounded, unless ``other_side`` has it."""
    shared_high: float | None
    """Upper end; null: as of the lower."""
    n: Count
    """How many runs or draws it rests on; 0 where not known."""

    @property
    def ends(self) -> list[float]:
        """The ends of both intervals in the order of :data:`UNBOUNDED`, infinite ones too."""
        other_side = ("low", "shared_low") if self.infinite else self.other_side
        written = {key: getattr(self, key) for key in UNBOUNDED}
        infinite = {key: -end if key in other_side else end for key, end in UNBOUNDED.items()}
        return [infinite[key] if end is None else end for key, end in written.items()]


class Comparison(Part):
    """The effect at one place: a depth, a pair of networks, a loss."""

    where: str
    """The place in words."""
    effect: float | None
    """The effect; null where it is not known or infinite."""
    effect_infinite: Sign | None = None
    """The sign of an infinite effect; null: the effect is finite or not known. Older audits do not say."""
    low: float | None
    """Lower end of the interval that decides; null: unbounded, unless ``other_side`` has it."""
    high: float | None
    """Upper end; null: as of the lower."""
    other_side: list[Literal["low", "high"]] = []
    """The ends that are null and not unbounded, since runs diverged: a lower one that is plus infinity, an upper one
    that is minus infinity. Older audits do not say."""
    n: Count | None
    """How many runs or draws it rests on; null where not known."""
    verdict: Verdict
    """The verdict at this place: supported or contradicted at every choice, depends if at some each, else
    inconclusive."""
    choices: list[ChoiceMade] = []
    """The choices, the one shown first; empty in version 1."""

    @property
    def numbers(self) -> tuple[float | None, float | None, float | None]:
        """Effect, lower and upper end, infinite ones too; None: an effect that is not known, an unbounded end."""
        effect = {None: self.effect, "plus": math.inf, "minus": -math.inf}[self.effect_infinite]
        if self.other_side:
            # Beyond an infinite end there is no other.
            both = math.inf if "low" in self.other_side else -math.inf
            return effect, both, both
        return effect, self.low, self.high


class CheckUsed(Part):
    """A check with its parameters."""

    name: str
    """Its name."""
    parameters: dict[str, Any]
    """Its parameters, thresholds among them."""
    threshold: str
    """The claim's side of our threshold, in words."""


class LimitOnEffect(Limit):
    """A bound that theory sets to an effect at the size of the experiment."""

    excludes_threshold: bool
    """Whether no possible effect meets the threshold."""


class SetForRun(Part):
    """A setting of a claim that this run has otherwise than the repository."""

    what: str
    """The setting: threshold, a parameter of the check, needs …"""
    here: str
    """Its value in this run, in words."""
    repository: str
    """Its value in the repository, in words."""

    def __str__(self) -> str:
        return f"{self.what} set for this run: {self.here}; the repository's: {self.repository}"


class TurningPoints(Part):
    """Where a check's verdict turns as one of its thresholds moves: the flip distance."""

    key: Literal["at_least", "at_most", "within_factor"]
    """The threshold."""
    supported: float | None
    """From here on, towards a weaker claim, the check is supported; null: at none, but for ``everywhere``."""
    contradicted: float | None
    """Beyond here, towards a stronger claim, it is contradicted; null: at none, but for ``everywhere``."""
    everywhere: Literal["supported", "contradicted"] | None = None
    """Its verdict at every threshold, as where runs diverge; null where it turns or stays open, and in older audits."""
    words: str
    """Both in words."""


class CheckFinding(Part):
    """What one check of a claim found."""

    name: str
    """What the check is called within the claim."""
    check: CheckUsed
    """The check."""
    verdict: Verdict
    """The verdict of this check alone; the claim is supported if all checks are, contradicted if one is."""
    sentence: str
    """The result in one sentence; empty where nothing has run."""
    limit: LimitOnEffect | None
    """What theory says of the effect."""
    meaning: str
    """What the effect is, in words."""
    unit: str
    """Its unit in words."""
    ratio: bool
    """Whether the effect is a ratio, for which 1 means no difference."""
    scale: Literal["log", "linear"]
    """The axis on which effects are shown."""
    exact: bool
    """Whether the effect is exact (a theorem or a count) and not an estimate over runs."""
    level: Annotated[float, Field(gt=0, le=1)] | None
    """Confidence level of each shared interval, so that all points of the claim together have 0.95, or their rung's."""
    coverage: Annotated[float, Field(ge=0, le=1)] | None
    """Share of 95 % intervals that cover the mean of log-normal runs, simulated (docs/intervals.md); null where it is
    not more than 0.02 below."""
    tied: bool
    """Whether an interval spans every choice of learning rates that are tied for the best, not just the one shown."""
    spread: str
    """What the ends of an effect range over if it is not a mean over runs; empty otherwise."""
    low: float | None
    """Lower end of the region in which the claim holds; null: unbounded."""
    high: float | None
    """Upper end of that region; null: unbounded."""
    worst: Comparison | None
    """The point that decides; null where there is none."""
    points: list[Comparison]
    """All points."""
    left_out: list[str]
    """What was not counted, and why."""
    set_for_run: list[SetForRun] = []
    """Threshold and parameters that are not the repository's."""
    lacking: bool = False
    """Whether places are missing, so that the check cannot be supported."""
    turns: list[TurningPoints] = []
    """The flip distance of each threshold; empty where nothing was measured, and in version 1."""
    runs_to_decide: Count | None = None
    """About how many runs would decide it, if effect and spread stay as they are; 0 where it is decided, null where
    none would do."""

    @property
    def met(self) -> int:
        """How many comparisons meet the threshold."""
        return sum(point.verdict == "supported" for point in self.points)

    @property
    def met_in_words(self) -> str:
        """How many comparisons meet the threshold, as "5 of 6"; a dash without any."""
        return f"{self.met} of {len(self.points)}" if self.worst else "–"

    @property
    def worst_in_words(self) -> tuple[str, str]:
        """The least favourable effect and its interval; dashes without any."""
        if self.worst is None:
            return "–", "–"
        return effect_and_interval(*self.worst.numbers, self.ratio, digits=3)

    @property
    def meets(self) -> str:
        """How many comparisons meet the threshold, and the least favourable effect against it."""
        against = f"{self.worst_in_words[0]} vs {self.check.threshold}"
        return against if len(self.points) == 1 else f"{self.met_in_words}; worst {against}"


class ClaimUnderVariant(VerdictUnderVariant):
    """A claim's verdict under the variant of an id."""

    id: Id
    """Of the variant."""


class JudgedClaim(Statement):
    """A claim of a paper with its verdict."""

    id: PairId
    """paper/claim."""
    verdict: Verdict
    """supported: every interval lies on the claim's side of the threshold; contradicted: one lies on the other side;
    depends: decided at each choice that the paper leaves open, but differently; inconclusive: none of these, or not
    enough evidence; not run: the evidence does not exist."""
    why: str
    """The verdict in one sentence: effect, interval and n, or what is missing."""
    obstacle: str = ""
    """Why the checks alone do not decide, such as missing runs or a fault of the table (``cannot be judged``); empty if
    they do, and in version 1."""
    leans: str = ""
    """Which way an open claim leans, or what a run that is no evidence saw, in words; empty where it is decided or
    nothing was measured, and in version 1."""
    would_decide: str = ""
    """What would decide it, in words; empty where it is decided, and in version 1."""
    deciding_command: str | None = None
    """The command for that; null where there is none."""
    checks: list[CheckFinding]
    """What each check of the claim found, in order; empty where nothing could be measured."""
    evidence: PairId
    """The figure whose table is the evidence, even if it has not been drawn."""
    data: str | None = None
    """Title of the data set of that figure; null: none."""
    variants: list[ClaimUnderVariant]
    """The verdict under each variant, which counts as a change if it is not that under control, and under control
    itself; empty where robustness has not run."""
    configured: Verdict | None = None
    """The verdict as configured in the run of the variants; null: not known, or the claim's own."""
    set_for_run: list[SetForRun] = []
    """Other settings of the claim that are not the repository's, and checks that only the repository has."""
    command: str | None
    """The command that recreates the evidence; null if it cannot be made yet."""

    @property
    def paper(self) -> str:
        """Id of its paper."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Its id within its paper."""
        return self.id.split("/")[1]

    @property
    def standing(self) -> str:
        """What it counts as: its verdict, but fitted where it meets our thresholds and that is no evidence."""
        return standing_of(self.verdict, self.fitted)

    @property
    def settings_of_run(self) -> list[str]:
        """All of its settings that are not the repository's, a check's with its name where there are several."""
        lead = len(self.checks) > 1
        return [*map(str, self.set_for_run)] + [
            f"{check.name.replace('-', ' ')}: {entry}" if lead else str(entry)
            for check in self.checks
            for entry in check.set_for_run
        ]

    @property
    def share_met(self) -> float:
        """The share of its comparisons that meet the threshold; 2, and so last, without any."""
        count = sum(len(check.points) for check in self.checks)
        return round(sum(check.met for check in self.checks) / count, 4) if count else 2.0


def standing_of(verdict: str, fitted: str | None) -> str:
    """What a claim counts as.

    >>> [standing_of(verdict, "to it") for verdict in ("supported", "inconclusive")]
    ['fitted', 'inconclusive']
    """
    return FITTED if fitted and verdict == "supported" else verdict


def standings_of(claims: Iterable[JudgedClaim]) -> dict[str, int]:
    """How many claims count as what, in the order of :data:`STANDINGS`."""
    counts = Counter(claim.standing for claim in claims)
    return {standing: counts[standing] for standing in STANDINGS}


def refuse_unjudged(obstacles: Mapping[str, str]) -> None:
    """Raise ResauditError if a claim cannot be judged, by the obstacles of claims."""
    unjudged = [claim for claim, obstacle in obstacles.items() if obstacle.startswith(UNJUDGED)]
    if unjudged:
        raise VerdictError(
            f"{len(unjudged)} of {len(obstacles)} claims cannot be judged: {listed(unjudged)}; resaudit audit --claim "
            f"{unjudged[0]} says why"
        )


def counts_in_words(*counts: dict[str, int]) -> str:
    """The sum of some counts of claims in words; fitted ones are named where there are any.

    >>> counts_in_words({"supported": 1, "not run": 2}, {"supported": 3, "not run": 0, "fitted": 0})
    '4 supported, 2 not run'
    """
    named = [key for key in STANDINGS if any(key in count for count in counts)]
    total = {key: sum(count.get(key, 0) for count in counts) for key in named}
    return ", ".join(f"{number} {key}" for key, number in total.items() if number or key != FITTED)
