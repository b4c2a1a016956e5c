"""Pydantic models of the claims in audit.json, with the words that the page and the terminal have for them."""

from collections import Counter
from collections.abc import Iterable, Mapping

from resaudit.base.errors import VerdictError, listed
from resaudit.base.models import Id, PairId, Part
from resaudit.claims.decision import Verdict
from resaudit.claims.records import UNJUDGED, Judgement, VerdictUnderVariant
from resaudit.plan.claim import Statement

FITTED = "fitted"
STANDINGS = ("supported", "contradicted", "depends", "inconclusive", "not run", FITTED)


class SetForRun(Part):
    """A setting of a claim that this run has otherwise than the repository."""

    what: str
    """The setting: threshold, a parameter of the check, needs …"""
    here: str
    """Its value in this run, in words."""
    repository: str
    """Its value in the repository, in words."""
    check: str | None
    """The check that has it; null: the claim."""

    def __str__(self) -> str:
        return f"{self.what} set for this run: {self.here}; the repository's: {self.repository}"


class ClaimUnderVariant(VerdictUnderVariant):
    """A claim's verdict under the variant of an id."""

    id: Id
    """Of the variant."""


class JudgedClaim(Statement, Judgement):
    """A claim of a paper with its verdict."""

    id: PairId
    """paper/claim."""
    why: str
    """The verdict in one sentence: effect, interval and n, or what is missing."""
    leans: str = ""
    """Which way an open claim leans, or what a run that is no evidence saw, in words; empty where it is decided or
    nothing was measured."""
    would_decide: str = ""
    """What would decide it, in words; empty where it is decided."""
    deciding_command: str | None = None
    """The command for that; null where there is none."""
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
    """Settings of the claim and its checks that are not the repository's, and checks that only the repository has."""
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
        several = len(self.checks) > 1
        return [
            f"{each.check.replace('-', ' ')}: {each}" if each.check and several else str(each)
            for each in self.set_for_run
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
