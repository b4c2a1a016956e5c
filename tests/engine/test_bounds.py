"""Oracle: a resolver and the package index. Sees lower bounds in pyproject.toml that no set of versions reaches."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
UV = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
NO_NETWORK = ("Failed to fetch", "error sending request", "dns error")


def lowest(pyproject: Path, *extras: str) -> dict[str, str]:
    """The lowest versions that the project's own requirements allow together, by package, on its oldest Python."""
    if UV is None:
        pytest.skip("there is no resolver here: uv, of the extra dev")
    command = [UV, "pip", "compile", "--quiet", "--no-annotate", "--no-header", "--resolution", "lowest-direct"]
    command += ["--python-version", PROJECT["requires-python"].removeprefix(">=")]
    command += [f"--extra={extra}" for extra in extras]
    run = subprocess.run([*command, str(pyproject)], capture_output=True, text=True, timeout=300, check=False)
    if any(said in run.stderr for said in NO_NETWORK):
        pytest.skip(f"the package index cannot be asked here: {' '.join(run.stderr.split())}")
    assert run.returncode == 0, run.stderr
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", run.stdout, re.MULTILINE))


def unreached(requirements: list[str], found: dict[str, str]) -> list[str]:
    """Requirements whose bound lies below the lowest version that goes with the others."""
    missed = []
    for named in map(Requirement, requirements):
        bound = next((part.version for part in named.specifier if part.operator == ">="), None)
        version = found.get(canonicalize_name(named.name), "")
        if bound and not f"{version}.".startswith(f"{bound}."):
            missed.append(f"{named}, but {version}")
    return missed


@pytest.mark.parametrize("extra", [None, *(pytest.param(extra, marks=pytest.mark.slow) for extra in EXTRAS)])
def test_the_lower_bounds_resolve_together(extra: str | None) -> None:
    found = lowest(CHECKOUT / "pyproject.toml", *([extra] if extra else []))
    assert unreached(EXTRAS[extra] if extra else PROJECT["dependencies"], found) == []


def test_a_bound_that_the_others_do_not_allow_is_found(tmp_path: Path) -> None:
    """NumPy 1.26 is too old for pandas 3.1."""
    requirements = ["numpy>=1.26", "pandas>=3.1"]
    made = tmp_path / "pyproject.toml"
    made.write_text(f'[project]\nname = "made"\nversion = "1"\ndependencies = {requirements}\n', encoding="utf-8")
    (missed,) = unreached(requirements, lowest(made))
    assert missed.startswith("numpy>=1.26, but 2.")
