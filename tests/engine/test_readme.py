"""Oracle: the reference tables. Sees verdicts in README or docs that are not those that the committed tables give."""

import runpy

from tests.conftest import CHECKOUT

RENEW = runpy.run_path(str(CHECKOUT / "docs" / "renew_verdicts.py"))


def test_the_verdicts_are_those_of_the_reference_tables() -> None:
    """To write them anew: ``python docs/renew_verdicts.py``."""
    for name, section in RENEW["sections"]().items():
        assert RENEW["section_of"](name) == section


def test_the_recorded_verdicts_of_scale_paper_are_those_of_the_tables_small_enough_to_commit() -> None:
    """To record them: ``python docs/renew_verdicts.py FIGURES``."""
    recorded, judged = RENEW["recorded"](), RENEW["judged_in_full"](RENEW["IN_FULL"])
    assert len(judged) > 9
    assert recorded | judged == recorded


def test_no_recorded_claim_is_judged_by_other_checks_now() -> None:
    """If one is: draw its figure at scale paper and record it again."""
    recorded, rules = RENEW["recorded"](), RENEW["current_rules"]()
    assert {claim: row.rule for claim, row in recorded.items()} == {claim: rules[claim] for claim in recorded}
