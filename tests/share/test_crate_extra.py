"""Where the extra crate is not installed. Sees a traceback in place of the line that says what to install."""

import sys
from pathlib import Path

from tests.conftest import run_command
from tests.refusals import assert_exits

WITHOUT = "import sys; sys.modules['rocrate'] = None; from resaudit.cli.commands import main; sys.exit(main())"
"""Python finds no module whose entry is None, as if it were not installed."""


def test_without_its_extra_the_crate_says_what_to_install(tmp_path: Path) -> None:
    run = run_command(sys.executable, "-c", WITHOUT, "crate", "out.zip", cwd=tmp_path)
    assert_exits(run, ".[crate]")
    assert run.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
