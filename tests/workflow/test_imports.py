"""What is imported at once. Sees a dry run that loads torch; import-linter sees the rest (pyproject.toml)."""

import subprocess
import sys

import pytest

NUMPY_ONLY = (
    "resaudit.jobs.runner",
    "resaudit.data.whitening",
    "residual.identity_matters.linear.factoring",
    "residual.stable_scaling.network.gradients",
    "residual.stable_scaling.network.propagation",
    "residual.shortcut_importance.reduced.reduced",
)


def run_code(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module", ["resaudit.plan.composition", "resaudit.plan.plans", "resaudit.cli.commands", "resaudit.cli.workflow"]
)
def test_planning_loads_no_heavy_library(module: str) -> None:
    heavy = {"torch", "pandas", "matplotlib", "seaborn"}
    run_code(f"import sys, {module}; loaded = {heavy} & set(sys.modules); assert not loaded, loaded")


@pytest.mark.parametrize("module", NUMPY_ONLY)
def test_jobs_that_compute_with_numpy_load_no_torch(module: str) -> None:
    run_code(f"import sys, {module}; assert 'torch' not in sys.modules")
