"""Pydantic models of the claims in audit.json, with the words that the page and the terminal have for them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from resaudit.base.errors import VerdictError, listed
from resaudit.base.models import Id, PairId, Part
from resaudit.base.text import value_in_words
from resaudit.claims.decision import Verdict
from resaudit.claims.records import UNJUDGED, Judgement, VerdictUnderVariant
from resaudit.claims.words import threshold_in_words
from resaudit.plan.claim import Claim, Statement

FITTED = "fitted"
Standing = Literal["supported", "contradicted", "depends", "inconclusive", "not run", "fitted"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
THRESHOLD = ("at_least", "at_most", "within_factor")
NONE = "none"
Settings = dict[str, tuple[str, Any]]
"""By name, in words and as JSON has it."""


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
    def standing(self) -> Standing:
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


def standing_of(verdict: Verdict, fitted: str | None) -> Standing:
    """What a claim counts as.

    >>> [standing_of(verdict, "to it") for verdict in ("supported", "inconclusive")]
    ['fitted', 'inconclusive']
    """
    return "fitted" if fitted and verdict == "supported" else verdict


def standings_of(claims: Iterable[JudgedClaim]) -> dict[Standing, int]:
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


def counts_in_words(*counts: Mapping[Standing, int]) -> str:
    """The sum of some counts of claims in words; fitted ones are named where there are any.

    >>> counts_in_words({"supported": 1, "not run": 2}, {"supported": 3, "not run": 0, "fitted": 0})
    '4 supported, 2 not run'
    """
    named = [key for key in STANDINGS if any(key in count for count in counts)]
    total = {key: sum(count.get(key, 0) for count in counts) for key in named}
    return ", ".join(f"{number} {key}" for key, number in total.items() if number or key != FITTED)


def set_for_run(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The settings of a claim and its checks that are not the repository's, and the checks that one of them lacks.

    Args:
        claim: the claim as composed for this run.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    found = _different(_of_claim(claim), _of_claim(written))
    for name in {**claim.checks, **written.checks}:
        here, repository = (each.checks[name].name if name in each.checks else NONE for each in (claim, written))
        if name not in written.checks:
            found.append(SetForRun(what="check", here=here, repository=repository, check=name))
        elif name not in claim.checks:
            found.append(SetForRun(what=f"check {name}", here=here, repository=repository, check=None))
        else:
            found += _different(_of_check(claim, name), _of_check(written, name), name)
    return found


def _of_claim(claim: Claim) -> Settings:
    """Minimum sample, texts and other settings."""
    values = claim.model_dump(mode="json", exclude={"checks", "limits"})
    return _in_words({f"needs {key}": value for key, value in values.pop("needs").items()} | values)


def _of_check(claim: Claim, name: str) -> Settings:
    """Threshold, parameters and limit."""
    check, limit = claim.checks[name], claim.limits.get(name)
    values = check.model_dump(mode="json") | {"limit": limit.model_dump(mode="json") if limit else None}
    bounds = {key: bound for key in THRESHOLD if (bound := values.pop(key)) is not None}
    return {"threshold": (threshold_in_words(check), bounds)} | _in_words(values)


def _in_words(values: dict[str, Any]) -> Settings:
    return {key: (NONE if value in ([], {}, "") else value_in_words(value), value) for key, value in values.items()}


def _different(run: Settings, repository: Settings, check: str | None = None) -> list[SetForRun]:
    different = []
    for key in {**run, **repository}:
        (words, value), (others, other) = (settings.get(key, (NONE, None)) for settings in (run, repository))
        if value != other:
            if words == others:  # they differ in a digit that words do not have
                words, others = (json.dumps(setting, ensure_ascii=False) for setting in (value, other))
            different.append(SetForRun(what=key.replace("_", " "), here=words, repository=others, check=check))
    return different
