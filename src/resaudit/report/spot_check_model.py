"""Pydantic model of what the audit says of a spot-check."""

from typing import Annotated, Literal

from pydantic import Field

from resaudit.report.claim_models import Count, PairId, Part, Sha256, Time


class SpotCheck(Part):
    """A recomputation of imported results drawn at random (docs/travel.md)."""

    archives: list[Sha256]
    """SHA-256 of the archives whose results were drawn."""
    seed: str
    """Of the draw."""
    source: Literal["made here after the import", "given"]
    """Of the seed."""
    checked: Count
    """Results that were recomputed and compared."""
    of: Count
    """Imported results that verdicts rest on."""
    equal: Count
    """Recomputed results that agree, in every byte or within tolerance."""
    failed: Count
    """Recomputed results that do not."""
    lambda_: Annotated[float | None, Field(ge=0, alias="lambda")]
    """A run with a share s of the evidence drawn from forged was missed with probability exp(-s lambda); null if all
    of that evidence was recomputed."""
    covered: list[PairId]
    """The claims whose verdicts rest on checked evidence alone."""
    doubted: list[PairId]
    """The claims whose verdicts rest on a result that was not reproduced."""
    when: Time
    """When it was finished."""
    statement: list[str]
    """The statement in words, by sentence."""
