"""What may be imported where. Sees numerics that need a workflow engine, and a dry run that loads torch."""

import subprocess
import sys

import pytest


def run_code(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "module",
    [
        "resaudit.networks.initialization",
        "resaudit.networks.linear",
        "resaudit.training.ensemble",
        "resaudit.training.linear",
        "resaudit.curvature.linear",
        "resaudit.curvature.spectrum",
        "resaudit.theory.checks",
        "resaudit.datasets.whitening",
        "resaudit.datasets.moments",
    ],
)
def test_numerics_need_no_workflow_configuration_or_tables(module: str) -> None:
    absent = ["snakemake", "hydra", "omegaconf", "pandas", "matplotlib"]
    run_code(f"import sys; sys.modules.update(dict.fromkeys({absent})); import {module}")


@pytest.mark.parametrize("module", ["resaudit.composition", "resaudit.plan", "resaudit.cli", "resaudit.workflow"])
def test_planning_loads_no_heavy_library(module: str) -> None:
    heavy = {"torch", "pandas", "matplotlib", "seaborn"}
    run_code(f"import sys, {module}; loaded = {heavy} & set(sys.modules); assert not loaded, loaded")


def test_reading_claims_loads_neither_torch_nor_plots() -> None:
    """Checks measure tables, so claims need pandas; Snakemake loads it too."""
    heavy = {"torch", "matplotlib", "seaborn"}
    code = f"import sys; from resaudit.composition import load; load(); loaded = {heavy} & set(sys.modules)"
    run_code(f"{code}; assert not loaded, loaded")


def test_drawing_loads_no_torch() -> None:
    run_code("import sys, resaudit.papers.drawing; assert 'torch' not in sys.modules")


def test_the_audit_page_loads_neither_torch_nor_pandas() -> None:
    heavy = {"torch", "pandas", "numpy", "matplotlib", "snakemake", "hydra"}
    run_code(f"import sys, resaudit.report.page; loaded = {heavy} & set(sys.modules); assert not loaded, loaded")
