# The configuration, composed and checked before any job starts, and the few functions that rules share.
import shlex
import sys
from pathlib import Path

from resaudit.composition import load
from resaudit.cost import curvature_cost, curvature_threads, train_cost, verify_cost
from resaudit.explanation import fingerprint
from resaudit.files import Layout
from resaudit.papers.formats import FORMATS
from resaudit.plan import make_plan
from resaudit.workflow import check_installed_from, errors_in_one_line, hold_lock, overrides_from

with errors_in_one_line():
    check_installed_from(Path(workflow.basedir))
    OVERRIDES = overrides_from(config)
    PLAN = make_plan(load(OVERRIDES, Path(workflow.basedir) / "config"))
    FILES = Layout(PLAN.config.paths)
    FILES.check_writable()

LOGS = FILES.results / "logs"
BENCHMARKS = FILES.results / "benchmarks"
# Jobs get the overrides as a global and not as params: an ensemble's id says all that its result depends on,
# so another scale or device must not make Snakemake compute it again.
RESAUDIT = f"{shlex.quote(sys.executable)} -m resaudit"
WITH_OVERRIDES = shlex.join(OVERRIDES)


wildcard_constraints:
    id="[a-z0-9_-]+",
    paper="|".join(sorted({name.split("/")[0] for name in PLAN.figures})),
    figure="|".join(sorted({name.split("/")[1] for name in PLAN.figures})),


onstart:
    with errors_in_one_line():
        hold_lock(FILES.results)


def code(*names):
    """The source files of modules or packages, as inputs: Snakemake does not see an imported module change."""
    source = Path(workflow.basedir) / "src" / "resaudit"
    for name in names:
        yield from map(str, sorted((source / name).rglob("*.py")) or [source / f"{name}.py"])


def figure_files(name):
    return [str(FILES.figure(name, suffix)) for suffix in ("csv", *FORMATS)]


def whitened(name):
    return FILES.whitened(PLAN.data.id) / name


def sweep_of(wildcards):
    """The trajectory whose best learning rate this ensemble trains at, if it is not told its rates."""
    followed = PLAN.ensemble(wildcards.id).best_rate_of
    return [FILES.training(followed) / "trajectory.npz"] if followed else []


def trajectory_of(wildcards):
    ensemble = PLAN.ensemble(wildcards.id)
    return [FILES.training(wildcards.id) / "trajectory.npz"] if ensemble.epochs else []


def plan_of(wildcards):
    return PLAN.figures[f"{wildcards.paper}/{wildcards.figure}"]


def results_of(wildcards):
    part = plan_of(wildcards)
    trained = [e for e in (*part.sweeps.values(), *part.with_spectra.values()) if e.epochs]
    verified = [part.verification] if part.verification else []
    return (
        [FILES.training(e.id) / "trajectory.npz" for e in trained]
        + [FILES.curvature(e.id) / "spectra.npz" for e in part.with_spectra.values()]
        + [FILES.theory(v.id) / "measurements.npz" for v in verified]
    )
