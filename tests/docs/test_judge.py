"""Oracle: docs/judge.md, run as it stands. Sees an option that has moved, and a verdict that the page does not give."""

import sys
from pathlib import Path

from tests.conftest import CHECKOUT
from tests.workflow.test_tutorial import run_or_write


def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    page, programs = CHECKOUT / "docs" / "judge.md", Path(sys.executable).parent
    ran = [example.evaluate() for example in run_or_write(tmp_path, page, programs).examples()]
    assert len(ran) == 4
    written = (tmp_path / "verdicts.html").read_text(encoding="utf-8")
    assert "at most a fifth longer" in written
    assert 'src="' not in written
