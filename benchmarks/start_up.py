"""Processor seconds until a plan stands: of commands that compute nothing, in this checkout and in others, by turns.

``python -m benchmarks.start_up OTHER_CHECKOUT...``
"""

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

COMMANDS = (("snakemake", "-n", "--quiet", "all"), ("resaudit", "list"), ("python", "-c", "import snakemake.cli"))
TURNS = 5


def user_seconds(command: tuple[str, ...], checkout: Path) -> float:
    """User CPU of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src")}
    subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main() -> None:
    """Print the median of each command in each checkout."""
    checkouts = [Path(), *map(Path, sys.argv[1:])]
    seconds: dict[tuple[tuple[str, ...], Path], list[float]] = {(c, p): [] for c in COMMANDS for p in checkouts}
    for _ in range(TURNS):
        for (command, checkout), found in seconds.items():
            found.append(user_seconds(command, checkout))
    for (command, checkout), found in seconds.items():
        print(f"{' '.join(command):30} {checkout!s:30} {statistics.median(found):.2f} s")


if __name__ == "__main__":
    main()
