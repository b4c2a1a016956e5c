"""From measurements to verdicts: a check holds if the whole interval lies on the claim's side of the threshold."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import pandas as pd

from resaudit.base.errors import CheckError, ResauditError, TableError
from resaudit.base.models import refusals
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
from resaudit.claims.records import UNJUDGED, CheckResult, CheckUsed, Comparison, Judgement, LimitOnEffect
from resaudit.claims.words import threshold_in_words
from resaudit.figures.curves import whole_runs
from resaudit.figures.tables import errors_naming
from resaudit.plan.claim import Check, Claim
from resaudit.plan.experiment import in_words as keys_in_words
from resaudit.plan.models import Config

SHORT = 0.02
"""Coverage is reported if it is this much below the level."""
AGAINST: tuple[Verdict, ...] = ("supported", "depends", "inconclusive", "contradicted")
"""Verdicts on a comparison, the one most against the claim last."""


@refusals("the judgement: $")
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
        obstacle = lacking or f"{claim.evidence} has not been drawn"
        return Judgement(verdict="not run", obstacle=obstacle, checks=untried(claim))
    if table.empty:
        raise TableError("the table has no rows")
    effects = {name: check.measure(table, claim.needs.runs) for name, check in claim.checks.items()}
    for name, measured in effects.items():
        if not measured.points:
            measured.missing.extend(_absent(claim.checks[name], table))
    points = [point for measured in effects.values() for point in measured.points]
    error = error_of(rung)
    level = shared_level(sum(not point.shown.is_exact for point in points), error)
    results = [judged_check(claim, name, measured, 1 - error, level) for name, measured in effects.items()]
    missing = _missing_evidence(claim, table, scale, dataset)
    return Judgement(
        verdict="inconclusive" if missing else verdict_of_all([result.verdict for result in results]),
        obstacle=f"not enough evidence: {'; '.join(missing)}" if missing else "",
        checks=results,
    )


def judgement_on(config: Config, paper: str, name: str, table: pd.DataFrame | None) -> Judgement:
    """The judgement on a claim by its figure's table (None: not drawn).

    A table that cannot be judged leaves the claim inconclusive, with the fault and the keys of its row as the obstacle.
    """
    claim = config.claims_of(paper)[name]
    figure = f"{paper}/{claim.evidence}"
    try:
        with errors_naming(f"table of {figure}", figure):
            return judge(claim, table, config.scale_of(figure), config.dataset_of(figure), config.rung)
    except ResauditError as error:
        place = _place(error.__cause__, table, config.figure[figure].keys)
        return Judgement(verdict="inconclusive", obstacle=f"{UNJUDGED}{place}: {error}", checks=untried(claim))


def _place(error: BaseException | None, table: pd.DataFrame | None, keys: list[str]) -> str:
    """The keys of the row at fault, in words; empty where the error has its own words for the place."""
    if table is None or not isinstance(error, TableError):
        return ""
    place = int(np.nanargmin(table[error.least_of])) if error.least_of in table else error.row
    if place is None:
        return ""
    row = table.iloc[place]
    return f" at {keys_in_words(tuple((key, row[key]) for key in keys if key in table))}"


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
    tried = [judged_check(claim, name, Measured(meaning, ""), 1 - ERROR_RATE) for name, meaning in meanings.items()]
    return [result.model_copy(update={"verdict": "not run", "limit": None}) for result in tried]


def judged_check(
    claim: Claim, name: str, measured: Measured, own_level: float, level: float = 1 - ERROR_RATE
) -> CheckResult:
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
    # A place's name begins with its part's.
    unmeasured = [p for p in check.parts if not any(f"{point.where},".startswith(f"{p},") for point in points)]
    lacking = bool(unmeasured or measured.missing or not points)
    parameters = {key: value for key, value in check.model_dump(mode="json").items() if value not in (None, [], {})}
    return CheckResult(
        name=name,
        check=CheckUsed(name=parameters.pop("check"), parameters=parameters, threshold=threshold_in_words(check)),
        verdict=verdict_of_all([point.verdict for point in points] + ["inconclusive"] * lacking),
        limit=LimitOnEffect(**dict(limit), excludes_threshold=limit.excludes(check)) if limit else None,
        meaning=measured.meaning,
        unit=measured.unit,
        scale="log" if measured.logarithmic else "linear",
        exact=bool(points) and all(len(p.effects) == 1 and p.shown.is_exact for p in measured.points),
        own_level=own_level,
        level=level,
        coverage=_coverage(points, own_level, measured),
        spread=measured.spread,
        region=region_of(check),
        worst=worst_of(check, points),
        points=points,
        missing=measured.missing,
        excluded=measured.excluded,
        unmeasured=unmeasured,
        turns=_turns(check, points, lacking),
        runs_to_decide=_runs_to_decide(check, points, lacking, measured),
    )


def worst_of(check: Check, points: Sequence[Comparison]) -> Comparison | None:
    """The point most against the claim, or least in favour."""
    least, most = check.region

    def against(point: Comparison) -> tuple[int, float]:
        """How far its interval reaches to the other side; larger is worse for the claim."""
        if check.within_factor is not None:
            reach = [abs(math.log(end)) if 0 < end < math.inf else math.inf for end in point.ends]
        else:
            reach = [point.high - most] if most is not None else []
            reach += [least - point.low] if least is not None else []
        return AGAINST.index(point.verdict), max(reach)

    return max(points, key=against, default=None)


def _coverage(points: Sequence[Comparison], own_level: float, measured: Measured) -> float | None:
    """The least coverage of own intervals of means of skewed runs; None if within :data:`SHORT` of their level."""
    if not measured.arithmetic:
        return None
    # The interval of a single run is all that the effect can be.
    runs = {p.n for p in points if p.n > 1 and all(math.isfinite(end) for c in p.choices for end in c.own)}
    shares = [covered(n, own_level, measured.logarithmic) for n in runs]
    return min((share for share in shares if own_level - share > SHORT), default=None)


def _turns(check: Check, points: Sequence[Comparison], lacking: bool) -> list[Turns]:
    """Where the verdict turns as each threshold moves; none without a place, never to support if one is missing."""
    keys = [key for key in get_args(Threshold) if getattr(check, key) is not None]
    turns = [turns_of(key, [point.choices for point in points]) for key in keys if points]
    never = [{"supported": -math.inf if each.key == "at_least" else math.inf} for each in turns]
    return [each.model_copy(update=no) for each, no in zip(turns, never, strict=True)] if lacking else turns


def _runs_to_decide(check: Check, points: Sequence[Comparison], lacking: bool, measured: Measured) -> int | None:
    """About how many runs would decide every open place; 0 if all are decided, None if no number can be given."""
    needed = [
        choice.runs_to_decide(region_of(check), measured.logarithmic)
        for point in points
        if point.verdict == "inconclusive"
        for choice in point.choices
    ]
    unknown = None in needed or lacking or (needed and measured.spread)
    return None if unknown else max((n for n in needed if n is not None), default=0)


def judge_point(check: Check, point: Point, own_level: float, level: float, measured: Measured) -> Comparison:
    """The verdict at one place, over all choices that the paper leaves open there."""
    choices = [choice_of(check, effect, own_level, level, measured) for effect in point.effects]
    verdict = verdict_at([choice.verdict(region_of(check)) for choice in choices], bool(measured.spread))
    # Shared intervals decide against a claim.
    intervals = [choice.shared if verdict == "contradicted" else choice.own for choice in choices]
    return Comparison(
        where=point.where,
        effect=choices[0].effect,
        low=min(low for low, _ in intervals),
        high=max(high for _, high in intervals),
        n=choices[0].n,
        verdict=verdict,
        choices=choices,
    )


def choice_of(check: Check, effect: Effect, own_level: float, level: float, measured: Measured) -> Choice:
    """An effect with its intervals; one of which runs diverged reaches to what the check forbids."""
    if check.about_divergence:
        effect = replace(effect, diverged=(0, 0))
    elif effect.diverged[0]:
        effect = replace(effect, reaching=(*effect.reaching, *_ends_against(check, measured)))
    own = _interval(effect, own_level, measured)
    shared = own if level == own_level else _interval(effect, level, measured)
    return Choice(
        name=effect.choice,
        effect=effect.value,
        own=own,
        shared=shared,
        n=effect.runs,
        reaching=list(effect.reaching),
        diverged=effect.diverged,
    )


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


def verdict_at(verdicts: Sequence[Verdict], spread: bool) -> Verdict:
    """The verdict at one place by those on its choices; never ``depends`` if their spread is what is measured."""
    verdict = verdict_of_choices(verdicts)
    return "inconclusive" if spread and verdict == "depends" else verdict


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
