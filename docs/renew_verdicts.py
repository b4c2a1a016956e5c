"""Write the verdicts in README.md and docs/verdicts.md anew: ``python docs/renew_verdicts.py``.

They are the audits of the committed tables at scale laptop and at scale paper: README has the counts, docs/verdicts.md
all. ``tests/engine/test_readme.py`` fails where they are stale.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from resaudit.audit.build import make_audit
from resaudit.audit.claim_models import FITTED, STANDINGS, JudgedClaim, counts_in_words, standings_of
from resaudit.audit.models import Audit, AuditedPaper
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan

CHECKOUT = Path(__file__).resolve().parents[1]
REFERENCE = CHECKOUT / "figures" / "reference"
IN_FULL = "paper"
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


def sections() -> dict[str, str]:
    """The section of each file, from the audits of the committed tables."""
    reduced, in_full = audit_of(REFERENCE), audit_of(REFERENCE / f"scale_{IN_FULL}", f"scale={IN_FULL}")
    return {
        "README.md": "\n".join(counts(reduced, in_full)) + "\n",
        "docs/verdicts.md": "\n".join(claims(reduced, in_full)) + "\n",
    }


def audit_of(tables: Path, *overrides: str) -> Audit:
    """The audit of a folder of committed tables."""
    settings = ("device=cpu", f"paths.figures={tables}", *overrides)
    return make_audit(make_plan(load(settings)), settings)


def counts(reduced: Audit, in_full: Audit) -> Iterator[str]:
    """Two rows for each paper, one for each scale."""
    columns = [each for each in STANDINGS if each != FITTED or standings_of(reduced.claims)[FITTED]]
    yield f"| paper | scale | {' | '.join(columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for papers in zip(reduced.papers, in_full.papers, strict=True):
        title = papers[0].title
        anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
        cited = f"{papers[0].short}; [{papers[0].cited}]({papers[0].link})"
        names = f"[{title}](docs/verdicts.md#{anchor}) ({cited})", f"the same{_without(*papers)}"
        for name, audit, paper in zip(names, (reduced, in_full), papers, strict=True):
            standings = standings_of(paper.claims)
            yield f"| {name} | {audit.scale} | {' | '.join(str(standings[each]) for each in columns)} |"


def _without(reduced: AuditedPaper, in_full: AuditedPaper) -> str:
    """The figures that were drawn at the reduced scale alone, in words."""
    drawn = {figure.id for figure in in_full.figures}
    missing = [figure.id.split("/")[1] for figure in reduced.figures if figure.id not in drawn]
    return f", without {', '.join(missing)}" if missing else ""


def claims(reduced: Audit, in_full: Audit) -> Iterator[str]:
    """A section for each paper: the claims that were judged at either scale, then the others with the reason."""
    for paper, full in zip(reduced.papers, in_full.papers, strict=True):
        yield from ("", f"## {paper.title}", "", f"{paper.short}; [{paper.cited}]({paper.link}).")
        for audit, of_scale, without in ((reduced, paper, ""), (in_full, full, _without(paper, full))):
            yield from _lines(f"At scale {audit.scale}{without}: {counts_in_words(standings_of(of_scale.claims))}.")
        yield ""
        reasons: dict[str, list[str]] = {}
        for claim, claim_in_full in zip(paper.claims, full.claims, strict=True):
            if claim.verdict == claim_in_full.verdict == "not run":
                reasons.setdefault(claim.why, []).append(f"`{claim.name}`")
            else:
                yield from _item(_judged(claim, claim_in_full, in_full.scale))
        for reason, names in reasons.items():
            yield from _item(f"**not run** {', '.join(names)}: {reason}")


def _judged(claim: JudgedClaim, in_full: JudgedClaim, full_scale: str) -> str:
    """One claim; its id links to findings.md where that explains it."""
    link = f"[`{claim.name}`](findings.md#{claim.name})" if claim.finding else f"`{claim.name}`"
    verdicts = f"{_verdict(claim)}; at scale {full_scale} {_verdict(in_full)}"
    return f"{verdicts}: {claim.statement.replace('*', chr(92) + '*')} {link}"


def _verdict(claim: JudgedClaim) -> str:
    if claim.verdict == "not run":
        return f"**{claim.standing}**"
    return f"**{claim.standing}** ({'; '.join(check.met_in_words for check in claim.checks)})"


def _item(text: str) -> list[str]:
    """An item of a list."""
    # A line that begins with a sign would be an item of its own.
    lines = _lines("- " + re.sub(r" (?=[-+*] )", "\N{NO-BREAK SPACE}", text), "  ")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _lines(text: str, indent: str = "") -> list[str]:
    """Lines of at most 120 columns, where a link is not longer."""
    return wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def section_of(name: str) -> str:
    """The section that a file has now."""
    (found,) = _SECTION.findall((CHECKOUT / name).read_text(encoding="utf-8"))
    return str(found)


def main() -> None:
    """Renew both files."""
    for name, section in sections().items():
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        (CHECKOUT / name).write_text(text.replace(section_of(name), section), encoding="utf-8")


if __name__ == "__main__":
    main()
