"""Records of verdicts under variants, as in ``robustness.json`` and in the audit."""

from typing import Annotated, Literal

from pydantic import Field

from resaudit.base.models import Id, Part, Sha256

Verdict = Literal["supported", "contradicted", "depends", "inconclusive", "not run"]
UNJUDGED = "cannot be judged"
"""How the obstacle of a claim begins whose table has a value that no check can take."""
Drawings = dict[Literal["pdf", "svg", "png"], Sha256]


class Commit(Part):
    """A commit."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{40}$|^[0-9a-f]{64}$")]
    """Its hash."""
    clean: bool
    """Whether the tree had no uncommitted change."""

    @property
    def in_words(self) -> str:
        """The beginning of its hash, and whether the tree was clean."""
        return f"{self.id[:10]}{'' if self.clean else ' with uncommitted changes'}"


class NamedVariant(Part):
    """Another plausible value of what a paper does not state."""

    id: Id
    """Its name."""
    summary: str
    """The difference, in words."""
    overrides: list[str]
    """The settings that make it, as Hydra overrides."""


class VariantRun(NamedVariant):
    """A variant as it was run."""

    scale: str
    """Its scale."""
    deviations: list[str]
    """Where its settings differ from the paper's protocol."""


class VerdictUnderVariant(Part):
    """A claim's verdict under one variant."""

    verdict: Verdict | None
    """The verdict; null where the claim's evidence does not depend on the variant."""
    why: str | None
    """The verdict in words."""
    effect: float | None
    """Effect at the point that decides."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end of its interval."""
