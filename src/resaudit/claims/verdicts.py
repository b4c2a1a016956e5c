"""From measurements to verdicts: a check holds if the whole interval lies on the claim's side of the threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

import pandas as pd

from resaudit.base.errors import ResauditError
from resaudit.base.text import number, span
from resaudit.claims.checks.measured import Measured, Point
from resaudit.claims.intervals import covered, interval, share_interval
from resaudit.plan.check import Check
from resaudit.plan.claim import Claim, Limit

ERROR_RATE = 0.05
"""Of all intervals of a claim together: each has the level 1 - ERROR_RATE / (number of intervals) (Bonferroni)."""

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
        effect: at the learning rates shown, if it depends on rates.
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
        name: of the check within the claim.
        check: with its parameters.
        verdict: of this check alone.
        measured: meaning, unit and what was left out.
        level: of each interval.
        points: with intervals.
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
        return max(self.points, key=lambda p: _against(self.check, p), default=None)

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
    inconclusive with less than the least evidence; not run without a table.

    Args:
        claim: with its checks.
        table: of the claim's figure; None if it is not drawn.
        scale: of the table.
        dataset: name of the table's data set; None if it has none.

    Raises:
        ResauditError: the table has no rows, lacks a column or a required value, or has an effect beyond a limit.
    """
    if table is None:
        untried = [_untried(name, check) for name, check in claim.checks.items()]
        lacking = f"there is no figure of it yet: {claim.not_yet}" if claim.not_yet else ""
        return Judgement(Verdict.not_run, lacking or f"{claim.evidence} has not been drawn", untried)
    if table.empty:
        raise ResauditError("the table has no rows")
    measured = {name: check.measure(table, claim.needs.runs) for name, check in claim.checks.items()}
    points = [point for part in measured.values() for point in part.points]
    intervals = sum(point.replicates is not None or bool(point.counted) for point in points)
    level = 1 - ERROR_RATE / max(1, intervals)
    results = [_result(claim, name, part, level) for name, part in measured.items()]
    missing = _missing(claim, table, scale, dataset)
    if missing:
        return Judgement(Verdict.inconclusive, f"not enough evidence: {'; '.join(missing)}", results)
    return Judgement(_combined([result.verdict for result in results]), "", results)


def _untried(name: str, check: Check) -> CheckResult:
    what = (type(check).__doc__ or "").split("\n")[0].rstrip(".")
    return CheckResult(name, check, Verdict.not_run, Measured(what, ""), 1 - ERROR_RATE)


def _result(claim: Claim, name: str, measured: Measured, level: float) -> CheckResult:
    check = claim.checks[name]
    points = [_judged(check, point, level, measured) for point in measured.points]
    limit = claim.limits.get(name)
    if limit:
        _check_limit(name, limit, measured.points)
    return CheckResult(name, check, _of_points(check, points, measured), measured, level, points, limit)


def _check_limit(name: str, limit: Limit, points: Sequence[Point]) -> None:
    """Check every effect against a limit: a theorem that a measurement breaks is none, or is about something else."""
    for point in (each for one in points for each in (one, *one.others)):
        if not math.isnan(point.effect) and not limit.allows(point.effect):
            raise ResauditError(
                f"check {name}, {point.where}: the effect {number(point.effect)} breaks the claim's limit, "
                f"{span(limit.at_least, limit.at_most)} ({limit.reason.rstrip('.')}); one of them is wrong"
            )


def _judged(check: Check, point: Point, level: float, measured: Measured) -> Judged:
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


def _of_points(check: Check, points: list[Judged], measured: Measured) -> Verdict:
    lacking = unmeasured(check, points) or measured.missing or not points
    unknown = [Verdict.inconclusive] if lacking else []
    return _combined([point.verdict for point in points] + unknown)


def unmeasured(check: Check, points: Sequence[Judged]) -> list[str]:
    """The parts of a check without a measured place; a place's name begins with its part's."""
    return [part for part in check.parts if not any(f"{point.where},".startswith(f"{part},") for point in points)]


def _combined(verdicts: list[Verdict]) -> Verdict:
    if Verdict.contradicted in verdicts:
        return Verdict.contradicted
    return Verdict.supported if set(verdicts) == {Verdict.supported} else Verdict.inconclusive


def _against(check: Check, point: Judged) -> float:
    """How far a point's interval reaches to the other side; larger is worse for the claim."""
    least, most = check.region
    if check.within_factor is not None:
        return max(abs(math.log(end)) if 0 < end < math.inf else math.inf for end in point.ends)
    low, high = point.ends
    beyond = [high - most] if most is not None else []
    return max(beyond + ([least - low] if least is not None else []))


def _missing(claim: Claim, table: pd.DataFrame, scale: str, dataset: str | None) -> list[str]:
    missing, needs = [], claim.needs
    if scale not in needs.scales:
        missing.append(f"scale {' or '.join(needs.scales)} is needed, this is {scale}")
    if needs.datasets and dataset not in needs.datasets:
        missing.append(f"the data set {' or '.join(needs.datasets)} is needed, this is {dataset}")
    if "depth" in table:
        there = set(table["depth"].dropna())
        lacking = [str(depth) for depth in needs.depths if depth not in there]
        if lacking:
            missing.append(f"depth {', '.join(lacking)} is needed")
    if "network" in table:
        named = dict.fromkeys(name for check in claim.checks.values() for name in check.named)
        absent = [name for name in named if name not in set(table["network"])]
        if absent:
            missing.append(f"network {', '.join(absent)} is needed")
        elif not missing and "run" in table:
            missing += [part for name in named for part in _missing_of(name, table[table["network"] == name], claim)]
    for column in ("run", "draw"):
        if column in table and table[column].nunique() < needs.runs:
            missing.append(f"{needs.runs} {column}s are needed, there are {table[column].nunique()}")
    return missing


def _missing_of(name: str, rows: pd.DataFrame, claim: Claim) -> list[str]:
    """The runs that one network lacks at the required depths."""
    needs, missing = claim.needs, []
    parts = {"": rows}
    if "depth" in rows:
        parts |= {f", depth {depth}": rows[rows["depth"] == depth] for depth in needs.depths}
    for where, part in parts.items():
        if part["run"].nunique() < needs.runs:
            missing.append(f"{needs.runs} runs of {name}{where} are needed, there are {part['run'].nunique()}")
    return missing
