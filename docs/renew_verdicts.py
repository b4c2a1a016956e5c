"""Write the verdicts in README.md and docs/verdicts.md anew: ``python docs/renew_verdicts.py``.

They are the audit of the committed tables: README has the counts, docs/verdicts.md all. ``tests/engine/test_readme.py``
fails where they are stale.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from resaudit.audit.build import make_audit
from resaudit.audit.claim_models import FITTED, STANDINGS, JudgedClaim, counts_in_words, standings_of
from resaudit.audit.models import Audit
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan

CHECKOUT = Path(__file__).resolve().parents[1]
SETTINGS = ("device=cpu", f"paths.figures={CHECKOUT / 'figures' / 'reference'}")
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


def sections() -> dict[str, str]:
    """The section of each file, from the audit of the committed tables."""
    audit = make_audit(make_plan(load(SETTINGS)), SETTINGS)
    return {"README.md": "\n".join(counts(audit)) + "\n", "docs/verdicts.md": "\n".join(claims(audit)) + "\n"}


def counts(audit: Audit) -> Iterator[str]:
    """A row for each paper."""
    columns = [each for each in STANDINGS if each != FITTED or standings_of(audit.claims)[FITTED]]
    yield f"| paper, at scale {audit.scale} | {' | '.join(columns)} |"
    yield "|---|" + "---|" * len(columns)
    for paper in audit.papers:
        standings = standings_of(paper.claims)
        anchor = re.sub(r"[^\w -]", "", paper.title.lower()).replace(" ", "-")
        title = f"[{paper.title}](docs/verdicts.md#{anchor}) ({paper.short}; [{paper.cited}]({paper.link}))"
        yield f"| {title} | {' | '.join(str(standings[each]) for each in columns)} |"


def claims(audit: Audit) -> Iterator[str]:
    """A section for each paper: the claims that were judged, then the others with the reason."""
    for paper in audit.papers:
        yield from ("", f"## {paper.title}", "", f"{paper.short}; [{paper.cited}]({paper.link}).")
        yield from (f"{counts_in_words(standings_of(paper.claims))}.", "")
        reasons: dict[str, list[str]] = {}
        for claim in paper.claims:
            if claim.verdict == "not run":
                reasons.setdefault(claim.why, []).append(f"`{claim.name}`")
            else:
                yield from _item(_judged(claim))
        for reason, names in reasons.items():
            yield from _item(f"**not run** {', '.join(names)}: {reason}")


def _judged(claim: JudgedClaim) -> str:
    """One claim; its id links to findings.md where that explains it."""
    link = f"[`{claim.name}`](findings.md#{claim.name})" if claim.finding else f"`{claim.name}`"
    met = "; ".join(check.met_in_words for check in claim.checks)
    return f"**{claim.standing}** ({met}) {claim.statement.replace('*', chr(92) + '*')} {link}"


def _item(text: str) -> list[str]:
    """An item of a list in lines of at most 120 columns, where a link is not longer."""
    # A line that begins with a sign would be an item of its own.
    text = re.sub(r" (?=[-+*] )", "\N{NO-BREAK SPACE}", text)
    lines = wrap(f"- {text}", 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


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
