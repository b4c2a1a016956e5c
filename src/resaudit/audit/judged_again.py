"""What the page needs to judge a claim again at a reader's threshold, in the browser (templates/page.js)."""

import math
from collections.abc import Iterable
from typing import Any

from resaudit.audit.claim_models import CheckFinding, ChoiceMade, JudgedClaim


def data_of(claims: Iterable[JudgedClaim]) -> dict[str, Any]:
    """By claim with enough evidence, whatever its verdict is computed from besides the thresholds; JSON values.

    Of each choice the ends of its interval at 95 % and at the shared level, infinite ones as JavaScript's Number reads
    them.
    """
    return {
        claim.id: {
            "fitted": claim.fitted is not None,
            "checks": {check.name: _check(check) for check in claim.checks},
        }
        for claim in claims
        if not claim.obstacle and any(check.turns for check in claim.checks)
    }


def _check(check: CheckFinding) -> dict[str, Any]:
    return {
        "thresholds": {turns.key: check.check.parameters[turns.key] for turns in check.turns},
        "log": check.scale == "log",
        "spread": bool(check.spread),
        "lacking": check.lacking,
        "points": [[_ends(choice) for choice in point.choices] for point in check.points],
    }


def _ends(choice: ChoiceMade) -> list[float | str]:
    return [end if math.isfinite(end) else "Infinity" if end > 0 else "-Infinity" for end in choice.ends]
