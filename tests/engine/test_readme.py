"""Oracle: the reference tables. Sees verdicts and numbers in prose that are not what the committed tables give.

To write all of them anew: ``python docs/renew_verdicts.py``.
"""

import doctest
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from resaudit.audit.models import counts_in_words, standings_of
from tests.conftest import CHECKOUT

RENEW = runpy.run_path(str(CHECKOUT / "docs" / "renew_verdicts.py"))
VALUES = sys.modules["values"]


def test_the_verdicts_are_those_of_the_reference_tables() -> None:
    for name, section in RENEW["sections"]().items():
        assert RENEW["section_of"](name) == section


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_the_recorded_verdicts_are_those_of_the_committed_tables(scale: str) -> None:
    """To record those of tables too large to commit: ``python docs/renew_verdicts.py FIGURES``."""
    recorded, judged = RENEW["recorded"](scale), RENEW["judged_by"](RENEW["TABLES"][scale], scale)
    assert len(judged) > 9
    assert recorded | judged == recorded


@pytest.mark.parametrize("scale", ["laptop", "paper"])
def test_no_recorded_claim_is_judged_by_other_checks_now(scale: str) -> None:
    """If one is: draw its figure at that scale and record it again."""
    recorded, rules = RENEW["recorded"](scale), RENEW["current_rules"]()
    assert {claim: row.rule for claim, row in recorded.items()} == {claim: rules[claim] for claim in recorded}


@pytest.fixture(scope="module")
def values() -> Any:
    return RENEW["values_now"]()


def test_readme_has_the_last_lines_of_its_first_command(values: Any) -> None:
    counts, shares = counts_in_words(standings_of(values.reduced.claims)), values.reduced.shares.in_words
    said = f"\nclaims: {counts}, at scale laptop; open figures/audit.html\n{shares}\n"
    assert said in (CHECKOUT / "README.md").read_text("utf-8")


def test_every_number_in_prose_is_what_the_committed_tables_give(values: Any) -> None:
    for path in RENEW["prose"]():
        assert RENEW["renewed"](path, values).splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_every_numeral_in_prose_has_a_value_or_says_that_it_needs_none() -> None:
    every = [(path.name, each) for path in RENEW["prose"]() for each in RENEW["numerals_of"](path)]
    assert [(name, each.text) for name, each in every if each.value is None] == []


def test_every_finding_begins_with_the_verdict_that_the_committed_tables_give(values: Any) -> None:
    for claim in values.reduced.claims:
        if claim.finding:
            page = (CHECKOUT / "docs" / "findings" / f"{claim.paper}.md").read_text(encoding="utf-8")
            assert f"\n## {claim.name}\n\n**{claim.standing.capitalize()}.**" in page, claim.id


def test_every_claim_that_names_printed_numbers_finds_them(values: Any) -> None:
    named = [(paper, claim) for paper in values.reduced.papers for claim in paper.claims if claim.printed]
    assert len(named) > 9
    assert [claim.id for paper, claim in named if not paper.beside(claim)] == []


def test_a_number_that_moved_and_one_without_a_value_are_seen(values: Any, tmp_path: Path) -> None:
    text = "It is 9.9 times (0.3 to 77.7) at depth 64, and 5 % more.\n<!-- numbers: {} -->\n"
    name = "condition-smaller-at-every-loss"
    path = tmp_path / "made.md"
    path.write_text(text.format(f"{name}.effect; .low; .high; said"), encoding="utf-8")
    (check,) = (c.checks[0] for c in values.reduced.claims if c.name == name)
    numbers = (check.worst.effect, check.worst.low, check.worst.high)
    assert RENEW["renewed"](path, values).startswith("It is {:.1f} times ({:.1f} to {:.1f}) at".format(*numbers))
    assert [each.value for each in VALUES.marked("It is 9.9 times.\n")] == [None]
    for wrong in ("said", "said*5", "said*3; measured", "said*4 by a command"):
        with pytest.raises(ValueError, match="values for"):
            list(VALUES.marked(text.format(wrong)))
    assert not doctest.testmod(VALUES).failed
