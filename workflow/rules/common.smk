# The configuration, composed and checked before any job starts, and the few functions that rules share.
import shlex
import sys
from pathlib import Path

from resaudit.composition import dataset_files
from resaudit.config import CONTROL, Device
from resaudit.cost import (
    DRAW_COST,
    JUDGE_COST,
    WHITEN_COST,
    curvature_cost,
    curvature_threads,
    device_of,
    settled,
    train_cost,
    train_threads,
    verify_cost,
)
from resaudit.devices import visible_devices
from resaudit.explanation import fingerprint, ledger_sha256
from resaudit.files import Layout, sweep
from resaudit.papers.formats import FORMATS
from resaudit.programme import Programme, evidence_figures
from resaudit.workflow import (
    check_installed_from,
    check_kernels,
    errors_in_one_line,
    hold_lock,
    overrides_from,
)

with errors_in_one_line():
    check_installed_from(Path(workflow.basedir))
    OVERRIDES = overrides_from(config)
    PROGRAMME = Programme(OVERRIDES, Path(workflow.basedir) / "config")
    PLAN = PROGRAMME.base
    FILES = Layout(PLAN.config.paths)
    FILES.check_writable()
    check_kernels(PLAN)
    DATASETS = dataset_files(Path(workflow.basedir) / "config")
    # Decided once, and told to each job that may use a GPU.
    DEVICE = settled(PLAN.config.device)
    PAPERS = [paper for paper in PLAN.config.claims if evidence_figures(PLAN, paper)]

# One that waits for its GPU would keep a processor from jobs that want none.
if DEVICE is not PLAN.config.device and DEVICE is Device.cuda and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", len(visible_devices()))

LOGS = FILES.results / "logs"
BENCHMARKS = FILES.results / "benchmarks"
# Jobs get the overrides as a global and not as params: an ensemble's id says all that its result depends on,
# so another scale or device must not make Snakemake compute it again.
RESAUDIT = f"{shlex.quote(sys.executable)} -m resaudit"
WITH_OVERRIDES = shlex.join(OVERRIDES)


wildcard_constraints:
    id="[a-z0-9_-]+",
    data="[a-z0-9_-]+",
    variant="[a-z0-9-]+",
    paper="|".join(sorted({name.split("/")[0] for name in PLAN.figures})),
    figure="|".join(sorted({name.split("/")[1] for name in PLAN.figures})),


onstart:
    with errors_in_one_line():
        hold_lock(FILES.results)
        sweep(FILES.results, FILES.figures)


def code(*names):
    """The source files of modules or packages, as inputs: Snakemake does not see an imported module change."""
    source = Path(workflow.basedir) / "src" / "resaudit"
    for name in names:
        files = [file for file in sorted((source / name).rglob("*.*")) if file.suffix not in (".pyc", ".so", ".pyd")]
        yield from map(str, files or [source / f"{name}.py"])


def figure_files(name):
    return [str(FILES.figure(name, suffix)) for suffix in ("csv", *FORMATS)]


def hint(plan, job):
    """What lets a job find its id at once: a figure that needs it, since no other is composed, and the variant it is of.

    The params that call this take ``threads``, by which Snakemake sees that they are derived: a changed hint is no
    reason to compute anything again, and a changed param would be. (As a resource, a text, it would forbid groups.)
    """
    of_any = next(iter(plan.figures))  # as whitened data are
    figure = next((name for name, part in plan.figures.items() if job in part.ids), of_any)
    return f"--figure {figure}" + (f" variant={plan.config.variant}" if plan.config.variant else "")


def ensemble_of(wildcards):
    return PROGRAMME.ensemble(wildcards.id)[1]


def hessians_of(wildcards):
    return PROGRAMME.hessians(wildcards.id)[1]


def verification_of(wildcards):
    return PROGRAMME.verification(wildcards.id)[1]


def raw_files_of(wildcards):
    dataset = PROGRAMME.data(wildcards.data).data.dataset
    return [FILES.dataset(dataset) / file for file in DATASETS[dataset]]


def recorded(folder, *names):
    """Results with what says whose they are and what they hash to: who reads them reads that too."""
    return [folder / name for name in (*names, "settings.json", "provenance.json")]


def data_of(ensemble):
    """Linear networks need the data's moments alone, the others every sample."""
    return recorded(FILES.whitened(ensemble.data), "moments.npz" if ensemble.network.is_linear else "samples.npz")


def cost_of_training(wildcards):
    return train_cost(ensemble_of(wildcards), PLAN.config.kernel.value)


def gpus(job):
    """How many GPUs a job asks for."""
    return int(device_of(job, DEVICE) is Device.cuda)


def sweep_of(wildcards):
    """The trajectory one of whose learning rates this ensemble trains at, if it is not told its rates."""
    followed = ensemble_of(wildcards).rate_from
    return recorded(FILES.training(followed), "trajectory.npz") if followed else []


def trajectory_of(wildcards):
    ensemble = hessians_of(wildcards).ensemble
    return recorded(FILES.training(ensemble.id), "trajectory.npz") if ensemble.epochs else []


def plan_of(wildcards):
    """The plan of a figure, as configured or under a variant, by the wildcards of its files."""
    return PROGRAMME.under(getattr(wildcards, "variant", None))


def figure_of(wildcards):
    return plan_of(wildcards).figures[f"{wildcards.paper}/{wildcards.figure}"]


def results_of(wildcards):
    part = figure_of(wildcards)
    results = [(FILES.training(e.id), "trajectory.npz") for e in part.ensembles if e.epochs]
    results += [(FILES.curvature(h.id), "spectra.npz") for h in part.hessians.values()]
    results += [(FILES.theory(v.id), "measurements.npz") for v in [part.verification] if v]
    results += [(FILES.whitened(plan_of(wildcards).data.id), "moments.npz")] if part.hessians else []
    return [path for folder, name in results for path in recorded(folder, name)]


def ledger_of(paper):
    """The file of a paper's claims: whatever judges them reads it."""
    return Path(workflow.basedir) / "config" / "claims" / f"{paper}.yaml"


def matrices(_wildcards):
    """What the page shows of the matrices: those of this run if it makes any, else those of earlier runs as they are.

    ``before_update`` is Snakemake's word for an input that is taken as it is, whichever rule makes it: without
    ``robustness`` no variant is computed for the page's sake.
    """
    shown = ("csv", "json", "svg")
    if any("robustness" in str(target) for target in workflow.dag_settings.targets):
        return [FILES.figure(f"{paper}/robustness", suffix) for paper in PAPERS for suffix in shown]
    return as_they_are(FILES.figure(f"{paper}/robustness", suffix) for paper in PLAN.config.claims for suffix in shown)


def other_tables():
    """Those of figures that are not asked for: the page shows what was drawn of them earlier."""
    names = [name for name, _ in PLAN.config.every_figure() if name not in PLAN.figures]
    return as_they_are(FILES.figure(name, suffix) for name in names for suffix in ("csv", "json", "svg"))


def as_they_are(files):
    return [before_update(str(file)) for file in files if file.is_file()]


def fingerprint_of(wildcards):
    return fingerprint(plan_of(wildcards), f"{wildcards.paper}/{wildcards.figure}")


def tables_under_variants(wildcards):
    """The tables of a paper's figures under every variant, where they are not the same as without it."""
    return [
        Layout(PROGRAMME.home(variant, name).config.paths).figure(name, suffix)
        for variant in (None, CONTROL, *PROGRAMME.variants)
        for name in evidence_figures(PLAN, wildcards.paper)
        for suffix in ("csv", "json")
    ]
