"""What is imported at once. Sees a dry run that loads torch; import-linter sees the rest (pyproject.toml)."""

import subprocess
import sys

import pytest


def run_code(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module", ["resaudit.config.composition", "resaudit.plan.plans", "resaudit.cli", "resaudit.workflow"]
)
def test_planning_loads_no_heavy_library(module: str) -> None:
    heavy = {"torch", "pandas", "matplotlib"}
    run_code(f"import sys, {module}; loaded = {heavy} & set(sys.modules); assert not loaded, loaded")
