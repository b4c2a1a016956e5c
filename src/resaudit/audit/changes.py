"""Which variants change a claim's verdict: each is compared with the control, as far reduced as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from resaudit.audit.claim_models import JudgedClaim, standing_of
from resaudit.audit.models import Robustness
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


def opposed(claim: JudgedClaim, matrix: Robustness | None) -> str:
    """Under which other readings a claim has the opposite verdict, in words; empty if under none, or none is known."""
    opposite = {"supported": "contradicted", "contradicted": "supported"}.get(claim.verdict)
    readings = {each.id: each.verdict for each in claim.variants if each.verdict and each.id not in CONTROLS}
    against = [key.replace("-", " ") for key, verdict in readings.items() if verdict == opposite]
    if matrix is None or matrix.stale is not None or not against:
        return ""
    return f"opposite under {len(against)} of {len(readings)} other readings ({', '.join(against)})"


def variants_of(runs: Sequence[VariantRun], controls: bool = False) -> list[VariantRun]:
    """The variants of a matrix without its controls, or only these."""
    return [run for run in runs if (run.id in CONTROLS) is controls]


def changed_by(claims: Iterable[JudgedClaim], variant: str) -> list[tuple[JudgedClaim, Change]]:
    """The claims whose verdict a variant changes."""
    changes = [(claim, changes_of(claim).get(variant)) for claim in claims]
    return [(claim, change) for claim, change in changes if change and change.changes]
