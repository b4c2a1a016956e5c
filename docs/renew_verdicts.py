"""Write the verdicts in README.md and docs/verdicts.md anew: ``python docs/renew_verdicts.py``.

They are what ``resaudit audit --markdown`` prints of the committed tables: README has the counts, docs/verdicts.md all.
``tests/unit/test_readme.py`` fails where they are stale.
"""

import re
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
AUDIT = ("-m", "resaudit", "audit", "--markdown", "device=cpu", "paths.figures=figures/reference")
_SECTION = re.compile(r"(?<=<!-- verdicts -->\n).*(?=<!-- /verdicts -->)", re.DOTALL)


def sections(printed: str) -> dict[str, str]:
    """The generated section of each file, from what the audit printed."""
    counts = printed.split("\n## ")[0].rstrip("\n") + "\n"
    return {"README.md": counts.replace("](#", "](docs/verdicts.md#"), "docs/verdicts.md": printed}


def section_of(name: str) -> str:
    """The section that a file has now."""
    (found,) = _SECTION.findall((CHECKOUT / name).read_text(encoding="utf-8"))
    return str(found)


def main() -> None:
    """Renew both files."""
    run = subprocess.run([sys.executable, *AUDIT], capture_output=True, text=True, cwd=CHECKOUT, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    for name, section in sections(run.stdout).items():
        text = (CHECKOUT / name).read_text(encoding="utf-8")
        (CHECKOUT / name).write_text(text.replace(section_of(name), section), encoding="utf-8")


if __name__ == "__main__":
    main()
