# The configuration, composed and checked before any job starts, and the few functions that rules share.
import shlex
import sys
from functools import cache
from pathlib import Path

from resaudit.composition import dataset_files, load
from resaudit.config import CONTROL
from resaudit.devices import visible_devices
from resaudit.explanation import fingerprint, ledger_sha256
from resaudit.files import sweep
from resaudit.layout import Layout
from resaudit.papers.formats import FORMATS
from resaudit.plan.code import code_sha256
from resaudit.plan.files import kind_named, plan_file, write_job
from resaudit.plan.plan import execution_of, fetch_of
from resaudit.plan.plans import Plans, evidence_figures
from resaudit.workflow import (
    DRAW_COST,
    JUDGE_COST,
    check_installed_from,
    check_kernels,
    errors_in_one_line,
    hold_lock,
    overrides_from,
)

with errors_in_one_line():
    check_installed_from(Path(workflow.basedir))
    OVERRIDES = overrides_from(config)
    CONFIG = Path(workflow.basedir) / "config"
    PLANS = Plans(OVERRIDES, CONFIG)
    PLAN = PLANS.base
    FILES = Layout(PLAN.config.paths)
    FILES.check_writable()
    check_kernels(PLAN)
    DATASETS = {name: fetch_of(load([*OVERRIDES, f"dataset={name}"], CONFIG, [])) for name in dataset_files(CONFIG)}
    # The device is decided once, here, and stands in each job's file.
    EXECUTION = execution_of(PLAN.config)
    PAPERS = [paper for paper in PLAN.config.claims if evidence_figures(PLAN, paper)]

# A job that waits for its GPU would keep a processor from jobs that want none.
if PLAN.config.device.value == "auto" and EXECUTION.device == "cuda" and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", len(visible_devices()))

RESULTS = FILES.results
LOGS = RESULTS / "logs"
BENCHMARKS = RESULTS / "benchmarks"
RESAUDIT = f"{shlex.quote(sys.executable)} -m resaudit"
RUN = (
    f"{RESAUDIT} run {{rule}}/{{wildcards.id}} --results {shlex.quote(str(RESULTS))} --threads {{threads}} 2> {{log:q}}"
)
# Overrides reach the jobs that draw and judge as a global and not as params: what they change is in other params.
WITH_OVERRIDES = shlex.join(OVERRIDES)


wildcard_constraints:
    id="[a-z0-9_-]+",
    variant="[a-z0-9-]+",
    paper="|".join(sorted({name.split("/")[0] for name in PLAN.figures})),
    figure="|".join(sorted({name.split("/")[1] for name in PLAN.figures})),


onstart:
    with errors_in_one_line():
        hold_lock(RESULTS)
        sweep(RESULTS, FILES.figures)


@cache
def planned(kind, id):
    """A job, which now stands in the plan."""
    with errors_in_one_line():
        job = PLANS.job(f"{kind}/{id}")
        if workflow.is_main_process:
            write_job(job, EXECUTION, RESULTS)
        return job


for job in PLAN.jobs.values():
    planned(job.kind, job.id)
if workflow.is_main_process:
    for fetch in DATASETS.values():
        write_job(fetch, EXECUTION, RESULTS)


def inputs_of(kind):
    """What a kind's jobs read; the plan only says what they are, so that its date is of no account."""

    def of(wildcards):
        job = planned(kind, wildcards.id)
        return [ancient(plan_file(RESULTS, job.key)), *job.reads(RESULTS)]

    return of


def outputs_of(kind):
    return [RESULTS / kind / "{id}" / name for name in (*kind_named(kind).files, "settings.json", "provenance.json")]


def cost_of(kind, wildcards):
    return planned(kind, wildcards.id).cost(EXECUTION)


def threads_of(kind):
    return lambda wildcards: cost_of(kind, wildcards).threads


def mem_mb_of(kind):
    return lambda wildcards, attempt: cost_of(kind, wildcards).megabytes_asked(attempt)


def runtime_of(kind):
    return lambda wildcards, attempt: cost_of(kind, wildcards).minutes_asked(attempt)


def gpus_of(kind):
    return lambda wildcards: int(EXECUTION.device == "cuda" and cost_of(kind, wildcards).wants_gpu)


def code(*modules):
    """Changes with whatever these modules of resaudit compute with: as a param, it makes Snakemake run a job again."""
    return code_sha256(*(f"resaudit.{module}" for module in modules))


def figure_files(name):
    return [str(FILES.figure(name, suffix)) for suffix in ("csv", *FORMATS)]


def plan_of(wildcards):
    """The plan of a figure, as configured or under a variant, by the wildcards of its files."""
    return PLANS.under(getattr(wildcards, "variant", None))


def figure_of(wildcards):
    return plan_of(wildcards).figures[f"{wildcards.paper}/{wildcards.figure}"]


def results_of(wildcards):
    return figure_of(wildcards).reads(RESULTS)


def code_of_figure(wildcards):
    return code("papers.drawing", f"papers.{wildcards.paper}.{wildcards.figure}")


def ledger_of(paper):
    """The file of a paper's claims: whatever judges them reads it."""
    return CONFIG / "claims" / f"{paper}.yaml"


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
        Layout(PLANS.home(variant, name).config.paths).figure(name, suffix)
        for variant in (None, CONTROL, *PLANS.variants)
        for name in evidence_figures(PLAN, wildcards.paper)
        for suffix in ("csv", "json")
    ]
