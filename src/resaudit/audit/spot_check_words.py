"""What a spot-check says at its end, and the section ``spot_checks`` of the audit."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from resaudit.audit.models import SpotCheckMade
from resaudit.audit.sampling import largest_share, missed
from resaudit.audit.spot_checks import (
    AGREED,
    COMPARED,
    SpotCheck,
    independent,
    is_of_today,
    outcomes_in_words,
    statements,
)
from resaudit.base.text import counted
from resaudit.jobs.origin import RECOMPUTED

SHARES = (0.05, 0.1)
MOST_NAMED = 8


def statement_in_words(check: SpotCheck, together: Sequence[SpotCheck], results: Path) -> Iterator[str]:
    """The statement of a spot-check: what was compared, what that means, and what was not covered.

    Args:
        check: as far as it has come.
        together: the checks of the same results whose Λ add up, this one included.
        results: folder of all results.
    """
    seed = f"{check.seed[:8]}…" if len(check.seed) > 9 else check.seed
    tried, all_of = len(check.jobs), len(check.population)
    yield (
        f"Seed {seed} ({check.source}). {tried} of {all_of} jobs under {counted(len(check.claims), 'verdict')} "
        f"recomputed: {outcomes_in_words(check)}."
    )
    if check.keys("failed") or check.turned:
        yield from _mismatches(check, results)
    else:
        yield from _chances(check, together)
    if check.covered:
        yield (
            f"All that {_these(check.covered)} on was recomputed and agrees, and so do the verdicts with it: "
            f"{_named(check.covered)}."
        )
    for key in check.keys("warned"):
        kept = results / RECOMPUTED / key
        yield f"Not equal in every byte: {key}: {check.jobs[key].difference}; recomputed in {kept}."
    yield from _not_covered(check)


def _mismatches(check: SpotCheck, results: Path) -> Iterator[str]:
    for key in check.keys("failed"):
        yield f"NOT REPRODUCED: {key}: {check.jobs[key].difference}; recomputed in {results / RECOMPUTED / key}."
    for claim in check.turned:
        twice = check.judged[claim]
        yield f"ANOTHER VERDICT: {claim}: {twice.imported} as imported, {twice.recomputed} with what was recomputed."
    yield (
        f"Verdicts that rest on this: {_named(check.doubted)}. A difference is more often due to another processor or "
        "library than to intent: compare the machines in both provenance.json; no probability is stated."
    )


def _chances(check: SpotCheck, together: Sequence[SpotCheck]) -> Iterator[str]:
    reach = check.reach
    if not check.always and not check.clocks:
        yield "Nothing that these verdicts rest on can be recomputed here."
        return
    if math.isinf(reach):
        yield f"Everything in reach was compared{_except_out_of_reach(check)}."
        return
    if reach == 0:
        yield "The first job of the draw, or a short one, was not compared, so no probability is stated."
        return
    shares, chances = (" (".join(f"{value:.0%}" for value in values) + ")" for values in _shares_and_chances(reach))
    yield (
        f"Had {shares} of the evidence drawn from been forged, this check would have missed it with probability "
        f"{chances}; a single forged job is found with {_single(check, reach)}. With 95 % confidence at most "
        f"{largest_share(reach):.0%} is forged (Λ = {reach:.1f})."
    )
    if check.source == "given":
        yield "The seed was given: this holds only if who made the run could not know it."
    yield from _added_up(together)


def _added_up(together: Sequence[SpotCheck]) -> Iterator[str]:
    """What several checks of the same results by other seeds say together."""
    if len(together) < 2:
        return
    if failed := sorted({key for other in together for key in (*other.keys("failed"), *other.turned)}):
        yield f"But a spot-check by another seed did not reproduce {', '.join(failed)}."
        return
    total = math.fsum(other.reach for other in together)
    given = sum(other.source == "given" for other in together)
    yield (
        f"With {len(together) - 1} of the same results by other seeds, Λ adds up to {total:.1f}: {SHARES[0]:.0%} "
        f"forged would have been missed with probability {missed(SHARES[0], total):.1%}"
        f"{f' ({given} of the seeds were given)' if given else ''}."
    )


def _shares_and_chances(reach: float) -> tuple[Sequence[float], Sequence[float]]:
    return SHARES, [missed(share, reach) for share in SHARES]


def _single(check: SpotCheck, reach: float) -> str:
    """The chance to find one forged job, least and largest; those always recomputed are found for certain."""
    chances = [1 - missed(weight, reach) for weight in check.weights.values()] + [1.0] * bool(check.always)
    least, most = f"{min(chances):.0%}", f"{max(chances):.0%}"
    return f"probability {least}" if least == most else f"probability {least} to {most}"


def _not_covered(check: SpotCheck) -> Iterator[str]:
    for key in check.keys("not confirmed"):
        yield f"Not confirmed: {key}: {check.jobs[key].difference}."
    obstacles = {claim: twice.obstacle for claim, twice in check.judged.items() if twice.obstacle}
    if obstacles:
        yield f"Not judged again: {reasons(obstacles)}."
    if check.out_of_reach:
        yield (
            f"Not covered: {counted(len(check.out_of_reach), 'job')} with {check.out_of_reach_weight:.0%} of what "
            f"these verdicts rest on: {reasons(check.out_of_reach)}."
        )


def reasons(out_of_reach: Mapping[str, str]) -> str:
    """Why results are out of reach; the first of many, and how many more."""
    first = "; ".join(f"{key} ({reason})" for key, reason in list(out_of_reach.items())[:MOST_NAMED])
    more = len(out_of_reach) - MOST_NAMED
    return f"{first} and {more} more" if more > 0 else first


def _except_out_of_reach(check: SpotCheck) -> str:
    return ", but not all that the verdicts rest on is in reach" if check.out_of_reach else ""


def _these(claims: Sequence[str]) -> str:
    return "this verdict rests" if len(claims) == 1 else f"these {len(claims)} verdicts rest"


def _named(claims: Sequence[str]) -> str:
    return ", ".join(claims)


def spot_checks(results: Path) -> list[SpotCheckMade]:
    """The checks of results that are here now, the longest of each seed.

    Raises:
        ResauditError: a statement, or a record of an import, cannot be read.
    """
    known = [check for check in statements(results) if check.jobs and is_of_today(check, results)]
    longest = {(check.seed, check.wanted): check for check in sorted(known, key=lambda check: len(check.jobs))}
    return [
        SpotCheckMade(
            archives=list(check.archives),
            seed=check.seed,
            source=check.source,
            checked=len(check.keys(*COMPARED)),
            of=len(check.population),
            equal=len(check.keys(*AGREED)),
            failed=len(check.keys("failed")),
            **{"lambda": check.reach if math.isfinite(check.reach) else None},
            covered=check.covered,
            doubted=check.doubted,
            when=check.finished,
            statement=list(statement_in_words(check, independent(known, check), results)),
        )
        for check in longest.values()
    ]
