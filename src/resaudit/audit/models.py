"""Pydantic models of audit.json; the published JSON Schema is generated from them."""

from typing import Annotated, Any, Literal

from pydantic import Field

from resaudit.audit.claim_models import Claim, Count, File, PairId
from resaudit.audit.evidence_models import NotDrawn, Printed, SpotCheck
from resaudit.base.models import Part, Sha256, Time
from resaudit.claims.records import Commit, Id, Variant, VariantRun

JobKey = Annotated[str, Field(pattern="^[a-z_]+/[a-z0-9_-]+$")]
Drawings = dict[Literal["pdf", "svg", "png"], Sha256]


class Provenance(Part):
    """What made the audit."""

    commit: Commit | None
    """The checkout's commit; null outside a checkout."""
    finished: Time
    """When it was finished."""
    machine: str
    """The processor's architecture."""
    system: str
    """The operating system."""
    python: str
    """Python's version."""
    packages: dict[str, str | None]
    """Versions of the packages that matter; null where one is not installed."""
    constraints_sha256: Sha256 | None = None
    """Of constraints.txt, the versions to install; null outside a checkout."""


class FigureProvenance(Provenance):
    """What made a figure."""

    devices: list[str]
    """The devices of all jobs that the figure is drawn from, and what computed on them."""
    seconds: float | None
    """Seconds of all jobs that the figure is drawn from, together; null where not known."""


class Assumption(Part):
    """A value that the paper does not state."""

    name: str
    """What is assumed."""
    value: str
    """The value taken."""
    reason: str
    """Why this value."""
    variants: list[Variant]
    """Plausible other values."""


class MatrixFiles(Part):
    """The matrix of claims and variants, as a table and drawn."""

    csv: File
    """The table."""
    svg: File
    """Drawn."""
    pdf: File
    """Drawn."""
    png: File
    """Drawn."""


class FigureFiles(MatrixFiles):
    """A figure's table, drawings and record."""

    about: File = Field(alias="json")
    """What the table is of."""


class Imported(Part):
    """Results that somebody else computed, by one archive."""

    archive: Sha256
    """SHA-256 of the archive."""
    by: str | None
    """Who ran it, as the archive says; null if it does not say."""
    jobs: list[JobKey]
    """The jobs, as kind/id."""


class Figure(Part):
    """A drawn figure."""

    id: PairId
    """paper/figure."""
    title: str
    """Its title."""
    caption: str
    """Its caption."""
    remark: str = ""
    """What must stand beside it, such as that its settings are reconstructed and not the paper's; empty: nothing."""
    experiment: str
    """What is computed for it."""
    files: FigureFiles
    """Its files."""
    sha256: Sha256
    """SHA-256 of the CSV."""
    drawings: Drawings = {}
    """SHA-256 of each drawing; empty for figures drawn before these were recorded."""
    rows: Count
    """Rows of the CSV."""
    scale: str
    """Scale at which it was drawn."""
    settings: dict[str, str]
    """Every setting that it depends on, in words."""
    deviations: list[str]
    """Where the settings differ from the paper's protocol, as: setting value (protocol: value)."""
    at_edge: list[str]
    """Networks whose best learning rate may lie beyond the grid, as: network at depth …."""
    assumptions: list[Assumption]
    """What the paper does not state."""
    provenance: FigureProvenance
    """What made it."""
    jobs: list[JobKey]
    """The jobs that it is drawn from, as kind/id."""
    imported: list[Imported] = []
    """Those of them that were imported when it was drawn; empty if all were computed here."""
    codes: dict[Id, dict[Sha256, Count]] = {}
    """By kind of job and hash of the code, how many of the results it made; empty for figures drawn before these were
    recorded. Two hashes of one kind: the table holds results of mixed code."""
    command: str
    """The command that draws it again."""


class Robustness(Part):
    """The same claims under other values of the assumptions."""

    reference: bool
    """Whether it is the committed matrix of another run, for want of one of this run."""
    files: MatrixFiles | None
    """The matrix of claims and variants; null for a reference."""
    drawings: Drawings = {}
    """SHA-256 of each drawing; empty for a matrix drawn before these were recorded."""
    stale: str | None
    """Why it no longer fits this audit; null where it fits."""
    commit: Commit | None
    """What made it; null where not known."""
    finished: Time
    """When it was finished."""
    variants: list[VariantRun]
    """The variants that were run."""


class Ledger(Part):
    """The claims that the audit used."""

    file: File
    """Path in the checkout."""
    sha256: Sha256
    """Of the claims as they were judged, with this run's settings and all defaults, without findings and responses, as
    canonical JSON (sorted keys)."""
    command: str | None = None
    """The command that prints it; null in older audits."""
    file_sha256: Sha256 | None = None
    """Of the file's bytes, as sha256sum prints it; null in older audits."""


class Counts(Part):
    """How many claims have each verdict."""

    supported: Count
    """Claims that are supported, without those of which agreement is no evidence."""
    contradicted: Count
    """Claims that are contradicted."""
    inconclusive: Count
    """Claims that are inconclusive."""
    not_run: Count = Field(alias="not run")
    """Claims that are not run."""
    fitted: Count = 0
    """Claims that meet our thresholds, which is no evidence."""


class Paper(Part):
    """A paper with its claims."""

    id: Id
    """Its name."""
    title: str
    """Its title."""
    short: str
    """Its authors."""
    link: str
    """Its address."""
    cited: str
    """Where it is, in a word: its arXiv number with the version that was read, or its address."""
    thresholds: str
    """When interpretations and thresholds were set, and what had been seen by then."""
    ledger: Ledger
    """The claims that the audit used."""
    counts: Counts
    """How many claims have each verdict."""
    claims: list[Claim]
    """All claims of the paper."""
    figures: list[Figure]
    """The figures that were drawn."""
    not_drawn: list[NotDrawn] = []
    """The figures that were not."""
    printed: list[Printed] = []
    """Numbers that the paper prints, with ours."""
    robustness: Robustness | None
    """The claims under other values of the assumptions; null where that has not been run."""


class Compared(Part):
    """The last ``resaudit compare``, as far as it was about the tables of this audit."""

    agree: list[PairId]
    """Figures whose tables agree with their references within the stated tolerances."""
    disagree: list[PairId]
    """Figures whose tables do not."""
    commit: Commit | None
    """What compared them; null where not known."""
    finished: Time
    """When it was finished."""


class Checked(Part):
    """What was checked beside the claims."""

    compare: Compared | None
    """Of the tables; null where it has not been run on them."""
    oracle: Any = Field(default=None, exclude=True)
    """Of older audits; ignored."""


class Audit(Part):
    """A verdict for every claim of the papers, with its evidence; made by the workflow.

    All numbers are finite; null stands for unbounded or not known.
    """

    version: Literal[1]
    """Version of this format."""
    generated: Time
    """When the audit was made."""
    scale: str
    """Scale of the run: smoke, laptop or paper."""
    scale_summary: str
    """What this scale means, in words."""
    provenance: Provenance
    """What made the audit."""
    checked: Checked
    """What was checked beside the claims."""
    overrides: list[str]
    """Settings beside the defaults, as Hydra overrides."""
    spot_checks: list[SpotCheck] = []
    """Recomputations of imported results."""
    papers: list[Paper]
    """The papers."""
