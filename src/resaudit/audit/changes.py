"""What changes verdicts: other assumptions, and another run, whose audit is put beside this one."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from resaudit.audit.models import (
    Audit,
    AuditedPaper,
    DrawnFigure,
    JudgedClaim,
    Robustness,
    Share,
    Shares,
    standing_of,
)
from resaudit.base.text import folded
from resaudit.claims.records import VariantRun
from resaudit.plan.models import CONTROL, OTHER_SEED

CONTROLS = {CONTROL: "the reduction alone", OTHER_SEED: "another seed alone"}
"""What each control shows, by id; a control is no other assumption."""


@dataclass(frozen=True)
class Change:
    """A claim's verdict under a variant, against the control's; for the control, against the one as configured."""

    before: str  # the verdict that it is compared with
    after: str  # the variant's verdict; the same where the claim's evidence does not depend on the variant
    as_seed: bool  # whether another seed alone makes the same change

    @property
    def changes(self) -> bool:
        """Whether the verdict is another one."""
        return self.after != self.before

    @property
    def mark(self) -> str:
        """In words, behind the verdict; empty without a change."""
        return "" if not self.changes else " (changes, as another seed does)" if self.as_seed else " (changes)"


@dataclass(frozen=True)
class Counted:
    """How a claim fares under the variants, without the controls."""

    of: int  # number of variants that were run for it
    changed: int  # number of variants that change the verdict
    as_seed: int  # number of variants whose change another seed makes too
    untouched: int  # number of variants that its evidence does not depend on; they change nothing

    def __str__(self) -> str:
        """In words, without the number of variants.

        >>> str(Counted(5, 1, 0, 3)), str(Counted(5, 2, 1, 0)), str(Counted(5, 0, 0, 5))
        ('1 changes the verdict; 3 do not touch its evidence', '2 change the verdict, 1 as another seed does', 'none \
touches its evidence')
        """
        if self.untouched == self.of:
            return "none touches its evidence"
        seed = f", {self.as_seed} as another seed does" if self.as_seed else ""
        said = f"{self.changed} change{'s' * (self.changed == 1)} the verdict{seed}" if self.changed else "same verdict"
        untouched = f"; {self.untouched} do{'es' * (self.untouched == 1)} not touch its evidence"
        return said + (untouched if self.untouched else "")


def changes_of(claim: JudgedClaim) -> dict[str, Change]:
    """A claim's verdict under every variant that was run for it, by id.

    ``configured`` is the claim's verdict in the run of the matrix; without it, that of the audit stands for it. All are
    as claims count: fitted where supported would be no evidence.
    """
    verdicts = {each.id: standing_of(each.verdict, claim.fitted) if each.verdict else None for each in claim.variants}
    configured = standing_of(claim.configured or claim.verdict, claim.fitted)
    control = verdicts.get(CONTROL) or configured
    seed = (verdicts.get(OTHER_SEED) or control) if OTHER_SEED in verdicts else None
    changes = {}
    for key, verdict in verdicts.items():
        before = configured if key == CONTROL else control
        after = verdict or before
        changes[key] = Change(before, after, after == seed and after != before and key not in CONTROLS)
    return changes


def change_counts(claim: JudgedClaim) -> Counted:
    """How many of the variants change a claim's verdict."""
    changes = {key: change for key, change in changes_of(claim).items() if key not in CONTROLS}
    return Counted(
        of=len(changes),
        changed=sum(change.changes for change in changes.values()),
        as_seed=sum(change.as_seed for change in changes.values()),
        untouched=sum(each.verdict is None and each.id in changes for each in claim.variants),
    )


def readings_of(claim: JudgedClaim, matrix: Robustness | None) -> dict[str, str]:
    """The verdict under every other reading that a claim's evidence depends on, by id; none from a stale matrix.

    It is ``same`` as the control's, else ``opposite`` to the claim's own, or as :func:`changes_of` has it.
    """
    if matrix is None or matrix.stale is not None:
        return {}
    opposite = {"supported": "contradicted", "contradicted": "supported"}.get(claim.verdict)
    tried = {each.id: each.verdict for each in claim.variants if each.verdict and each.id not in CONTROLS}
    changes = {key: change for key, change in changes_of(claim).items() if key in tried}
    moved_to = {key: change.after if change.changes else "same" for key, change in changes.items()}
    return {
        key: "opposite" if tried[key] == opposite and verdict != "same" else verdict
        for key, verdict in moved_to.items()
    }


def _opposing(readings: Mapping[str, str]) -> list[str]:
    return [key.replace("-", " ") for key, verdict in readings.items() if verdict == "opposite"]


def opposed(claim: JudgedClaim, matrix: Robustness | None) -> str:
    """Under which other readings a claim has the opposite verdict, in words; empty if under none, or none is known."""
    readings = readings_of(claim, matrix)
    against = _opposing(readings)
    return f"opposite under {len(against)} of {len(readings)} other readings ({', '.join(against)})" if against else ""


def moved(claim: JudgedClaim, matrix: Robustness | None) -> str:
    """Under how many other readings a claim has another verdict, in words; a dash where none was tried."""
    readings = readings_of(claim, matrix)
    against = _opposing(readings)
    others = Counter(verdict for verdict in readings.values() if verdict not in ("same", "opposite"))
    kinds = [(len(against), f"opposite ({', '.join(against)})")] if against else []
    kinds += [(number, verdict) for verdict, number in others.items()]
    if not kinds:
        return f"none of {len(readings)}" if readings else "–"
    if len(kinds) == 1:
        return f"{kinds[0][0]} of {len(readings)} {kinds[0][1]}"
    each = ", ".join(f"{number} {kind}" for number, kind in kinds)
    return f"{sum(number for number, _ in kinds)} of {len(readings)}: {each}"


def shares_of(papers: Iterable[AuditedPaper], chosen: Collection[str] | None = None) -> Shares:
    """The three shares of the claims, or of those whose ids are chosen."""
    of = [(c, p.robustness) for p in papers for c in p.claims if chosen is None or c.id in chosen]
    readings = [list(found.values()) for claim, matrix in of if (found := readings_of(claim, matrix))]
    every = [verdict for found in readings for verdict in found]
    fresh = [
        not changes_of(claim)[OTHER_SEED].changes
        for claim, matrix in of
        if matrix is not None and matrix.stale is None
        for each in claim.variants
        if each.id == OTHER_SEED and each.verdict
    ]
    return Shares(
        reproducible=_share([claim.standing == "supported" for claim, _ in of]),
        robust=_share([verdict == "same" for verdict in every]),
        opposite=every.count("opposite"),
        unmoved=_share([set(found) == {"same"} for found in readings]),
        replicable=_share(fresh),
    )


def _share(held: Sequence[bool]) -> Share:
    return Share(count=sum(held), of=len(held))


def variants_of(runs: Sequence[VariantRun], controls: bool = False) -> list[VariantRun]:
    """The variants of a matrix without its controls, or only these."""
    return [run for run in runs if (run.id in CONTROLS) is controls]


def changed_by(claims: Iterable[JudgedClaim], variant: str) -> list[tuple[JudgedClaim, Change]]:
    """The claims whose verdict a variant changes."""
    changes = [(claim, changes_of(claim).get(variant)) for claim in claims]
    return [(claim, change) for claim, change in changes if change and change.changes]


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
