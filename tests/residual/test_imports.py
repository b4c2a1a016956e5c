"""What is loaded at once. Sees a dry run that loads torch or pandas, or reads a file again and again.

Import-linter sees the rest (pyproject.toml).
"""

import subprocess
import sys
import tomllib

from resaudit.jobs import code
from tests.conftest import CHECKOUT

NUMPY_ONLY = (
    "resaudit.jobs.runner",
    "resaudit.data.whiten",
    "residual.identity_matters.linear.factorization",
    "residual.stable_scaling.network.gradients",
    "residual.stable_scaling.network.propagation",
    "residual.shortcut_importance.simulation",
)


def run_code(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


PLANS = """
import collections, sys

opened = collections.Counter()
sys.addaudithook(lambda event, args: opened.update([str(args[0])] if event == "open" else []))

import resaudit.cli.commands, resaudit.cli.explain, resaudit.cli.workflow
from resaudit.audit.job import AuditJob
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan

config = load(["device=cpu"]).with_every_figure()
assert make_plan(config).jobs and AuditJob(config, ()).modules
loaded = {"torch", "pandas", "matplotlib", "seaborn"} & set(sys.modules)
assert not loaded, loaded
files = {name: times for name, times in opened.items() if name.endswith(".yaml") and "/config/paper/" in name}
assert len(files) > 50 and set(files.values()) == {1}, files
"""


def test_planning_every_figure_loads_no_heavy_library_and_reads_each_file_once() -> None:
    run_code(PLANS)


def test_jobs_that_compute_with_numpy_load_no_torch() -> None:
    run_code(f"import sys, {', '.join(NUMPY_ONLY)}; assert 'torch' not in sys.modules")


def test_numerics_take_no_configuration_by_the_door() -> None:
    """Import-linter sees that they import the door, not what."""
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (sources,) = [each["source_modules"] for each in contracts if each["name"].startswith("Numerics")]
    graph = code._graph()
    modules = {module for source in sources for module in {source, *graph.find_descendants(source)}}
    taken = {name for module in modules for name in graph.find_modules_directly_imported_by(module)}
    assert "resaudit.jobs.arrays" in taken
    assert not {name for name in taken if name.startswith(("resaudit.plan", "resaudit.paper"))}
