"""What a check found, as audit.json has it."""

import math

from resaudit.audit.claim_models import (
    UNBOUNDED,
    CheckFinding,
    CheckUsed,
    ChoiceMade,
    Comparison,
    LimitOnEffect,
    SetForRun,
    Sign,
    TurningPoints,
)
from resaudit.claims.decision import Choice, Turns
from resaudit.claims.verdicts import CheckResult, Judged
from resaudit.claims.words import is_ratio, sentence, threshold_in_words, turns_in_words


def finding(result: CheckResult, set_here: list[SetForRun]) -> CheckFinding:
    """What a check of a claim found, as audit.json has it, with its settings that are not the repository's."""
    check, limit, measured = result.check, result.limit, result.measured
    parameters = {key: value for key, value in check.model_dump(mode="json").items() if value not in (None, [], {})}
    return CheckFinding(
        name=result.name,
        check=CheckUsed(name=parameters.pop("check"), parameters=parameters, threshold=threshold_in_words(check)),
        verdict=result.verdict.value,
        sentence=sentence(result),
        limit=LimitOnEffect(**dict(limit), excludes_threshold=limit.excludes(check)) if limit else None,
        ratio=is_ratio(result),
        meaning=measured.meaning,
        unit=measured.unit,
        scale="log" if measured.logarithmic else "linear",
        exact=result.exact,
        level=result.level,
        coverage=result.coverage,
        tied=any(len(point.choices) > 1 for point in result.points),
        spread=measured.spread,
        low=check.region[0],
        high=check.region[1],
        worst=_comparison(result.worst) if result.worst else None,
        points=[_comparison(point) for point in result.points],
        left_out=result.left_out,
        set_for_run=set_here,
        lacking=result.lacking,
        turns=[_turns(turns) for turns in result.turns],
        runs_to_decide=result.runs_to_decide,
    )


def _comparison(point: Judged) -> Comparison:
    low, high = point.ends
    return Comparison(
        where=point.where,
        effect=_finite(point.effect),
        effect_infinite=_sign(point.effect),
        low=_finite(low),
        high=_finite(high),
        other_side=["low"] if low == math.inf else ["high"] if high == -math.inf else [],
        n=point.runs,
        verdict=point.verdict.value,
        choices=[_choice(choice) for choice in point.choices],
    )


def _choice(choice: Choice) -> ChoiceMade:
    ends = dict(zip(UNBOUNDED, (*choice.own, *choice.shared), strict=True))
    return ChoiceMade(
        name=choice.name,
        effect=_finite(choice.effect),
        effect_infinite=_sign(choice.effect),
        infinite=set(ends.values()) == {math.inf},
        other_side=[key for key, end in ends.items() if end == -UNBOUNDED[key]],
        **{key: _finite(end) for key, end in ends.items()},
        n=choice.runs,
    )


def _turns(turns: Turns) -> TurningPoints:
    return TurningPoints(
        key=turns.key,
        supported=_finite(turns.supported),
        contradicted=_finite(turns.contradicted),
        everywhere=turns.everywhere,
        words=turns_in_words(turns),
    )


def _sign(number: float) -> Sign | None:
    """The sign of an infinite number."""
    return ("plus" if number > 0 else "minus") if math.isinf(number) else None


def _finite(number: float) -> float | None:
    """A number for JSON: None if it is not finite."""
    return number if math.isfinite(number) else None
