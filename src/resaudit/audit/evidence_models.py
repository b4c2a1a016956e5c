"""Pydantic models of what the audit says of its evidence: what is printed, what is missing, what others computed."""

from typing import Annotated, Literal

from pydantic import Field

from resaudit.audit.claim_models import Count, PairId
from resaudit.base.models import Part, Sha256, Time


class PrintedValue(Part):
    """A number that is printed in the paper, with ours."""

    what: str
    """Of what: a network, a depth, a count."""
    printed: float
    """The paper's number."""
    printed_low: float | None = None
    """Lower end of its interval; null: none."""
    printed_high: float | None = None
    """Upper end of its interval; null: none."""
    here: float | None
    """Our number; null where it has not been computed."""
    low: float | None = None
    """Lower end of our interval; null: none."""
    high: float | None = None
    """Upper end of our interval; null: none."""
    n: Count | None = None
    """How many runs our number rests on; null where it is not of runs, or not known."""


class Printed(Part):
    """A table of a paper whose numbers a figure computes again."""

    figure: PairId
    """The figure that has our numbers, even if it has not been drawn."""
    quantity: str
    """What the numbers are, with their unit."""
    digits: Annotated[int, Field(ge=0, le=12)]
    """Decimals that the paper prints."""
    spread: str
    """What an interval is; empty where there is none."""
    remark: str
    """What must be known to compare them; possibly empty."""
    values: list[PrintedValue]
    """The numbers."""


class NotDrawn(Part):
    """A figure that has not been drawn here."""

    id: PairId
    """paper/figure."""
    title: str
    """Its title."""
    data: str | None
    """Title of its data set; null: none."""
    why: str
    """Why not."""
    command: str
    """The command that draws it."""


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
