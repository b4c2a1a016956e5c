"""Oracle: the reference tables. Sees a README whose verdicts are not those that the committed tables give."""

import re

from tests.conftest import CHECKOUT, Command


def test_the_readme_has_the_verdicts_on_the_reference_tables(resaudit: Command) -> None:
    """To write them anew: ``resaudit audit --markdown device=cpu paths.figures=figures/reference``."""
    run = resaudit("audit", "--markdown", "device=cpu", f"paths.figures={CHECKOUT / 'figures' / 'reference'}")
    assert run.returncode == 0, run.stderr
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"<!-- verdicts -->\n(.*)<!-- /verdicts -->", readme, re.DOTALL)
    assert section == run.stdout
