"""Pydantic models of audit.json, with the words for them; the published JSON Schema is generated from them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from resaudit.base.errors import VerdictError, listed
from resaudit.base.models import Count, Id, PairId, Part, Sha256, Time, different
from resaudit.base.text import decimals, value_in_words
from resaudit.claims.decision import Verdict
from resaudit.claims.records import (
    UNJUDGED,
    Commit,
    Drawings,
    Judgement,
    NamedVariant,
    TurnsOnRerun,
    VariantRun,
    VerdictUnderVariant,
)
from resaudit.claims.words import threshold_in_words
from resaudit.figures.printed import Printed
from resaudit.plan.claim import Claim, Statement

FITTED = "fitted"
Standing = Literal["supported", "contradicted", "depends", "inconclusive", "not run", "fitted"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
LIKELY = 0.1
"""A supported verdict that a rerun turns with a larger chance says so."""
THRESHOLD = ("at_least", "at_most", "within_factor")
NONE = "none"
Settings = dict[str, tuple[str, Any]]
"""By name, in words and as JSON has it."""


class SetForRun(Part):
    """A setting of a claim that this run has otherwise than the repository."""

    what: str
    """The setting: threshold, a parameter of the check, needs …"""
    here: str
    """Its value in this run, in words."""
    repository: str
    """Its value in the repository, in words."""
    check: str | None
    """The check that has it; null: the claim."""

    def __str__(self) -> str:
        return f"{self.what} set for this run: {self.here}; the repository's: {self.repository}"


class ClaimUnderVariant(VerdictUnderVariant):
    """A claim's verdict under the variant of an id."""

    id: Id
    """Of the variant."""


class CommittedVerdict(Part):
    """The verdict by a run of the repository at one scale, under the rule by which the claim is judged now."""

    verdict: Verdict
    """The verdict."""
    met: str
    """How many comparisons of each check meet the threshold, in words."""
    rule: Sha256
    """SHA-256 of what its verdict is computed from; if that changes, the claim must be judged again."""
    table: Sha256
    """SHA-256 of the judged table."""
    commit: str
    """That of the checkout that drew the table."""


class JudgedClaim(Statement, Judgement):
    """A claim of a paper with its verdict."""

    id: PairId
    """paper/claim."""
    why: str
    """The verdict in one sentence: effect, interval and n, or what is missing."""
    leans: str = ""
    """Which way an open claim leans, or what a run that is no evidence saw, in words; empty where it is decided or
    nothing was measured."""
    would_decide: str = ""
    """What would decide it, in words; empty where it is decided."""
    deciding_command: str | None = None
    """The command for that; null where there is none."""
    turns_on_rerun: TurnsOnRerun | None = None
    """How likely a rerun turns the verdict; null where no effect has a spread over runs, the sample is too small or a
    diverged run makes an effect infinite."""
    evidence: PairId
    """The figure whose table is the evidence, even if it has not been drawn."""
    data: str | None = None
    """Title of the data set of that figure; null: none."""
    variants: list[ClaimUnderVariant]
    """The verdict under each variant, which counts as a change if it is not that under control, and under control
    itself; empty where robustness has not run."""
    configured: Verdict | None = None
    """The verdict as configured in the run of the variants; null: not known, or the claim's own."""
    committed: dict[Id, CommittedVerdict] = {}
    """The verdicts that the repository has recorded, by scale; without those that were not judged by this rule."""
    set_for_run: list[SetForRun] = []
    """Settings of the claim and its checks that are not the repository's, and checks that only the repository has."""
    command: str | None
    """The command that recreates the evidence; null if it cannot be made yet."""

    @property
    def paper(self) -> str:
        """Id of its paper."""
        return self.id.split("/")[0]

    @property
    def name(self) -> str:
        """Its id within its paper."""
        return self.id.split("/")[1]

    @property
    def standing(self) -> Standing:
        """What it counts as: its verdict, but fitted where it meets our thresholds and that is no evidence."""
        return standing_of(self.verdict, self.fitted)

    def standing_at(self, scale: str) -> Standing:
        """What it counts as by the repository's run of a scale."""
        return standing_of(self.committed[scale].verdict, self.fitted) if scale in self.committed else "not run"

    @property
    def may_turn(self) -> str:
        """What must stand beside a supported verdict that a rerun turns in more than :data:`LIKELY`; else empty."""
        turns = self.turns_on_rerun
        return str(turns) if turns and self.verdict == "supported" and turns.chance > LIKELY else ""

    @property
    def settings_of_run(self) -> list[str]:
        """All of its settings that are not the repository's, a check's with its name where there are several."""
        several = len(self.checks) > 1
        return [
            f"{each.check.replace('-', ' ')}: {each}" if each.check and several else str(each)
            for each in self.set_for_run
        ]

    @property
    def share_met(self) -> float:
        """The share of its comparisons that meet the threshold; 2, and so last, without any."""
        count = sum(len(check.points) for check in self.checks)
        return round(sum(check.met for check in self.checks) / count, 4) if count else 2.0


def standing_of(verdict: Verdict, fitted: str | None) -> Standing:
    """What a claim counts as.

    >>> [standing_of(verdict, "to it") for verdict in ("supported", "inconclusive")]
    ['fitted', 'inconclusive']
    """
    return "fitted" if fitted and verdict == "supported" else verdict


def standings_of(claims: Iterable[JudgedClaim]) -> dict[Standing, int]:
    """How many claims count as what, in the order of :data:`STANDINGS`."""
    counts = Counter(claim.standing for claim in claims)
    return {standing: counts[standing] for standing in STANDINGS}


def refuse_unjudged(obstacles: Mapping[str, str]) -> None:
    """Raise ResauditError if a claim cannot be judged, by the obstacles of claims."""
    unjudged = [claim for claim, obstacle in obstacles.items() if obstacle.startswith(UNJUDGED)]
    if unjudged:
        raise VerdictError(
            f"{len(unjudged)} of {len(obstacles)} claims cannot be judged: {listed(unjudged)}; resaudit audit --claim "
            f"{unjudged[0]} says why"
        )


def refuse_unsupported(verdicts: Mapping[str, str]) -> None:
    """Raise ResauditError unless every claim is supported, by the verdicts or standings of claims."""
    others = [claim for claim, verdict in verdicts.items() if verdict != "supported"]
    if others:
        raise VerdictError(f"{len(others)} of {len(verdicts)} claims are not supported: {listed(others)}")


def counts_in_words(*counts: Mapping[Standing, int]) -> str:
    """The sum of some counts of claims in words; fitted ones are named where there are any.

    >>> counts_in_words({"supported": 1, "not run": 2}, {"supported": 3, "not run": 0, "fitted": 0})
    '4 supported, 2 not run'
    """
    named = [key for key in STANDINGS if any(key in count for count in counts)]
    total = {key: sum(count.get(key, 0) for count in counts) for key in named}
    return ", ".join(f"{number} {key}" for key, number in total.items() if number or key != FITTED)


def set_for_run(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The settings of a claim and its checks that are not the repository's, and the checks that one of them lacks.

    Args:
        claim: the claim as composed for this run.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    found = _different(_of_claim(claim), _of_claim(written))
    for name in {**claim.checks, **written.checks}:
        here, repository = (each.checks[name].name if name in each.checks else NONE for each in (claim, written))
        if name not in written.checks:
            found.append(SetForRun(what="check", here=here, repository=repository, check=name))
        elif name not in claim.checks:
            found.append(SetForRun(what=f"check {name}", here=here, repository=repository, check=None))
        else:
            found += _different(_of_check(claim, name), _of_check(written, name), name)
    return found


def _of_claim(claim: Claim) -> Settings:
    """Minimum sample, texts and other settings."""
    values = claim.model_dump(mode="json", exclude={"checks", "limits"})
    return _in_words({f"needs {key}": value for key, value in values.pop("needs").items()} | values)


def _of_check(claim: Claim, name: str) -> Settings:
    """Threshold, parameters and limit."""
    check, limit = claim.checks[name], claim.limits.get(name)
    values = check.model_dump(mode="json") | {"limit": limit.model_dump(mode="json") if limit else None}
    bounds = {key: bound for key in THRESHOLD if (bound := values.pop(key)) is not None}
    return {"threshold": (threshold_in_words(check), bounds)} | _in_words(values)


def _in_words(values: dict[str, Any]) -> Settings:
    return {key: (NONE if value in ([], {}, "") else value_in_words(value), value) for key, value in values.items()}


def _different(run: Settings, repository: Settings, check: str | None = None) -> list[SetForRun]:
    different = []
    for key in {**run, **repository}:
        (words, value), (others, other) = (settings.get(key, (NONE, None)) for settings in (run, repository))
        if value != other:
            if words == others:  # they differ in a digit that words do not have
                words, others = (json.dumps(setting, ensure_ascii=False) for setting in (value, other))
            different.append(SetForRun(what=key.replace("_", " "), here=words, repository=others, check=check))
    return different


_PART = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
File = Annotated[str, Field(pattern=f"^{_PART}(/{_PART})*$")]
"""Relative to the folder of audit.json, with forward slashes; never leads out of it."""
FileKind = Literal["csv", "svg", "pdf", "png", "json"]
JobKey = Annotated[str, Field(pattern="^[a-z_]+/[a-z0-9_-]+$")]


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
    """Seconds of all jobs that the figure is drawn from, together; of a merged figure in all of its runs; null where
    not known."""


class Assumed(Part):
    """A value that the paper does not state."""

    name: str
    """What is assumed."""
    value: str
    """The value taken."""
    reason: str
    """Why this value."""
    variants: list[NamedVariant]
    """Plausible other values."""


class ImportedResults(Part):
    """Results that somebody else computed, by one archive."""

    archive: Sha256
    """SHA-256 of the archive."""
    by: str | None
    """Who ran it, as the archive says; null if it does not say."""
    jobs: list[JobKey]
    """The jobs, as kind/id."""


class DrawnFigure(Part):
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
    files: Annotated[dict[FileKind, File], Field(min_length=5)]
    """Its table, what that is of, and its drawings."""
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
    assumptions: list[Assumed]
    """What the paper does not state."""
    provenance: FigureProvenance
    """What made it."""
    jobs: list[JobKey]
    """The jobs that it is drawn from, as kind/id."""
    imported: list[ImportedResults] = []
    """Those of them that were imported when it was drawn; empty if all were computed here."""
    codes: dict[Id, dict[Sha256, Count]] = {}
    """By kind of job and hash of the code, how many of the results it made; empty for figures drawn before these were
    recorded. Two hashes of one kind: the table holds results of mixed code."""
    command: str
    """The command that draws it again."""

    @property
    def mixed_code(self) -> str:
        """Which of its results were made by more than one code, as "30 and 2 results of train"; empty if none."""
        mixed = {kind: sorted(of.values(), reverse=True) for kind, of in self.codes.items() if len(of) > 1}
        return "; ".join(f"{' and '.join(map(str, numbers))} results of {kind}" for kind, numbers in mixed.items())


class Robustness(Part):
    """The same claims under other values of the assumptions."""

    reference: bool
    """Whether it is the committed matrix of another run, for want of one of this run."""
    files: Annotated[dict[FileKind, File], Field(min_length=4)] | None
    """The matrix of claims and variants, as a table and drawn; null for a reference."""
    drawings: Drawings = {}
    """SHA-256 of each drawing; empty for a matrix drawn before these were recorded."""
    stale: str | None
    """Why it no longer fits this audit; null where it fits."""
    commit: Commit | None
    """What made it, or its last claims; null where not known."""
    finished: Time
    """When it, or its last claims, were finished."""
    variants: list[VariantRun]
    """The variants that were run."""


class Share(Part):
    """Some of several."""

    count: Count
    """How many."""
    of: Count
    """Of how many; 0: none was tried."""

    def __str__(self) -> str:
        return f"{self.count} of {self.of}"

    @property
    def percent(self) -> str:
        """In per cent; a dash of none.

        >>> Share(count=2, of=3).percent, Share(count=0, of=0).percent
        ('67 %', '–')
        """
        return f"{100 * self.count / self.of:.0f} %" if self.of else "–"


class Shares(Part):
    """How far the claims hold, in three shares with the words of the SCORE project (Nature, 2026)."""

    reproducible: Share
    """Of all claims, those with the verdict supported, without fitted ones."""
    robust: Share
    """Of the verdicts on a claim under another reading of what its paper leaves open, those equal to the control's."""
    opposite: Count
    """Of these verdicts, those opposite to the claim's own."""
    unmoved: Share
    """Of the claims that were judged under other readings, those whose verdict none changes."""
    replicable: Share
    """Of the claims with fresh runs under another seed, those that keep the control's verdict."""

    @property
    def defined(self) -> list[tuple[str, str, str]]:
        """Each with its word, its per cent and the sentence that defines it."""
        return [
            (
                "reproducible",
                self.reproducible.percent,
                f"{self.reproducible} claims have the verdict supported when the papers are rerun as we read them.",
            ),
            (
                "robust",
                self.robust.percent,
                f"{self.robust} verdicts under another reading of what a paper leaves open equal the control's; "
                f"{self.opposite} are the opposite, and {self.unmoved} claims are moved by none.",
            ),
            (
                "replicable",
                self.replicable.percent,
                f"{self.replicable} claims with fresh runs keep their verdict under another seed.",
            ),
        ]

    @property
    def in_words(self) -> str:
        """In one line."""
        return (
            f"reproducible {self.reproducible.percent} ({self.reproducible} claims), "
            f"robust {self.robust.percent} ({self.robust} verdicts under other readings; {self.opposite} opposite), "
            f"replicable {self.replicable.percent} ({self.replicable} claims under another seed)"
        )


class Ledger(Part):
    """The claims that the audit used."""

    file: File
    """Path in the checkout."""
    sha256: Sha256
    """Of the claims as they were judged, with this run's settings and all defaults, without findings and responses, as
    canonical JSON (sorted keys)."""
    command: str
    """The command that prints it."""
    file_sha256: Sha256 | None = None
    """Of the file's bytes, as sha256sum prints it; null where there is no file."""


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


Outcome = Literal["equal", "within tolerance", "warned", "failed", "not confirmed"]
"""How a recomputed result compares; ``warned``: apart by rounding alone where equal bytes were expected, which is no
agreement."""


class SpotCheckMade(Part):
    """A recomputation of imported results drawn at random (docs/travel.md)."""

    archives: list[Sha256]
    """SHA-256 of the archives whose results were drawn."""
    seed: str
    """Of the draw."""
    jobs: dict[PairId, Outcome] = {}
    """By key, how each recomputed result compares."""
    checked: Count
    """Results that were recomputed and compared."""
    of: Count
    """Imported results that verdicts rest on."""
    equal: Count
    """Recomputed results that agree, in every byte or within tolerance."""
    failed: Count
    """Recomputed results that do not."""
    covered: list[PairId]
    """The claims whose verdicts rest on checked evidence alone."""
    doubted: list[PairId]
    """The claims whose verdicts rest on a result that was not reproduced, or are others with what was recomputed."""
    when: Time
    """When it was finished."""
    statement: list[str]
    """The statement in words, by sentence."""


class AuditedPaper(Part):
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
    commit: Commit | None = None
    """That of a paper outside the checkout, if its folder is in a repository of git; null for a paper of the checkout,
    whose commit is the audit's."""
    ledger: Ledger
    """The claims that the audit used."""
    counts: Annotated[dict[Standing, Count], Field(min_length=len(STANDINGS))]
    """How many claims have each verdict; supported ones whose agreement is no evidence count as fitted."""
    claims: list[JudgedClaim]
    """All claims of the paper."""
    in_text: list[Id] = []
    """Those whose sentences resaudit sources found in a copy of the paper here, by id within the paper."""
    figures: list[DrawnFigure]
    """The figures that were drawn."""
    not_drawn: list[NotDrawn] = []
    """The figures that were not."""
    printed: list[Printed] = []
    """Numbers that the paper prints, with ours."""
    robustness: Robustness | None
    """The claims under other values of the assumptions; null where that has not been run."""

    def beside(self, claim: JudgedClaim) -> str:
        """The paper's number that a claim is about, with ours; of several, the one that ours is farthest from."""
        for table in self.printed:
            values = [value for value in table.values if value.what.startswith(tuple(claim.printed))]
            if table.figure == claim.evidence and values:
                run = [value for value in values if value.here is not None]
                value = max(run, key=lambda each: abs((each.here or 0) - each.printed)) if run else values[0]
                here = "not run" if value.here is None else decimals(value.here, table.digits)
                which = f", the farthest of {len(run)}" if run[1:] else ""
                printed = decimals(value.printed, table.digits)
                return f"printed {printed}, here {here} ({table.quantity}; {value.what}{which})"
        return ""


class Audit(Part):
    """A verdict for every claim of the papers, with its evidence; made by the workflow.

    A number that is not finite is text: "Infinity", "-Infinity", or "NaN" where it is not known.
    """

    version: Literal[4]
    """Version of this format (CHANGELOG.md has what is otherwise in 3)."""
    generated: Time
    """When the audit was made."""
    scale: str
    """Scale of the run, as in config/scale."""
    scale_summary: str
    """What this scale means, in words."""
    evidence: bool = True
    """Whether results of this scale can be evidence; false: only that everything runs was tested."""
    provenance: Provenance
    """What made the audit."""
    overrides: list[str]
    """Settings beside the defaults, as Hydra overrides."""
    spot_checks: list[SpotCheckMade] = []
    """Recomputations of imported results."""
    shares: Shares
    """How far the claims hold."""
    papers: list[AuditedPaper]
    """The papers."""

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for parts in (self.papers, self.claims, self.figures):
            different([part.id for part in parts])
        return self

    @property
    def claims(self) -> list[JudgedClaim]:
        """The claims of all papers."""
        return [claim for paper in self.papers for claim in paper.claims]

    @property
    def figures(self) -> list[DrawnFigure]:
        """The drawn figures of all papers."""
        return [figure for paper in self.papers for figure in paper.figures]

    @property
    def of_other_scales(self) -> list[DrawnFigure]:
        """The drawn figures whose scale is not that of the run."""
        return [figure for figure in self.figures if figure.scale != self.scale]

    @property
    def scale_in_words(self) -> str:
        """The scale of the run, and the figures that have another."""
        others = [f"{figure.id}: scale {figure.scale}" for figure in self.of_other_scales]
        return "; ".join([f"{self.scale} ({self.scale_summary})", *others])

    def as_json(self) -> dict[str, Any]:
        """The content of audit.json."""
        content: dict[str, Any] = json.loads(self.model_dump_json(by_alias=True))
        return content
