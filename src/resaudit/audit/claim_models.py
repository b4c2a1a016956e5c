"""Pydantic models of the claims in audit.json, and the types that all of its models share."""

from typing import Annotated, Any, Literal

from pydantic import Field

from resaudit.base.models import Part
from resaudit.claims.records import ID, Id, Verdict, VerdictUnderVariant

_PART = "[A-Za-z0-9_-][A-Za-z0-9._-]*"

PairId = Annotated[str, Field(pattern=f"^{ID}/{ID}$")]
"""paper/claim or paper/figure."""
File = Annotated[str, Field(pattern=f"^{_PART}(/{_PART})*$")]
"""Relative to the folder of audit.json, with forward slashes; never leads out of it."""
Count = Annotated[int, Field(ge=0)]


class Point(Part):
    """The effect at one place: a depth, a pair of networks, a loss."""

    where: str
    """The place in words."""
    effect: float | None
    """The effect; null where it is not known."""
    low: float | None
    """Lower end of its interval; null: unbounded or not known."""
    high: float | None
    """Upper end of its interval; null: unbounded or not known."""
    n: Count | None
    """How many runs or draws it rests on; null where not known."""
    verdict: Verdict
    """The verdict at this place."""


class Check(Part):
    """A check with its parameters."""

    name: str
    """Its name."""
    parameters: dict[str, Any]
    """Its parameters, thresholds among them."""
    threshold: str
    """The claim's side of our threshold, in words."""


class Limit(Part):
    """A bound that theory sets to an effect at the size of the experiment."""

    at_least: float | None
    """Least possible effect; null: unbounded."""
    at_most: float | None
    """Greatest possible effect; null: unbounded."""
    reason: str
    """Why."""
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


class CheckResult(Part):
    """What one check of a claim found."""

    name: str
    """What the check is called within the claim."""
    check: Check
    """The check."""
    verdict: Verdict
    """The verdict of this check alone; the claim is supported if all checks are, contradicted if one is."""
    sentence: str
    """The result in one sentence; empty where nothing has run."""
    limit: Limit | None
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
    """Confidence level of each interval, so that all points of the claim together have 0.95; null where exact."""
    coverage: Annotated[float, Field(ge=0, le=1)] | None
    """Share of such intervals that cover the mean of log-normal runs, simulated (docs/intervals.md); null where it is
    not more than 0.02 below the level."""
    tied: bool
    """Whether an interval spans every choice of learning rates that are tied for the best, not just the one shown."""
    spread: str
    """What the ends of an effect range over if it is not a mean over runs; empty otherwise."""
    low: float | None
    """Lower end of the region in which the claim holds; null: unbounded."""
    high: float | None
    """Upper end of that region; null: unbounded."""
    worst: Point | None
    """The point that decides; null where there is none."""
    points: list[Point]
    """All points."""
    left_out: list[str]
    """What was not counted, and why."""
    set_for_run: list[SetForRun] = []
    """Threshold and parameters that are not the repository's."""


class ClaimUnderVariant(VerdictUnderVariant):
    """A claim's verdict under the variant of an id."""

    id: Id
    """Of the variant."""


class Needs(Part):
    """The minimum sample that a verdict needs."""

    runs: Count | None
    """Number of runs; null: any."""
    depths: list[int]
    """Required depths."""
    scales: list[str]
    """Scales that count as evidence."""
    datasets: list[str] = []
    """Data sets that count as evidence, by name; empty: any."""


class Response(Part):
    """An author's reply."""

    author: str
    """Who replied."""
    date: str
    """When."""
    text: str
    """The reply."""
    url: str | None
    """Where it was published."""


class Claim(Part):
    """A claim of a paper with its verdict."""

    id: PairId
    """paper/claim."""
    statement: str
    """A paraphrase of the paper alone."""
    where: str
    """Its place in the paper: section, paragraph, figure, equation."""
    kind: Literal["empirical", "theorem", "count"]
    """empirical: of runs; theorem: checked by construction; count: of things that can be counted."""
    interpretation: str
    """How the claim's vague words are made exact."""
    reason: str
    """The reason for the interpretation."""
    needs: Needs
    """The minimum sample that a verdict needs."""
    fitted: str | None = None
    """Why its agreement is no evidence, so that it is not counted as supported; null: it is evidence."""
    finding: str | None
    """Why the claim failed or stayed open, as far as tested; null where it holds or has not run."""
    response: Response | None
    """Of an author of the paper; null if there is none."""
    verdict: Verdict
    """supported: every interval lies on the claim's side of the threshold; contradicted: one lies on the other side;
    inconclusive: neither, or not enough evidence; not run: the evidence does not exist."""
    why: str
    """The verdict in one sentence: effect, interval and n, or what is missing."""
    checks: list[CheckResult]
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
