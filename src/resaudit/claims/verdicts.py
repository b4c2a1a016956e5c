"""From measurements to verdicts: a check holds if the whole interval lies on the claim's side of the threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import pandas as pd

from resaudit.base.errors import CheckError, TableError
from resaudit.base.text import in_words, number, span
from resaudit.claims.checks.measured import Effect, Measured, Point
from resaudit.claims.decision import (
    ERROR_RATE,
    Choice,
    Span,
    Threshold,
    Turns,
    Verdict,
    error_of,
    shared_level,
    turns_of,
    verdict_of_all,
    verdict_of_choices,
)
from resaudit.claims.intervals import covered, interval, median_interval, median_ratio_interval, share_interval
from resaudit.figures.curves import whole_runs
from resaudit.plan.check import Check
from resaudit.plan.claim import Claim, Limit

SHORT = 0.02
"""Coverage is reported if it is this much below the level."""
_AGAINST = {Verdict.supported: 0, Verdict.depends: 1, Verdict.inconclusive: 2, Verdict.contradicted: 3}


@dataclass(frozen=True)
class Judged:
    """A place with its verdict.

    Attributes:
        where: the place.
        choices: the effect and its intervals at each choice that the paper leaves open, the one shown first.
        verdicts: the verdict at each of them.
        verdict: that on the comparison.
    """

    where: str
    choices: tuple[Choice, ...]
    verdicts: tuple[Verdict, ...]
    verdict: Verdict

    @property
    def effect(self) -> float:
        """The effect, at the choice shown."""
        return self.choices[0].effect

    @property
    def runs(self) -> int:
        """Number of runs, at the choice shown."""
        return self.choices[0].runs

    @property
    def own(self) -> Span:
        """The least and the largest end of the choices' own intervals."""
        return min(choice.own[0] for choice in self.choices), max(choice.own[1] for choice in self.choices)

    @property
    def shared(self) -> Span:
        """The least and the largest end of the choices' shared intervals."""
        return min(choice.shared[0] for choice in self.choices), max(choice.shared[1] for choice in self.choices)

    @property
    def diverged(self) -> list[str]:
        """How many of its runs diverged, in words, at each choice at which some did."""
        counts = dict.fromkeys((choice.diverged, choice.name) for choice in self.choices if choice.diverged[0])
        return [f"{hits} of {runs} runs diverged{f' at {name}' if name else ''}" for (hits, runs), name in counts]

    @property
    def ends(self) -> Span:
        """The interval that decides: the shared one against a claim, else its own."""
        return self.shared if self.verdict is Verdict.contradicted else self.own


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of a claim."""

    name: str  # the check's name within the claim
    check: Check  # the check with its parameters
    verdict: Verdict  # the verdict of this check alone
    measured: Measured  # meaning, unit and what was excluded
    level: float  # the confidence level that all intervals of the claim share
    points: list[Judged] = field(default_factory=list)  # the places with their intervals
    limit: Limit | None = None  # what theory says of the effect at this size
    lacking: bool = False  # whether a place is missing, so that the check cannot be supported
    own_level: float = 1 - ERROR_RATE  # the confidence level of each comparison's own interval

    @property
    def worst(self) -> Judged | None:
        """The point most against the claim, or least in favour."""
        return max(self.points, key=lambda point: (_AGAINST[point.verdict], self._against(point)), default=None)

    def _against(self, point: Judged) -> float:
        """How far a point's interval reaches to the other side; larger is worse for the claim."""
        if self.check.within_factor is not None:
            return max(abs(math.log(end)) if 0 < end < math.inf else math.inf for end in point.ends)
        (least, most), (low, high) = self.check.region, point.ends
        return max(high - most if most is not None else -math.inf, least - low if least is not None else -math.inf)

    @property
    def left_out(self) -> list[str]:
        """What does not count or counts against the claim, with reasons."""
        diverged = (
            []
            if self.check.about_divergence
            else [f"{point.where}: {words}" for point in self.points for words in point.diverged]
        )
        return [*self.measured.without_effect, *diverged]

    @property
    def exact(self) -> bool:
        """Whether no point has a spread."""
        return bool(self.measured.points) and all(
            len(point.effects) == 1 and point.shown.is_exact for point in self.measured.points
        )

    @property
    def coverage(self) -> float | None:
        """The least coverage of own intervals of means of skewed runs; None if within :data:`SHORT` of their level."""
        if not self.measured.arithmetic:
            return None
        # The interval of a single run is all that the effect can be.
        runs = {point.runs for point in self.points if point.runs > 1 and math.isfinite(point.own[1] - point.own[0])}
        shares = [covered(n, self.own_level, self.measured.logarithmic) for n in runs]
        return min((share for share in shares if self.own_level - share > SHORT), default=None)

    @property
    def turns(self) -> list[Turns]:
        """Where the verdict turns as each threshold moves; none without a place, never to support if one is missing."""
        keys = [key for key in get_args(Threshold) if getattr(self.check, key) is not None]
        turns = [turns_of(key, [point.choices for point in self.points]) for key in keys if self.points]
        at_none = {"at_least": -math.inf, "at_most": math.inf, "within_factor": math.inf}
        return [replace(each, supported=at_none[each.key]) for each in turns] if self.lacking else turns

    @property
    def is_open(self) -> bool:
        """Whether no number of runs would decide an open place, since an end of an interval is open."""
        region = region_of(self.check)
        of_open = (zip(p.choices, p.verdicts, strict=True) for p in self.points if p.verdict is Verdict.inconclusive)
        return any(
            verdict is Verdict.inconclusive and choice.is_open(region) for each in of_open for choice, verdict in each
        )

    @property
    def runs_to_decide(self) -> int | None:
        """About how many runs would decide every open place; 0 if all are decided, None if no number can be given."""
        region, logarithmic = region_of(self.check), self.measured.logarithmic
        needed = [
            choice.runs_to_decide(region, logarithmic)
            for point in self.points
            if point.verdict is Verdict.inconclusive
            for choice in point.choices
        ]
        unknown = None in needed or self.lacking or (needed and self.measured.spread)
        return None if unknown else max((n for n in needed if n is not None), default=0)


@dataclass(frozen=True)
class Judgement:
    """A verdict on a claim, and what each check found.

    ``obstacle``: why the checks alone do not decide, such as missing runs; empty if they do.
    """

    verdict: Verdict
    obstacle: str
    checks: list[CheckResult] = field(default_factory=list)


def judge(
    claim: Claim, table: pd.DataFrame | None, scale: str, dataset: str | None = None, rung: int | None = None
) -> Judgement:
    """Judge a claim by a table.

    A comparison is supported if its own interval lies on the claim's side at every choice, contradicted if its shared
    interval lies on the other side at every choice, and ``depends`` if each choice is decided, differently. A claim is
    supported if every comparison is, contradicted if one is, otherwise inconclusive if one is; also inconclusive with
    less than the minimum sample; not run without a table.

    Args:
        claim: the claim with its checks.
        table: the table of the claim's figure; None if it is not drawn.
        scale: the table's scale.
        dataset: name of the table's data set; None if it has none.
        rung: which of several looks this is; None: the only one.
    """
    if table is None:
        lacking = f"there is no figure of it yet: {claim.not_yet}" if claim.not_yet else ""
        return Judgement(Verdict.not_run, lacking or f"{claim.evidence} has not been drawn", untried(claim))
    if table.empty:
        raise TableError("the table has no rows")
    effects = {name: check.measure(table, claim.needs.runs) for name, check in claim.checks.items()}
    for name, measured in effects.items():
        if not measured.points:
            measured.missing.extend(_absent(claim.checks[name], table))
    points = [point for measured in effects.values() for point in measured.points]
    error = error_of(rung)
    level = shared_level(sum(not point.shown.is_exact for point in points), error)
    results = [_judged_check(claim, name, measured, 1 - error, level) for name, measured in effects.items()]
    missing = _missing_evidence(claim, table, scale, dataset)
    if missing:
        return Judgement(Verdict.inconclusive, f"not enough evidence: {'; '.join(missing)}", results)
    return Judgement(verdict_of_all([result.verdict for result in results]), "", results)


def _absent(check: Check, table: pd.DataFrame) -> list[str]:
    """Of each value by which the check chooses rows and that no row has, which there are: it may be misspelt."""
    chosen = [
        *getattr(check, "rows", {}).items(),
        *((getattr(check, "by", ""), v) for v in getattr(check, "bounds", {})),
    ]
    known = {column: list(dict.fromkeys(table[column].astype(str))) for column, _ in chosen}
    return [
        f"no row has {column} {value!r}; there are {in_words(known[column])}"
        for column, value in chosen
        if value not in known[column]
    ]


def untried(claim: Claim) -> list[CheckResult]:
    """The checks of a claim, none of which has measured anything."""
    meanings = {name: (type(check).__doc__ or "").split("\n")[0].rstrip(".") for name, check in claim.checks.items()}
    return [
        CheckResult(name, claim.checks[name], Verdict.not_run, Measured(meaning, ""), shared_level(1))
        for name, meaning in meanings.items()
    ]


def _judged_check(claim: Claim, name: str, measured: Measured, own_level: float, level: float) -> CheckResult:
    """The result of a check; a theorem that a measurement breaks is none, or is about something else."""
    check, limit = claim.checks[name], claim.limits.get(name)
    effects = [(point.where, effect.value) for point in measured.points for effect in point.effects]
    for where, effect in effects:
        if limit and not math.isnan(effect) and not limit.allows(effect):
            raise CheckError(
                f"check {name}, {where}: the effect {number(effect)} breaks the claim's limit, "
                f"{span(limit.at_least, limit.at_most)} ({limit.reason.rstrip('.')}); one of them is wrong"
            )
    points = [judge_point(check, point, own_level, level, measured) for point in measured.points]
    lacking = bool(unmeasured(check, points) or measured.missing or not points)
    verdict = verdict_of_all([point.verdict for point in points] + [Verdict.inconclusive] * lacking)
    return CheckResult(name, check, verdict, measured, level, points, limit, lacking, own_level)


def judge_point(check: Check, point: Point, own_level: float, level: float, measured: Measured) -> Judged:
    """The verdict at one place, over all choices that the paper leaves open there."""
    choices = tuple(_choice(check, effect, own_level, level, measured) for effect in point.effects)
    verdicts = tuple(choice.verdict(region_of(check)) for choice in choices)
    return Judged(point.where, choices, verdicts, verdict_at(verdicts, measured))


def _choice(check: Check, effect: Effect, own_level: float, level: float, measured: Measured) -> Choice:
    if effect.diverged[0] and not check.about_divergence:
        effect = replace(effect, reaching=(*effect.reaching, *_ends_against(check, measured)))
    own = _interval(effect, own_level, measured)
    shared = own if level == own_level else _interval(effect, level, measured)
    return Choice(effect.choice, effect.value, own, shared, effect.runs, effect.reaching, effect.diverged)


def _ends_against(check: Check, measured: Measured) -> tuple[float, ...]:
    """The furthest effects on the sides that a check forbids: so far may an effect reach of which runs diverged.

    Whichever way infinity points, a diverged run then never supports a claim.
    """
    least, most = range_of(measured)
    return tuple(end for end, bound in zip((least, most), check.region, strict=True) if bound is not None)


def range_of(measured: Measured) -> Span:
    """The least and the largest effect that can be."""
    least, most = measured.bounds
    return max(least, 0.0 if measured.logarithmic else -math.inf), most


def verdict_at(verdicts: Sequence[Verdict], measured: Measured) -> Verdict:
    """The verdict at one place by those on its choices; never ``depends`` where the choice itself is measured."""
    verdict = verdict_of_choices(verdicts)
    return Verdict.inconclusive if measured.spread and verdict is Verdict.depends else verdict


def region_of(check: Check) -> Span:
    """The least and the greatest effect for which a check holds."""
    least, most = check.region
    return -math.inf if least is None else least, math.inf if most is None else most


def _interval(effect: Effect, level: float, measured: Measured) -> Span:
    """An effect's interval, within what it can be; that whole range if it is not a number."""
    (least, most), value = range_of(measured), effect.value
    if math.isnan(value):
        return least, most
    low = high = value
    if effect.counted:
        low, high = share_interval(effect.counted, level)
    elif effect.ordered:
        above, *below = effect.ordered
        low, high = median_ratio_interval(above, below[0], level) if below else median_interval(above, level)
    elif effect.replicates:
        low, high = interval(value, effect.replicates, level, measured.logarithmic)
        low, high = min(max(low, least), value), max(min(high, most), value)
    return min((low, *effect.reaching)), max((high, *effect.reaching))


def unmeasured(check: Check, points: Sequence[Judged]) -> list[str]:
    """The parts of a check without a measured place; a place's name begins with its part's."""
    return [part for part in check.parts if not any(f"{point.where},".startswith(f"{part},") for point in points)]


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
    if needs.followed and {"network", "run", "epoch"} <= set(table):
        runs = whole_runs(table).groupby("network")["run"].nunique()
        missing += [
            f"{needs.followed} runs of {name} followed through training are needed, there are {runs.get(name, 0)}"
            for name in dict.fromkeys(name for check in claim.checks.values() for name in check.named)
            if runs.get(name, 0) < needs.followed
        ]
    for column in ("run", "draw"):
        if column in table and table[column].nunique() < needs.runs:
            missing.append(f"{needs.runs} {column}s are needed, there are {table[column].nunique()}")
    return missing
