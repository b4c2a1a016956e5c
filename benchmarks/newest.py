"""Does the newest of everything that pyproject.toml allows still work? For a maintainer, once a week.

python benchmarks/newest.py [--only smoke]

Clones what is checked out and installs it without constraints.txt, for the Python that runs this, into a folder of
$TMPDIR that needs 8 GB and is removed at the end. Prints what is newer than pinned and what a bound holds back, runs
the smoke figures and the tests, and last says which of them failed: the exit status is their number.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
STEPS = {
    "smoke": ["snakemake", "--cores", "all", "--config", "scale=smoke"],
    "tests": ["pytest", "-m", "not slow"],
}


def name_of(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def pinned() -> dict[str, set[str]]:
    """The versions that constraints.txt has of each package, for any Python and system."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (CHECKOUT / "constraints.txt").read_text(), re.MULTILINE):
        versions.setdefault(name_of(name), set()).add(version)
    return versions


def listed(python: Path, *options: str) -> list[dict[str, str]]:
    """What pip says of each package of an environment."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "list", "--format=json", "--exclude=pip", *options]
    return list(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


def main(folder: Path, steps: list[str]) -> int:
    """Install, report, run; returns how many steps failed."""
    clone, programs = folder / "resaudit", folder / "venv" / "bin"
    python = programs / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run(["git", "clone", "--quiet", CHECKOUT, clone], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--editable", f"{clone}[test]"]
    if subprocess.run(install, check=False).returncode:
        print(f"failed on Python {sys.version.split()[0]}: install")
        return 1
    known = pinned()
    for package in listed(python):
        there = known.get(name_of(package["name"]))
        if there and package["version"] not in there:
            print(f"{package['name']} {package['version']}, pinned: {' or '.join(sorted(there))}")
    for package in listed(python, "--outdated"):
        print(f"{package['name']} {package['version']}, held back by somebody's bound: {package['latest_version']}")
    sys.stdout.flush()
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    failed = [name for name in steps if subprocess.run(STEPS[name], cwd=clone, env=environment, check=False).returncode]
    print(f"failed on Python {sys.version.split()[0]}: {', '.join(failed) or 'nothing'} of {', '.join(steps)}")
    return len(failed)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", choices=STEPS, help="run this step alone")
    asked = arguments.parse_args().only
    with tempfile.TemporaryDirectory(prefix="resaudit-newest-") as temporary:
        sys.exit(main(Path(temporary), [asked] if asked else list(STEPS)))
