"""Write the verdicts in README.md and docs/verdicts.md anew: ``python docs/renew_verdicts.py``.

They are the audit of the committed tables: README has the counts, docs/verdicts.md all. ``tests/unit/test_readme.py``
fails where they are stale.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from resaudit.audit.build import make_audit
from resaudit.audit.claim_models import FITTED, STANDINGS, JudgedClaim, standings_of
from resaudit.audit.models import Audit
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan

CHECKOUT = Path(__file__).resolve().parents[1]
SETTINGS = ("device=cpu", f"paths.figures={CHECKOUT / 'figures' / 'reference'}")
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


def sections() -> dict[str, str]:
    """The section of each file, from the audit of the committed tables."""
    made = "\n".join(markdown(make_audit(make_plan(load(SETTINGS)), SETTINGS))) + "\n"
    counts = made.split("\n## ")[0].rstrip("\n") + "\n"
    return {"README.md": counts.replace("](#", "](docs/verdicts.md#"), "docs/verdicts.md": made}


def markdown(audit: Audit) -> Iterator[str]:
    """The counts of every paper, then a section for each paper with its claims."""
    columns = [each for each in STANDINGS if each != FITTED or standings_of(audit.claims)[FITTED]]
    yield f"| paper, at scale {audit.scale} | {' | '.join(columns)} |"
    yield "|---|" + "---|" * len(columns)
    for paper in audit.papers:
        counts = standings_of(paper.claims)
        authors = f"({paper.short}; [{paper.cited}]({paper.link}))"
        anchor = re.sub(r"[^\w -]", "", paper.title.lower()).replace(" ", "-")
        yield f"| [{paper.title}](#{anchor}) {authors} | {' | '.join(str(counts[each]) for each in columns)} |"
    for paper in audit.papers:
        yield from ("", f"## {paper.title}", "")
        yield "| claim | verdict | comparisons that meet our threshold |"
        yield "|---|---|---|"
        yield from map(_row, paper.claims)


def _row(claim: JudgedClaim) -> str:
    """One claim; its id links to findings.md where that explains it."""
    link = f"[`{claim.name}`](findings.md#{claim.name})" if claim.finding else f"`{claim.name}`"
    grounds = "; ".join(f"{check.name.replace('-', ' ')}: {check.met_in_words}" for check in claim.checks)
    if claim.verdict == "not run":
        grounds = claim.why
    cells = (f"{claim.statement} {link}", f"**{claim.standing}**", grounds)
    return " | ".join(["", *(cell.replace("|", "\\|") for cell in cells), ""]).strip()


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
