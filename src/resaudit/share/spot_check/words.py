"""What a spot-check says before it starts and while it works."""

import math
from collections.abc import Iterator

from resaudit.audit.sampling import expected, missed
from resaudit.audit.spot_check_words import SHARES, reasons
from resaudit.audit.spot_checks import Recomputed
from resaudit.base.text import counted, in_minutes
from resaudit.share.spot_check.population import Population


def announcement(found: Population, done: set[str], seconds: float | None, cores: int) -> Iterator[str]:
    """What a spot-check is going to do.

    Args:
        found: what it draws from.
        done: keys of the results that an earlier check with the same seed has compared.
        seconds: time for the check; None: as long as it takes.
        cores: to use.
    """
    yield f"{len(found.jobs)} imported results under {counted(len(found.claims), 'verdict')}"
    costs = {key: one.cost.seconds for key, one in found.jobs.items()}
    left = {key: 0.0 if key in done else costs[key] for key in found.drawn}
    always = math.fsum(costs[key] for key in found.always if key not in done)
    if done:
        yield f"{len(done)} of them were compared before with this seed, and count"
    if found.always:
        short = counted(len(found.always), "short job")
        yield f"always recomputed: {short}, {in_minutes(always / cores)} on {cores} cores"
    whole = math.fsum(left.values())
    if seconds is None:
        yield f"then all of the other {len(found.drawn)}: {in_minutes(whole / cores)}"
    else:
        reach = expected(found.drawn, left, max(0.0, seconds * cores - always))
        yield (
            f"then, in {in_minutes(seconds)}, of the other {len(found.drawn)} ({in_minutes(whole / cores)}) those "
            f"that the seed draws: {_reach(reach)} expected{_would_miss(reach)}"
        )
    if found.out_of_reach:
        yield f"out of reach: {reasons(found.out_of_reach)}"


def comparison_in_words(key: str, job: Recomputed) -> str:
    """What one comparison found."""
    return f"{key}: {job.outcome}{f': {job.difference}' if job.difference else ''} ({job.seconds} s)"


def _reach(reach: float) -> str:
    return "all of them" if math.isinf(reach) else f"Λ = {reach:.1f}"


def _would_miss(reach: float) -> str:
    if math.isinf(reach):
        return ""
    return f", which misses {SHARES[0]:.0%} forged with probability {missed(SHARES[0], reach):.0%}"
