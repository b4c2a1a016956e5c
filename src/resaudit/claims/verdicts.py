"""From measurements to verdicts: a check holds if the whole interval lies on the claim's side of the threshold."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import pandas as pd

from resaudit.base.errors import ResauditError
from resaudit.base.text import number, span
from resaudit.claims.checks.measured import Measured, Point
from resaudit.claims.decision import shared_level
from resaudit.claims.intervals import covered, interval, share_interval
from resaudit.plan.check import Check
from resaudit.plan.claim import Claim, Limit

SHORT = 0.02
"""Coverage is reported if it is this much below the level."""


class Verdict(Enum):
    """The result of judging a claim."""

    supported = "supported"
    contradicted = "contradicted"
    inconclusive = "inconclusive"
    not_run = "not run"


@dataclass(frozen=True)
class Judged:
    """A point with its interval and verdict.

    Attributes:
        where: the place.
        effect: the effect, at the learning rates shown if it depends on rates.
        low, high: ends of its interval.
        runs: number of runs.
        verdict: supported only if supported at every choice of tied rates, contradicted likewise.
        tied: least and largest end over all tied rates' intervals; None without tied rates.
    """

    where: str
    effect: float
    low: float
    high: float
    runs: int
    verdict: Verdict
    tied: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The interval that decides the verdict: over all tied rates if there are any."""
        return self.tied or (self.low, self.high)


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a claim.

    Attributes:
        name: the check's name within the claim.
        check: the check with its parameters.
        verdict: the verdict of this check alone.
        measured: meaning, unit and what was excluded.
        level: the confidence level of each interval.
        points: the places with their intervals.
        limit: what theory says of the effect at this size.
    """

    name: str
    check: Check
    verdict: Verdict
    measured: Measured
    level: float
    points: list[Judged] = field(default_factory=list)
    limit: Limit | None = None

    @property
    def worst(self) -> Judged | None:
        """The point most against the claim, or least in favour."""
        return max(self.points, key=self._against, default=None)

    def _against(self, point: Judged) -> float:
        """How far a point's interval reaches to the other side; larger is worse for the claim."""
        if self.check.within_factor is not None:
            return max(abs(math.log(end)) if 0 < end < math.inf else math.inf for end in point.ends)
        (least, most), (low, high) = self.check.region, point.ends
        return max(high - most if most is not None else -math.inf, least - low if least is not None else -math.inf)

    @property
    def exact(self) -> bool:
        """Whether no point has a spread."""
        return bool(self.measured.points) and not any(
            point.replicates is not None or point.others or point.counted for point in self.measured.points
        )

    @property
    def coverage(self) -> float | None:
        """The least coverage of means of skewed runs over all points; None if within :data:`SHORT` of the level."""
        if not self.measured.arithmetic:
            return None
        runs = {point.runs for point in self.points if math.isfinite(point.high - point.low)}
        shares = [covered(n, self.level, self.measured.logarithmic) for n in runs]
        return min((share for share in shares if self.level - share > SHORT), default=None)


@dataclass(frozen=True)
class Judgement:
    """A verdict on a claim, and what each check found.

    ``obstacle``: why the checks alone do not decide, such as missing runs; empty if they do.
    """

    verdict: Verdict
    obstacle: str
    checks: list[CheckResult] = field(default_factory=list)


def judge(claim: Claim, table: pd.DataFrame | None, scale: str, dataset: str | None = None) -> Judgement:
    """Judge a claim by a table.

    A check is supported if every point's whole interval lies on the claim's side, contradicted if one lies entirely on
    the other side. A claim is supported if every check is, contradicted if one is, otherwise inconclusive; also
    inconclusive with less than the minimum sample; not run without a table.

    Args:
        claim: the claim with its checks.
        table: the table of the claim's figure; None if it is not drawn.
        scale: the table's scale.
        dataset: name of the table's data set; None if it has none.

    Raises:
        ResauditError: the table has no rows, lacks a column or a required value, or has an effect beyond a limit.
    """
    if table is None:
        lacking = f"there is no figure of it yet: {claim.not_yet}" if claim.not_yet else ""
        meanings = {
            name: (type(check).__doc__ or "").split("\n")[0].rstrip(".") for name, check in claim.checks.items()
        }
        untried = [
            CheckResult(name, claim.checks[name], Verdict.not_run, Measured(meaning, ""), shared_level(1))
            for name, meaning in meanings.items()
        ]
        return Judgement(Verdict.not_run, lacking or f"{claim.evidence} has not been drawn", untried)
    if table.empty:
        raise ResauditError("empty-table", "the table has no rows")
    effects = {name: check.measure(table, claim.needs.runs) for name, check in claim.checks.items()}
    points = [point for measured in effects.values() for point in measured.points]
    intervals = sum(point.replicates is not None or bool(point.counted) for point in points)
    level = shared_level(intervals)
    results = [_judged_check(claim, name, measured, level) for name, measured in effects.items()]
    missing = _missing_evidence(claim, table, scale, dataset)
    if missing:
        return Judgement(Verdict.inconclusive, f"not enough evidence: {'; '.join(missing)}", results)
    return Judgement(_combined([result.verdict for result in results]), "", results)


def _judged_check(claim: Claim, name: str, measured: Measured, level: float) -> CheckResult:
    """The result of a check; a theorem that a measurement breaks is none, or is about something else."""
    check, limit = claim.checks[name], claim.limits.get(name)
    for point in itertools.chain(measured.points, *(place.others for place in measured.points)):
        if limit and not math.isnan(point.effect) and not limit.allows(point.effect):
            raise ResauditError(
                "broken-limit",
                "check {name}, {where}: the effect {effect} breaks the claim's limit, {limit} ({reason}); "
                "one of them is wrong",
                name=name,
                where=point.where,
                effect=number(point.effect),
                limit=span(limit.at_least, limit.at_most),
                reason=limit.reason.rstrip("."),
            )
    points = [judge_point(check, point, level, measured) for point in measured.points]
    lacking = unmeasured(check, points) or measured.missing or not points
    verdict = _combined([point.verdict for point in points] + [Verdict.inconclusive] * bool(lacking))
    return CheckResult(name, check, verdict, measured, level, points, limit)


def judge_point(check: Check, point: Point, level: float, measured: Measured) -> Judged:
    """The verdict at one place, over all learning rates that are tied there."""
    low, high = _interval(point, level, measured)
    every = [(low, high), *(_interval(other, level, measured) for other in point.others)]
    bottom, top = min(ends[0] for ends in every), max(ends[1] for ends in every)
    least, most = check.region
    least, most = -math.inf if least is None else least, math.inf if most is None else most
    if least <= bottom and top <= most:
        verdict = Verdict.supported
    else:
        verdict = Verdict.contradicted if top < least or bottom > most else Verdict.inconclusive
    tied = (bottom, top) if point.others else None
    return Judged(point.where, point.effect, low, high, point.runs, verdict, tied)


def _interval(point: Point, level: float, measured: Measured) -> tuple[float, float]:
    """A point's interval, within what the effect can be; that whole range if the effect is not a number."""
    least, most = measured.bounds
    if math.isnan(point.effect):
        return max(least, 0.0 if measured.logarithmic else -math.inf), most
    if point.counted:
        return share_interval(point.counted, level)
    if point.replicates is None:
        return point.effect, point.effect
    low, high = interval(point.effect, point.replicates, level, measured.logarithmic)
    return min(max(low, least), point.effect), max(min(high, most), point.effect)


def unmeasured(check: Check, points: Sequence[Judged]) -> list[str]:
    """The parts of a check without a measured place; a place's name begins with its part's."""
    return [part for part in check.parts if not any(f"{point.where},".startswith(f"{part},") for point in points)]


def _combined(verdicts: list[Verdict]) -> Verdict:
    if Verdict.contradicted in verdicts:
        return Verdict.contradicted
    return Verdict.supported if set(verdicts) == {Verdict.supported} else Verdict.inconclusive


def _missing_evidence(claim: Claim, table: pd.DataFrame, scale: str, dataset: str | None) -> list[str]:
    """What the table lacks of the claim's minimum sample, each in a few words."""
    missing, needs = [], claim.needs
    if scale not in needs.scales:
        missing.append(f"scale {' or '.join(needs.scales)} is needed, this is {scale}")
    if needs.datasets and dataset not in needs.datasets:
        missing.append(f"the data set {' or '.join(needs.datasets)} is needed, this is {dataset}")
    if "depth" in table:
        lacking = [str(depth) for depth in needs.depths if depth not in set(table["depth"].dropna())]
        if lacking:
            missing.append(f"depth {', '.join(lacking)} is needed")
    if "network" in table:
        named = dict.fromkeys(name for check in claim.checks.values() for name in check.named)
        absent = [name for name in named if name not in set(table["network"])]
        if absent:
            missing.append(f"network {', '.join(absent)} is needed")
        elif not missing and "run" in table:
            for name in named:
                rows = table[table["network"] == name]
                samples = {name: rows}
                if "depth" in rows:
                    samples |= {f"{name}, depth {depth}": rows[rows["depth"] == depth] for depth in needs.depths}
                counts = {sample: of_sample["run"].nunique() for sample, of_sample in samples.items()}
                missing += [
                    f"{needs.runs} runs of {sample} are needed, there are {count}"
                    for sample, count in counts.items()
                    if count < needs.runs
                ]
    for column in ("run", "draw"):
        if column in table and table[column].nunique() < needs.runs:
            missing.append(f"{needs.runs} {column}s are needed, there are {table[column].nunique()}")
    return missing
