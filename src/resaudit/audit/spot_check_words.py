"""What a spot-check says at its end, and the section ``spot_checks`` of the audit."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from resaudit.audit.models import SpotCheckMade
from resaudit.audit.sampling import largest_share, missed
from resaudit.audit.spot_checks import AGREED, COMPARED, SpotCheck, is_of_today, outcomes_in_words, statements
from resaudit.base.text import counted
from resaudit.jobs.origin import RECOMPUTED

SHARE = 0.05
"""Of the evidence, forged: for it the statement says how likely it would have been missed."""
MOST_NAMED = 8


def statement_in_words(check: SpotCheck, results: Path) -> Iterator[str]:
    """The statement of a spot-check: what was compared, what that means, and what was not covered."""
    seed = f"{check.seed[:8]}…" if len(check.seed) > 9 else check.seed
    yield (
        f"Seed {seed} ({check.source}). {len(check.jobs)} of {len(check.population)} jobs under "
        f"{counted(len(check.claims), 'verdict')} recomputed: {outcomes_in_words(check)}."
    )
    for key in check.keys("failed", "warned"):
        what = "NOT REPRODUCED" if check.jobs[key].outcome == "failed" else "Not equal in every byte"
        yield f"{what}: {key}: {check.jobs[key].difference}; recomputed in {results / RECOMPUTED / key}."
    for claim in check.turned:
        twice = check.judged[claim]
        yield f"ANOTHER VERDICT: {claim}: {twice.imported} as imported, {twice.recomputed} with what was recomputed."
    if check.doubted:
        yield (
            f"Verdicts that rest on this: {', '.join(check.doubted)}. A difference is more often due to another "
            "processor or library than to intent: compare the machines in both provenance.json."
        )
    else:
        yield _chances(check)
    if check.covered:
        yield f"All that these verdicts rest on was recomputed and agrees, and so do they: {', '.join(check.covered)}."
    for key in check.keys("not confirmed"):
        yield f"Not confirmed: {key}: {check.jobs[key].difference}."
    if obstacles := {claim: twice.obstacle for claim, twice in check.judged.items() if twice.obstacle}:
        yield f"Not judged again: {reasons(obstacles)}."
    if check.out_of_reach:
        yield (
            f"Not covered: {counted(len(check.out_of_reach), 'job')} with {check.out_of_reach_weight:.0%} of what "
            f"these verdicts rest on: {reasons(check.out_of_reach)}."
        )


def _chances(check: SpotCheck) -> str:
    """What a check in which nothing differs rules out."""
    if not check.always and not check.clocks:
        return "Nothing that these verdicts rest on can be recomputed here."
    if math.isinf(check.reach):
        return "Everything in reach was compared."
    if check.reach == 0:
        return "The first job of the draw, or a short one, was not compared, so no probability is stated."
    given = " The seed was given: this holds only if who made the run could not know it."
    return (
        f"Had {SHARE:.0%} of the evidence drawn from been forged, this check would have missed it with probability "
        f"{missed(SHARE, check.reach):.0%}; with 95 % confidence at most {largest_share(check.reach):.0%} is forged "
        f"(Λ = {check.reach:.1f}).{given if check.source == 'given' else ''}"
    )


def reasons(by_key: Mapping[str, str]) -> str:
    """Why jobs or claims are not covered; the first of many, and how many more."""
    first = "; ".join(f"{key} ({reason})" for key, reason in list(by_key.items())[:MOST_NAMED])
    more = len(by_key) - MOST_NAMED
    return f"{first} and {more} more" if more > 0 else first


def spot_checks(results: Path) -> list[SpotCheckMade]:
    """The checks of results that are here now, the longest of each seed."""
    checks = [check for check in statements(results) if check.jobs and is_of_today(check, results)]
    longest = {(check.seed, check.wanted): check for check in sorted(checks, key=lambda check: len(check.jobs))}
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
            statement=list(statement_in_words(check, results)),
        )
        for check in longest.values()
    ]
