"""Write the verdicts, and the numbers in prose, anew: ``python docs/renew_verdicts.py [FIGURES …]``.

Verdicts are recorded by scale, as audits show them beside their own (``resaudit.audit.build.committed_verdicts``).
Those of scale laptop are of the committed tables; of scale paper, some tables are too large to commit: what folders of
figures drawn at that scale decide, and then the committed tables, is recorded anew. README has the counts and shares,
docs/verdicts.md all claims, from the audit of the committed tables. The numbers in README,
docs/findings, docs/judging.md and the findings of ``claims.yaml`` are those of the values that stand beside them
(``docs/values.py``). ``tests/engine/test_readme.py`` fails where they are stale.
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import wrap

from resaudit.audit.build import committed_verdicts, make_audit
from resaudit.audit.changes import moved
from resaudit.audit.models import (
    FITTED,
    STANDINGS,
    Audit,
    AuditedPaper,
    CommittedVerdict,
    JudgedClaim,
    counts_in_words,
    standings_of,
)
from resaudit.audit.page import figure_label
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from resaudit.plan.words import judgement_sha256

sys.path.insert(0, str(Path(__file__).parent))
from values import FIXED, Marked, Values, marked, marked_in_yaml, shown

CHECKOUT = Path(__file__).resolve().parents[1]
REFERENCE = CHECKOUT / "figures" / "reference"
IN_FULL = REFERENCE / "scale_paper"
TABLES = {"laptop": REFERENCE, "paper": IN_FULL}
"""The folder of committed tables of each scale."""
HEADER = ("| claim | threshold | effect | n | laptop | paper | other readings |", "|---|---|---|---|---|---|---|")
BAR, STAR = r"\|", r"\*"
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


def sections() -> dict[str, str]:
    """The section of each file."""
    audit = audit_of(REFERENCE)
    return {
        "README.md": "\n".join(counts(audit)) + "\n",
        "docs/verdicts.md": "\n".join(claims(audit)) + "\n",
    }


@cache
def audit_of(tables: Path, *overrides: str) -> Audit:
    """The audit of a folder of tables."""
    settings = ("device=cpu", f"paths.figures={tables}", *overrides)
    return make_audit(make_plan(load(settings)), settings)


def recorded(scale: str) -> dict[str, CommittedVerdict]:
    """The recorded verdicts of a scale, by claim."""
    return {claim: of[scale] for claim, of in committed_verdicts(REFERENCE).items() if scale in of}


def judged_by(tables: Path, scale: str) -> dict[str, CommittedVerdict]:
    """The verdicts on the claims that a folder of tables of a scale decides."""
    audit, rules = audit_of(tables, f"scale={scale}"), current_rules()
    drawn = {figure.id: figure for figure in audit.figures}
    judged = {}
    for claim in audit.claims:
        if claim.verdict != "not run":
            figure = drawn[claim.evidence]
            judged[claim.id] = CommittedVerdict(
                verdict=claim.verdict,
                met="; ".join(check.met_in_words for check in claim.checks),
                rule=rules[claim.id],
                table=figure.sha256,
                commit=figure.provenance.commit.in_words if figure.provenance.commit else "",
            )
    return judged


def current_rules() -> dict[str, str]:
    """What each claim's verdict is computed from, as hashes."""
    config = load()
    return {
        f"{paper}/{name}": judgement_sha256(config, paper, name)
        for paper, of_paper in config.claims.items()
        for name in of_paper
    }


def record(scale: str, verdicts: dict[str, CommittedVerdict]) -> None:
    """Record verdicts of a scale, in the order of the claims."""
    with (REFERENCE / f"verdicts_scale_{scale}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["claim", *CommittedVerdict.model_fields], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"claim": claim} | dict(verdicts[claim]) for claim in current_rules() if claim in verdicts)


def counts(audit: Audit) -> Iterator[str]:
    """Two rows for each paper, one for each scale; then the shares."""
    columns = [each for each in STANDINGS if each != FITTED or standings_of(audit.claims)[FITTED]]
    yield f"| paper | scale | {' | '.join(columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for paper in audit.papers:
        anchor = re.sub(r"[^\w -]", "", paper.title.lower()).replace(" ", "-")
        cited = f"{paper.short}; [{paper.cited}]({paper.link})"
        reduced_and_full = (
            (f"[{paper.title}](docs/verdicts.md#{anchor}) ({cited})", audit.scale, standings_of(paper.claims)),
            (f"the same{_without(paper)}", "paper", _standings_in_full(paper)),
        )
        for name, scale, standings in reduced_and_full:
            yield f"| {name} | {scale} | {' | '.join(str(standings[each]) for each in columns)} |"
    yield ""
    for word, percent, sentence in audit.shares.defined:
        yield from _lines(f"- **{percent} {word}**: {sentence}", "  ")


def _standings_in_full(paper: AuditedPaper) -> dict[str, int]:
    """How many claims of a paper count as what at scale paper."""
    standings = Counter(claim.standing_at("paper") for claim in paper.claims)
    return {standing: standings[standing] for standing in STANDINGS}


def _without(paper: AuditedPaper) -> str:
    """The figures whose claims were judged at the reduced scale alone, in words."""
    judged = (claim for claim in paper.claims if claim.verdict != "not run")
    missing = sorted({claim.evidence.split("/")[1] for claim in judged if "paper" not in claim.committed})
    return f", without {', '.join(missing)}" if missing else ""


def claims(audit: Audit) -> Iterator[str]:
    """A table for each paper: the claims that were judged at either scale; then the others with the reason."""
    for paper in audit.papers:
        yield from ("", f"## {paper.title}", "", f"{paper.short}; [{paper.cited}]({paper.link}).")
        yield from _lines(f"At scale {audit.scale}: {counts_in_words(standings_of(paper.claims))}.")
        yield from _lines(f"At scale paper{_without(paper)}: {counts_in_words(_standings_in_full(paper))}.")
        yield from ("", *HEADER)
        reasons: dict[str, list[str]] = {}
        for claim in paper.claims:
            if claim.verdict == "not run" and "paper" not in claim.committed:
                reasons.setdefault(claim.why, []).append(f"`{claim.name}`")
            else:
                yield _row(claim, paper)
        yield ""
        for reason, names in reasons.items():
            yield from _lines(f"- **not run** {', '.join(names)}: {reason}", "  ")


def _row(claim: JudgedClaim, paper: AuditedPaper) -> str:
    """A claim with the least favourable effect of each check; its id links to the page of findings that explains it."""
    link = f"[`{claim.name}`](findings/{claim.paper}.md#{claim.name})" if claim.finding else f"`{claim.name}`"
    checks = [(check.asked, "; ".join(filter(None, (check.seen, check.often))), check.size) for check in claim.checks]
    thresholds, seen, sizes = ("<br>".join(cell) for cell in zip(*checks, strict=True))
    printed = f"<br>{beside}" if (beside := paper.beside(claim)) else ""
    verdicts = (
        "; ".join(filter(None, (f"**{claim.standing}**", claim.may_turn))),
        f"**{claim.standing_at('paper')}**",
        moved(claim, paper.robustness),
    )
    title = next((figure.title for figure in paper.figures if figure.id == claim.evidence), "")
    said = f"{claim.statement} {link}, {figure_label(claim.evidence, title)}"
    cells = (said, thresholds, seen + printed, sizes, *verdicts)
    return f"| {' | '.join(cell.replace('|', BAR).replace('*', STAR).replace(STAR * 2, '**') for cell in cells)} |"


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
    reduced = audit_of(REFERENCE)
    return Values(reduced, audit_of(IN_FULL, "scale=paper"), REFERENCE, _counts_in_full(reduced))


def _counts_in_full(reduced: Audit) -> dict[str, float]:
    """How many figures and claims were judged at scale paper, and with the verdict of the reduced scale."""
    judged = [claim for claim in reduced.claims if "paper" in claim.committed]
    on_cpu = [name for name, figure in load().figure.items() if not figure.protocol.needs_gpu]
    reduced_only = {c.evidence for c in reduced.claims if c.verdict != "not run" and "paper" not in c.committed}
    return {
        "figures-without-a-gpu": len(on_cpu),
        "figures-in-full": len(set(on_cpu) - reduced_only),
        "judged-in-full": len(judged),
        "same-in-full": sum(claim.standing_at("paper") == claim.standing for claim in judged),
    }


def main() -> None:
    """Renew verdicts and numbers, after recording what the given folders and the committed tables decide."""
    for folder in map(Path, sys.argv[1:]):
        record("paper", recorded("paper") | judged_by(folder, "paper"))
    for scale, folder in TABLES.items():
        record(scale, recorded(scale) | judged_by(folder, scale))
    audit_of.cache_clear()  # audits have what is recorded
    for name, section in sections().items():
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        (CHECKOUT / name).write_text(text.replace(section_of(name), section), encoding="utf-8")
    values = values_now()
    for path in prose():
        path.write_text(renewed(path, values), encoding="utf-8")


if __name__ == "__main__":
    main()
