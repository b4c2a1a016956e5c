"""What judging finds, as the judging makes it and audit.json has it; variants, as ``robustness.json`` has them."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from resaudit.base.models import Count, Id, Number, Part, Sha256
from resaudit.base.text import effect_and_interval
from resaudit.claims.decision import Choice, Span, Turns, Verdict
from resaudit.plan.claim import Limit, Share

UNJUDGED = "cannot be judged"
"""How the obstacle of a claim begins whose table has a value that no check can take."""
Drawings = dict[Literal["pdf", "svg", "png"], Sha256]


class Commit(Part):
    """A commit."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{40}$|^[0-9a-f]{64}$")]
    """Its hash."""
    clean: bool
    """Whether the tree had no uncommitted change."""

    @property
    def in_words(self) -> str:
        """The beginning of its hash, and whether the tree was clean."""
        return f"{self.id[:10]}{'' if self.clean else ' with uncommitted changes'}"


class NamedVariant(Part):
    """Another plausible value of what a paper does not state."""

    id: Id
    """Its name."""
    summary: str
    """The difference, in words."""
    overrides: list[str]
    """The settings that make it, as Hydra overrides."""


class VariantRun(NamedVariant):
    """A variant as it was run."""

    scale: str
    """Its scale."""
    deviations: list[str]
    """Where its settings differ from the paper's protocol."""


class VerdictUnderVariant(Part):
    """A claim's verdict under one variant."""

    verdict: Verdict | None
    """The verdict; null where the claim's evidence does not depend on the variant."""
    why: str | None
    """The verdict in words."""
    effect: float | None
    """Effect at the point that decides."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""


class Comparison(Part):
    """The effect at one place: a depth, a pair of networks, a loss."""

    where: str
    """The place in words."""
    effect: Number
    """The effect at the choice shown."""
    low: Number
    """Lower end of the interval that decides, over all choices: of the shared ones against the claim, else the own."""
    high: Number
    """Upper end."""
    n: Count
    """How many runs or draws it rests on, at the choice shown; 0 where not known."""
    verdict: Verdict
    """The verdict at this place: supported or contradicted at every choice, depends if at some each, else
    inconclusive."""
    choices: Annotated[list[Choice], Field(min_length=1)]
    """The choices that the paper leaves open, the one shown first."""

    @property
    def ends(self) -> Span:
        """The interval that decides."""
        return self.low, self.high

    @property
    def numbers(self) -> tuple[float | None, float | None, float | None]:
        """Effect, lower and upper end; None: an effect that is not known, an unbounded end."""
        effect = None if math.isnan(self.effect) else self.effect
        if self.low == self.high:  # beyond an infinite end there is no other
            return effect, self.low, self.high
        return effect, None if self.low == -math.inf else self.low, None if self.high == math.inf else self.high

    @property
    def diverged(self) -> list[str]:
        """How many of its runs diverged, in words, at each choice at which some did."""
        counts = dict.fromkeys((choice.diverged, choice.name) for choice in self.choices if choice.diverged[0])
        return [f"{hits:g} of {runs} runs diverged{f' at {name}' if name else ''}" for (hits, runs), name in counts]


class TurnsOnRerun(Part):
    """How likely the same protocol with other seeds gives another verdict (docs/intervals.md)."""

    chance: Share
    """The chance of another verdict."""
    error: Share
    """Standard error of the simulation; 0 where the chance is summed exactly."""
    verdicts: dict[Verdict, Share]
    """The chance of each verdict that can come."""

    def __str__(self) -> str:
        """In words.

        >>> print(TurnsOnRerun(chance=0.131, error=0.011, verdicts={"supported": 0.869, "inconclusive": 0.131}))
        a rerun with other seeds turns it with a chance of 13 %
        """
        return f"a rerun with other seeds turns it with a chance of {self.percent}"

    @property
    def percent(self) -> str:
        """The chance in per cent."""
        return f"{100 * self.chance:.0f} %" if self.chance >= 0.01 else "< 1 %"


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


class CheckResult(Part):
    """What one check of a claim found."""

    name: str
    """What the check is called within the claim."""
    check: CheckUsed
    """The check."""
    verdict: Verdict
    """The verdict of this check alone; the claim is supported if all checks are, contradicted if one is."""
    limit: LimitOnEffect | None = None
    """What theory says of the effect."""
    meaning: str
    """What the effect is, in words."""
    unit: str
    """Its unit in words; of a ratio, 1 means no difference."""
    scale: Literal["log", "linear"]
    """The axis on which effects are shown."""
    exact: bool
    """Whether the effect is exact (a theorem or a count) and not an estimate over runs."""
    own_level: Annotated[float, Field(gt=0, le=1)]
    """Confidence level of each own interval: 0.95, or the rung's."""
    level: Annotated[float, Field(gt=0, le=1)]
    """Confidence level of each shared interval, so that all points of the claim together have the own level."""
    coverage: Annotated[float, Field(ge=0, le=1)] | None
    """Share of own intervals that cover the mean of log-normal runs, simulated (docs/intervals.md); null where it is
    not more than 0.02 below."""
    spread: str
    """What the ends of an effect range over if it is not a mean over runs; empty otherwise."""
    region: Span
    """The effects for which the claim holds."""
    worst: Comparison | None
    """The point that decides: most against the claim, or least in favour; null where there is none."""
    points: list[Comparison]
    """All points."""
    missing: list[str]
    """Places without enough runs, with reasons; with one, the check cannot be supported."""
    excluded: list[str]
    """Places that cannot decide, with reasons, such as eigenvalues beyond double precision."""
    unmeasured: list[str]
    """Networks or properties of the check without any point; with one, it cannot be supported."""
    turns: list[Turns]
    """The flip distance of each threshold; empty where nothing was measured."""
    runs_to_decide: Count | None
    """About how many runs would decide it, if effect and spread stay as they are; 0 where it is decided, null where
    none would do."""

    @property
    def lacking(self) -> bool:
        """Whether places are missing, so that the check cannot be supported."""
        return bool(self.unmeasured or self.missing or not self.points)

    @property
    def left_out(self) -> list[str]:
        """What does not count or counts against the claim, with reasons."""
        diverged = [f"{point.where}: {words}" for point in self.points for words in point.diverged]
        return [*self.missing, *self.excluded, *diverged]

    @property
    def is_open(self) -> bool:
        """Whether no number of runs would decide an open place, since an end of an interval is open."""
        choices = [choice for point in self.points if point.verdict == "inconclusive" for choice in point.choices]
        return any(each.verdict(self.region) == "inconclusive" and each.is_open(self.region) for each in choices)

    @property
    def is_ratio(self) -> bool:
        """Whether the effect is a ratio, for which 1 means no difference."""
        return self.unit == "ratio"

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
        return effect_and_interval(*self.worst.numbers, self.is_ratio, digits=3)

    @property
    def asked(self) -> str:
        """What the threshold asks of the effect, as "ratio ≤ 1"."""
        return f"{self.unit} {self.check.threshold}".strip()

    @property
    def seen(self) -> str:
        """The effect nearest to failing, with its interval."""
        effect, interval = self.worst_in_words
        return f"{effect} ({interval})" if not self.exact and self.worst else effect

    @property
    def often(self) -> str:
        """How many of several comparisons hold, fail and are open, and for what nothing was measured."""
        failing = sum(point.verdict == "contradicted" for point in self.points)
        others = {"fail": failing, "open": len(self.points) - self.met - failing}
        parts = [f"{self.met_in_words} hold", *(f"{number} {word}" for word, number in others.items() if number)]
        none = [f"nothing measured for {', '.join(self.unmeasured)}"] if self.unmeasured and self.points else []
        return ", ".join([*(parts if self.points[1:] else []), *none])

    @property
    def size(self) -> str:
        """The runs or draws behind that effect; "exact" of a theorem or a count."""
        return "exact" if self.exact else str(self.worst.n) if self.worst else "–"


class Judgement(Part):
    """A verdict on a claim, and what each check found."""

    verdict: Verdict
    """supported: every interval lies on the claim's side of the threshold; contradicted: one lies on the other side;
    depends: decided at each choice that the paper leaves open, but differently; inconclusive: none of these, or not
    enough evidence; not run: the evidence does not exist."""
    obstacle: str = ""
    """Why the checks alone do not decide, such as missing runs or a fault of the table (``cannot be judged``); empty if
    they do."""
    checks: list[CheckResult]
    """What each check of the claim found, in order."""
