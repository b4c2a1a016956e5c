"""Oracle: docs/judge.md, run as it stands. Sees an option that has moved, and a verdict that the page does not give."""

from pathlib import Path

from tests.conftest import CHECKOUT
from tests.workflow.test_tutorial import run_or_write


def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    ran = [example.evaluate() for example in run_or_write(tmp_path, CHECKOUT / "docs" / "judge.md").examples()]
    assert len(ran) == 4
    page = (tmp_path / "verdicts.html").read_text(encoding="utf-8")
    assert "at most a fifth longer" in page
    assert 'src="' not in page
