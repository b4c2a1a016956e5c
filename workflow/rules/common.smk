# The configuration, composed and checked before any job starts, and the few functions that rules share.
import shlex
import sys
from functools import cache
from pathlib import Path

from resaudit.config.composition import datasets, load
from resaudit.config.models import CONTROL
from resaudit.jobs.draw import draw_job
from resaudit.jobs.report import Report
from resaudit.jobs.vary import vary_job
from resaudit.papers.formats import FORMATS
from resaudit.plan.code import code_sha256
from resaudit.plan.files import kind_named, plan_file, write_job
from resaudit.plan.layout import Layout
from resaudit.plan.plan import execution_of, fetch_of
from resaudit.plan.plans import Plans, evidence_figures
from resaudit.runtime.devices import visible_devices
from resaudit.store.files import sweep
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
    CONFIG = Path(workflow.basedir) / "config"
    PLANS = Plans.composed(OVERRIDES, CONFIG)
    PLAN = PLANS.base
    FILES = Layout(PLAN.config.paths)
    FILES.check_writable()
    check_kernels(PLAN)
    DATASETS = {name: fetch_of(found, PLAN.config.paths.data) for name, found in datasets(CONFIG, OVERRIDES).items()}
    # The device is decided once, here, and stands in each job's file.
    OF_PAPER = load(["scale=paper"], CONFIG, [*PLAN.figures])
    EXECUTION = execution_of(PLAN.config)
    PAPERS = [paper for paper in PLAN.config.claims if evidence_figures(PLAN, paper)]

# A job that waits for its GPU would keep a processor from jobs that want none.
if PLAN.config.device == "auto" and EXECUTION.device == "cuda" and "gpu" not in workflow.global_resources:
    workflow.register_resource("gpu", len(visible_devices()))

RESULTS = FILES.results
LOGS = RESULTS / "logs"
BENCHMARKS = RESULTS / "benchmarks"
RESAUDIT = f"{shlex.quote(sys.executable)} -m resaudit"
RUN = "{RESAUDIT} run {params.job} --results {RESULTS:q} --threads {threads} 2> {log:q}"


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
    """A job by its id, which now stands in the plan."""
    with errors_in_one_line():
        return in_plan(PLANS.job(f"{kind}/{id}"))


def in_plan(job):
    if workflow.is_main_process:
        write_job(job, EXECUTION, RESULTS)
    return job


for job in [*PLAN.jobs.values(), *DATASETS.values()]:
    in_plan(job)


@cache
def drawing(paper, figure, variant=None):
    """The job that draws a figure."""
    name = f"{paper}/{figure}"
    config = PLANS.under(variant).config
    return in_plan(draw_job(config.figure[name], OF_PAPER.figure[name], config))


@cache
def varying(paper):
    """The job that judges a paper's claims under every variant."""
    with errors_in_one_line():
        return in_plan(vary_job(PLANS, paper, OF_PAPER))


REPORT = in_plan(Report(PLAN.config, tuple(OVERRIDES)))


def job_of(kind):
    """The job of a rule's wildcards."""
    of_kind = {
        "draw": lambda wildcards: drawing(wildcards.paper, wildcards.figure),
        "draw_variant": lambda wildcards: drawing(wildcards.paper, wildcards.figure, wildcards.variant),
        "vary": lambda wildcards: varying(wildcards.paper),
        "report": lambda wildcards: REPORT,
    }
    return of_kind.get(kind, lambda wildcards: planned(kind, wildcards.id))


def inputs_of(kind):
    """What a kind's jobs read; the plan only says what they are, so that its date is of no account."""

    def of(wildcards):
        job = job_of(kind)(wildcards)
        return [ancient(plan_file(RESULTS, job.key)), *job.reads(RESULTS)]

    return of


def outputs_of(kind):
    return [RESULTS / kind / "{id}" / name for name in (*kind_named(kind).files, "settings.json", "provenance.json")]


def cost_of(kind, wildcards):
    return job_of(kind)(wildcards).cost(EXECUTION)


def key_of(kind):
    """Changes with whatever a job's result depends on but its inputs' bytes and the code."""
    return lambda wildcards: job_of(kind)(wildcards).key


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


def code_of_figure(wildcards):
    experiment = type(PLAN.config.figure[f"{wildcards.paper}/{wildcards.figure}"].protocol).__module__
    return code("jobs.draw", f"papers.{wildcards.paper}.{wildcards.figure}", experiment.removeprefix("resaudit."))


def code_of_claims(module):
    claims = [claim for of_paper in PLAN.config.claims.values() for claim in of_paper.values()]
    checks = {type(check).__module__ for claim in claims for check in claim.checks.values()}
    return code(module, *(check.removeprefix("resaudit.") for check in checks))


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
    names = [name for name in PLAN.config.figure if name not in PLAN.figures]
    return as_they_are(FILES.figure(name, suffix) for name in names for suffix in ("csv", "json", "svg"))


def as_they_are(files):
    return [before_update(str(file)) for file in files if file.is_file()]


def tables_under_variants(wildcards):
    """The tables of a paper's figures under every variant, where they are not the same as without it."""
    return [
        Layout(PLANS.home(variant, name).config.paths).figure(name, suffix)
        for variant in (None, CONTROL, *PLANS.variants(wildcards.paper))
        for name in evidence_figures(PLAN, wildcards.paper)
        for suffix in ("csv", "json")
    ]
