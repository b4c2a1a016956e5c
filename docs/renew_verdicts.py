"""Write the verdicts, and the numbers in prose, anew: ``python docs/renew_verdicts.py [FIGURES …]``.

Those of scale laptop are the audit of the committed tables. Those of scale paper are recorded in RECORDED, since some
tables of that scale are too large to commit; the claims that folders of figures drawn at that scale decide, and then
the committed tables, are recorded anew. README has the counts, docs/verdicts.md all. The numbers in README,
docs/findings, docs/judging.md and the findings of ``claims.yaml`` are those of the values that stand beside them
(``docs/values.py``). ``tests/engine/test_readme.py`` fails where they are stale.
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from textwrap import wrap

from resaudit.audit.build import make_audit
from resaudit.audit.changes import opposed
from resaudit.audit.models import (
    FITTED,
    STANDINGS,
    Audit,
    AuditedPaper,
    JudgedClaim,
    counts_in_words,
    standing_of,
    standings_of,
)
from resaudit.claims.records import CheckResult
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.words import judgement_sha256

sys.path.insert(0, str(Path(__file__).parent))
from values import FIXED, Marked, Values, marked, marked_in_yaml, shown

CHECKOUT = Path(__file__).resolve().parents[1]
REFERENCE = CHECKOUT / "figures" / "reference"
IN_FULL = REFERENCE / "scale_paper"
RECORDED = REFERENCE / "verdicts_scale_paper.csv"
HEADER = ("| claim | threshold | effect | n | laptop | paper |", "|---|---|---|---|---|---|")
BAR, STAR = r"\|", r"\*"
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


@dataclass(frozen=True)
class InFull:
    """A recorded verdict of scale paper."""

    claim: str
    """paper/claim."""
    verdict: str
    met: str
    """How many comparisons of each check meet the threshold, in words."""
    rule: str
    """SHA-256 of what its verdict is computed from; if that changes, the claim must be judged again."""
    table: str
    """SHA-256 of the judged table."""
    commit: str
    """That of the checkout that drew the table."""


def sections() -> dict[str, str]:
    """The section of each file."""
    reduced, in_full = audit_of(REFERENCE), recorded()
    return {
        "README.md": "\n".join(counts(reduced, in_full)) + "\n",
        "docs/verdicts.md": "\n".join(claims(reduced, in_full)) + "\n",
    }


@cache
def audit_of(tables: Path, *overrides: str) -> Audit:
    """The audit of a folder of tables."""
    settings = ("device=cpu", f"paths.figures={tables}", *overrides)
    return make_audit(make_plan(load(settings)), settings)


def recorded() -> dict[str, InFull]:
    """The verdicts of scale paper, by claim."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        return {row["claim"]: InFull(**row) for row in csv.DictReader(file)}


def judged_in_full(tables: Path) -> dict[str, InFull]:
    """The verdicts on the claims that a folder of tables of scale paper decides."""
    audit, rules = audit_of(tables, "scale=paper"), current_rules()
    drawn = {figure.id: figure for figure in audit.figures}
    judged = {}
    for claim in audit.claims:
        if claim.verdict != "not run":
            figure = drawn[claim.evidence]
            commit = figure.provenance.commit.in_words if figure.provenance.commit else ""
            judged[claim.id] = InFull(claim.id, claim.verdict, _met(claim), rules[claim.id], figure.sha256, commit)
    return judged


def current_rules() -> dict[str, str]:
    """What each claim's verdict is computed from, as hashes."""
    config = load()
    return {
        f"{paper}/{name}": judgement_sha256(config, paper, name)
        for paper, of_paper in config.claims.items()
        for name in of_paper
    }


def record(verdicts: dict[str, InFull]) -> None:
    """Record verdicts of scale paper, in the order of the claims."""
    with RECORDED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(InFull)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(verdicts[claim]) for claim in current_rules() if claim in verdicts)


def counts(reduced: Audit, in_full: dict[str, InFull]) -> Iterator[str]:
    """Two rows for each paper, one for each scale."""
    columns = [each for each in STANDINGS if each != FITTED or standings_of(reduced.claims)[FITTED]]
    yield f"| paper | scale | {' | '.join(columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for paper in reduced.papers:
        anchor = re.sub(r"[^\w -]", "", paper.title.lower()).replace(" ", "-")
        cited = f"{paper.short}; [{paper.cited}]({paper.link})"
        reduced_and_full = (
            (f"[{paper.title}](docs/verdicts.md#{anchor}) ({cited})", reduced.scale, standings_of(paper.claims)),
            (f"the same{_without(paper, in_full)}", "paper", _standings_in_full(paper, in_full)),
        )
        for name, scale, standings in reduced_and_full:
            yield f"| {name} | {scale} | {' | '.join(str(standings[each]) for each in columns)} |"


def _standings_in_full(paper: AuditedPaper, in_full: dict[str, InFull]) -> dict[str, int]:
    """How many claims of a paper count as what at scale paper."""
    standings = Counter(_standing_in_full(claim, in_full) for claim in paper.claims)
    return {standing: standings[standing] for standing in STANDINGS}


def _standing_in_full(claim: JudgedClaim, in_full: dict[str, InFull]) -> str:
    return standing_of(in_full[claim.id].verdict, claim.fitted) if claim.id in in_full else "not run"


def _without(paper: AuditedPaper, in_full: dict[str, InFull]) -> str:
    """The figures whose claims were judged at the reduced scale alone, in words."""
    judged = (claim for claim in paper.claims if claim.verdict != "not run")
    missing = sorted({claim.evidence.split("/")[1] for claim in judged if claim.id not in in_full})
    return f", without {', '.join(missing)}" if missing else ""


def claims(reduced: Audit, in_full: dict[str, InFull]) -> Iterator[str]:
    """A table for each paper: the claims that were judged at either scale; then the others with the reason."""
    for paper in reduced.papers:
        yield from ("", f"## {paper.title}", "", f"{paper.short}; [{paper.cited}]({paper.link}).")
        yield from _lines(f"At scale {reduced.scale}: {counts_in_words(standings_of(paper.claims))}.")
        yield from _lines(
            f"At scale paper{_without(paper, in_full)}: {counts_in_words(_standings_in_full(paper, in_full))}."
        )
        yield from ("", *HEADER)
        reasons: dict[str, list[str]] = {}
        for claim in paper.claims:
            if claim.verdict == "not run" and claim.id not in in_full:
                reasons.setdefault(claim.why, []).append(f"`{claim.name}`")
            else:
                yield _row(claim, _standing_in_full(claim, in_full), opposed(claim, paper.robustness))
        yield ""
        for reason, names in reasons.items():
            yield from _lines(f"- **not run** {', '.join(names)}: {reason}", "  ")


def _row(claim: JudgedClaim, in_full: str, readings: str) -> str:
    """A claim with the least favourable effect of each check; its id links to the page of findings that explains it."""
    link = f"[`{claim.name}`](findings/{claim.paper}.md#{claim.name})" if claim.finding else f"`{claim.name}`"
    checks = [(f"{check.unit} {check.check.threshold}", _seen(check), _size(check)) for check in claim.checks]
    thresholds, seen, sizes = ("<br>".join(cell) for cell in zip(*checks, strict=True))
    laptop = f"**{claim.standing}**" + (f"; {readings}" if readings else "")
    cells = (f"{claim.statement} {link}", thresholds, seen, sizes, laptop, f"**{in_full}**")
    return f"| {' | '.join(cell.replace('|', BAR).replace('*', STAR).replace(STAR * 2, '**') for cell in cells)} |"


def _seen(check: CheckResult) -> str:
    """The effect nearest to failing with its interval, and how many of how many comparisons meet the threshold."""
    effect, interval = check.worst_in_words
    failing = sum(point.verdict == "contradicted" for point in check.points)
    of_several = f"; {check.met_in_words} hold" + (f", {failing} fail" if failing else "") if check.points[1:] else ""
    return f"{effect}{f' ({interval})' if not check.exact and check.worst else ''}{of_several}"


def _size(check: CheckResult) -> str:
    return "exact" if check.exact else str(check.worst.n) if check.worst else "–"


def _met(claim: JudgedClaim) -> str:
    return "; ".join(check.met_in_words for check in claim.checks)


def _lines(text: str, indent: str = "") -> list[str]:
    """Lines of at most 120 columns, where a link is not longer."""
    return wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def section_of(name: str) -> str:
    """The section that a file has now."""
    (found,) = _SECTION.findall((CHECKOUT / name).read_text(encoding="utf-8"))
    return str(found)


def prose() -> list[Path]:
    """The files whose numbers have values: see :mod:`values`."""
    named = [CHECKOUT / name for name in ("README.md", "paper.md", "docs/findings.md", "docs/judging.md")]
    named += sorted((CHECKOUT / "docs" / "findings").glob("*.md"))
    return named + sorted((CHECKOUT / "config" / "paper").glob("*/claims.yaml"))


def numerals_of(path: Path) -> list[Marked]:
    """The numerals of a file, each with its value; those of the verdicts' section are written as a whole."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        return list(marked_in_yaml(text))
    return list(marked(_SECTION.sub(lambda section: "\n" * len(section[0]), text)))


def renewed(path: Path, values: Values) -> str:
    """A file with its numbers as the committed tables give them."""
    text = path.read_text(encoding="utf-8")
    for each in reversed([each for each in numerals_of(path) if each.value not in (None, *FIXED)]):
        end = each.start + len(each.text)
        try:
            now = shown(values.of(str(each.value)), each.text, percent=text[end : end + 2] == " %")
        except (LookupError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: {each.text} has no value now: {each.value}") from error
        text = text[: each.start] + now + text[end:]
    return text


def values_now() -> Values:
    """The values, from the audits of both scales."""
    reduced, in_full = audit_of(REFERENCE), recorded()
    return Values(reduced, audit_of(IN_FULL, "scale=paper"), REFERENCE, _counts_in_full(reduced, in_full))


def _counts_in_full(reduced: Audit, in_full: dict[str, InFull]) -> dict[str, float]:
    """How many figures and claims were judged at scale paper, and with the verdict of the reduced scale."""
    judged = [claim for claim in reduced.claims if claim.id in in_full]
    on_cpu = [name for name, figure in load().figure.items() if not figure.protocol.needs_gpu]
    reduced_only = {c.evidence for c in reduced.claims if c.verdict != "not run" and c.id not in in_full}
    return {
        "figures-without-a-gpu": len(on_cpu),
        "figures-in-full": len(set(on_cpu) - reduced_only),
        "judged-in-full": len(judged),
        "same-in-full": sum(_standing_in_full(claim, in_full) == claim.standing for claim in judged),
    }


def main() -> None:
    """Renew verdicts and numbers, after recording what the given folders and the committed tables decide."""
    for folder in (*map(Path, sys.argv[1:]), IN_FULL):
        record(recorded() | judged_in_full(folder))
    for name, section in sections().items():
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        (CHECKOUT / name).write_text(text.replace(section_of(name), section), encoding="utf-8")
    values = values_now()
    for path in prose():
        path.write_text(renewed(path, values), encoding="utf-8")


if __name__ == "__main__":
    main()
