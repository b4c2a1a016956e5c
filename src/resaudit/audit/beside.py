"""Two audits side by side: claims with another verdict, and what differs between the runs that may be the cause."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from resaudit.audit.claim_models import JudgedClaim
from resaudit.audit.models import Audit, DrawnFigure
from resaudit.base.text import folded

ONLY_TABLES = (
    "only the tables differ, of equal settings, code and packages: chaotic trainings part where a processor rounds "
    "otherwise"
)


@dataclass(frozen=True)
class Pair:
    """One claim in two audits, with the figures that it is judged from, None where not drawn."""

    claims: tuple[JudgedClaim, JudgedClaim]
    figures: tuple[DrawnFigure | None, DrawnFigure | None]

    @property
    def agrees(self) -> bool:
        """Whether both have one verdict."""
        first, second = self.claims
        return first.standing == second.standing

    @property
    def of_one_table(self) -> bool:
        """Whether both are judged from the same bytes."""
        first, second = self.figures
        return first is not None and second is not None and first.sha256 == second.sha256

    def differences(self) -> Iterator[str]:
        """What differs, the nearest cause first: what was drawn, how it is judged, settings, code, platform."""
        first, second = self.figures
        if first is None or second is None:
            yield f"evidence: {' | '.join('drawn' if each else 'not drawn' for each in self.figures)}"
            return
        here, there = self.claims
        yield from _unequal("check", _judged_by(here), _judged_by(there))
        yield from _unequal("rule", _set_for_run(here), _set_for_run(there), "the repository's")
        if self.of_one_table:
            yield "the same table"
            return
        yield from [
            *_unequal("setting", _settings(first), _settings(second)),
            *_unequal("made by", _made_by(first), _made_by(second)),
        ] or [ONLY_TABLES]


def pairs(first: Audit, second: Audit) -> list[Pair]:
    """The claims that both audits have, in the first one's order."""
    figures = [{figure.id: figure for figure in audit.figures} for audit in (first, second)]
    others = {claim.id: claim for claim in second.claims}
    return [
        Pair((claim, other), (figures[0].get(claim.evidence), figures[1].get(other.evidence)))
        for claim in first.claims
        if (other := others.get(claim.id))
    ]


def side_by_side(first: Audit, second: Audit) -> Iterator[str]:
    """Lines that say what each audit is of, which claims have another verdict, and what differs for each of them."""
    for name, audit in (("A", first), ("B", second)):
        commit = audit.provenance.commit.in_words if audit.provenance.commit else "unknown"
        yield f"{name}: scale {audit.scale_in_words}; {audit.generated}, commit {commit}"
    both = pairs(first, second)
    only = [
        len({claim.id for claim in one.claims} - {claim.id for claim in other.claims})
        for one, other in ((first, second), (second, first))
    ]
    same = [pair for pair in both if pair.agrees]
    of_one_table = sum(pair.of_one_table for pair in same)
    yield (
        f"{len(both)} claims in both: {len(same)} with one verdict ({of_one_table} from one table), "
        f"{len(both) - len(same)} with another; only in A: {only[0]}, only in B: {only[1]}"
    )
    for pair in both:
        if not pair.agrees:
            yield f"\n{pair.claims[0].id}: {' | '.join(claim.standing for claim in pair.claims)}"
            for name, claim in zip("AB", pair.claims, strict=True):
                yield folded(f"{name}: {claim.why}", "  ", "     ")
            for line in pair.differences():
                yield folded(line, "  - ")


def _judged_by(claim: JudgedClaim) -> dict[str, str]:
    return {
        check.name: f"{check.check.name} {json.dumps(check.check.parameters, sort_keys=True)}" for check in claim.checks
    }


def _set_for_run(claim: JudgedClaim) -> dict[str, str]:
    """What a run sets otherwise than the repository, but for checks' parameters: minimum samples, limits."""
    return {
        f"{each.check} limit" if each.check else each.what: each.here
        for each in claim.set_for_run
        if each.what == "limit" or not each.check
    }


def _settings(figure: DrawnFigure) -> Mapping[str, str]:
    return {"scale": figure.scale, **figure.settings}


def _made_by(figure: DrawnFigure) -> Mapping[str, str]:
    made = figure.provenance
    return {
        "commit": made.commit.in_words if made.commit else "unknown",
        "devices": ", ".join(made.devices),
        "system": f"{made.system} {made.machine}",
        "python": made.python,
        **{f"package {name}": version or "none" for name, version in made.packages.items()},
    }


def _unequal(what: str, first: Mapping[str, str], second: Mapping[str, str], absent: str = "none") -> Iterator[str]:
    """The entries that differ, each in a line; ``absent`` stands for one that is missing."""
    for key in dict.fromkeys([*first, *second]):
        ours, theirs = first.get(key, absent), second.get(key, absent)
        if ours != theirs:
            yield f"{what} {key}: {ours} | {theirs}"
