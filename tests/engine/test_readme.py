"""Oracle: the reference tables. Sees verdicts in README or docs that are not those that the committed tables give."""

import runpy

from tests.conftest import CHECKOUT

RENEW = runpy.run_path(str(CHECKOUT / "docs" / "renew_verdicts.py"))


def test_the_verdicts_are_those_of_the_reference_tables() -> None:
    """To write them anew: ``python docs/renew_verdicts.py``."""
    for name, section in RENEW["sections"]().items():
        assert RENEW["section_of"](name) == section
