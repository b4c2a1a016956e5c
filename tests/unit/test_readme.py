"""Oracle: the reference tables. Sees verdicts in README or docs that are not those that the committed tables give."""

import runpy
from pathlib import Path

from tests.conftest import CHECKOUT, in_process

RENEW = runpy.run_path(str(CHECKOUT / "docs" / "renew_verdicts.py"))


def test_the_verdicts_are_those_of_the_reference_tables(tmp_path: Path) -> None:
    """To write them anew: ``python docs/renew_verdicts.py``."""
    run = in_process(
        "audit", "--markdown", "device=cpu", f"paths.figures={CHECKOUT / 'figures' / 'reference'}", cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    for name, section in RENEW["sections"](run.stdout).items():
        assert RENEW["section_of"](name) == section
