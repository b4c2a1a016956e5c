"""How committed tables of one figure agree that different processors made: git's history of figures/reference.

``python -m benchmarks.processors [FIGURE …]``: each pair of tables with the same columns, as ``resaudit compare`` holds
the newer against the older one; rows that only one has are left out. Older code may differ too.
"""

import io
import json
import subprocess
import sys
from itertools import combinations
from pathlib import PurePath
from typing import Any

import pandas as pd

from resaudit.base.papers import root
from resaudit.claims.comparison import agreement_of, differences_of
from resaudit.figures.draw import reference_file
from resaudit.plan.composition import load


def main() -> None:
    """Print the rows that part, and what would be called a difference, of each pair."""
    for name, figure in load(["device=cpu"]).figure.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        file = reference_file(name).as_posix()
        for (new, table, here), (old, reference, there) in combinations(committed(file), 2):
            if here == there or set(table) != set(reference) or not set(figure.keys) <= set(table):
                continue
            differences = [each for each in differences_of(table, reference, figure) if "are missing" not in str(each)]
            said = "; ".join(map(str, [*differences, agreement_of(table, reference, figure)]))
            print(f"{name}, {new} ({here}) and {old} ({there}): {said}")


def committed(file: str) -> list[tuple[str, pd.DataFrame, str]]:
    """The tables that a file was, the newest first: commit, table, processor."""
    tables = []
    for commit in git("log", "--format=%h", "--diff-filter=AM", "--", file).split():
        about: dict[str, Any] = json.loads(git("show", f"{commit}:{PurePath(file).with_suffix('.json')}"))
        if platforms := about.get("machine classes"):
            table = pd.read_csv(io.StringIO(git("show", f"{commit}:{file}")))
            tables.append((commit, table, str(platforms[0]["processor"])))
    return tables


def git(*words: str) -> str:
    """What git prints."""
    return subprocess.run(["git", *words], cwd=root(), capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
