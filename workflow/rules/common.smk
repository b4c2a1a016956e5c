# The configuration, composed and validated before any job starts, and functions shared by the rules.
import gc
import getpass
import os
import shlex
import sys
from functools import cache
from pathlib import Path

# Imports and planning make half a million objects and hardly any garbage: a search for it at every 700th, Python's
# default, takes a twentieth of the start.
gc.set_threshold(50_000)
# A file random.py in the working directory is nobody's module: not in this process, nor in any that it starts.
sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path.cwd()]
os.environ["PYTHONSAFEPATH"] = "1"
# Snakemake asks for the user's name, which a user id of a container may not have.
try:
    getpass.getuser()
except (KeyError, OSError):
    os.environ["USER"] = str(os.getuid())

try:
    import resaudit
except ModuleNotFoundError:
    sys.exit("error: no resaudit here; in the clone: python -m pip install -c constraints.txt -e '.[torch]'")

from resaudit.base.files import remove_partial
from resaudit.base.papers import as_words, check_installed_from
from resaudit.cli.commands import CHECKPOINTS
from resaudit.cli.insides import Insides
from resaudit.cli.workflow import (
    JobsOfRules,
    check_for_storage,
    check_made_by_this_code,
    check_records_writable,
    end_in_words,
    errors_in_one_line,
    figure_targets,
    has_unjudged,
    image_from,
    make_readable,
    overrides_from,
    root_of,
    set_dates_in_the_future,
    started_for,
    verdicts_in_words,
    warn,
)
from resaudit.plan.estimates import BENCHMARKS, left_out_in_words
from resaudit.plan.models import SUFFIXES
from resaudit.jobs.code import check_imports
from resaudit.jobs.origin import CHECKS, RECOMPUTED
from resaudit.jobs.plan_files import code_of, computing_kinds, kind_named, other_code_at, plan_file
from resaudit.plan.plans import evidence_figures
from resaudit.runtime.devices import visible_devices
from resaudit.runtime.limits import processors
from resaudit.runtime.locks import hold_lock
from resaudit.share.records import check_imported, leaf_inputs

INSIDE = Insides(workflow)

with errors_in_one_line():
    IMAGE = image_from(config, INSIDE.in_containers)
    ROOT = root_of(Path(str(workflow.current_basedir)), Path(str(workflow.basedir)))
    if INSIDE.is_users:  # without a shared disk, jobs have the user's checkout and their image's package
        check_installed_from(ROOT)
    check_records_writable()
    JOBS = JobsOfRules(
        overrides_from(config, sys.argv),
        ROOT / "config",
        INSIDE.is_users,
        started_for(sys.argv),
    )
    warn(JOBS.plan, JOBS.execution)
    if INSIDE.in_storage:
        check_for_storage(JOBS.plan.config)
    # Of the results that a storage holds there are copies here.
    HERE = INSIDE.copies / JOBS.files.results
    check_imported(JOBS.plan, HERE)
    if INSIDE.is_users:
        check_imports()
    TARGETS = figure_targets(JOBS.plan.config, sys.argv)
    JOBS.write_plan()
    DATASETS = JOBS.fetching()

if INSIDE.is_users:
    for line in (*left_out_in_words(JOBS.plan.config, JOBS.overrides), *JOBS.long_in_words()):
        logger.info(line)

PLANS, PLAN, FILES = JOBS.plans, JOBS.plan, JOBS.files
PAPERS = [paper for paper in PLAN.config.claims if evidence_figures(PLAN, paper)]
RESULTS = FILES.results
LOGS = RESULTS / "logs"
# Job processes get papers_path on their command line.
# An image has a Python of its own.
RESAUDIT = shlex.join(["python" if INSIDE.in_containers else sys.executable, "-m", "resaudit", *as_words()])
# Snakemake runs a job again whose command has another text, which what changes no result must not change.
OPTIONS = " --copies {INSIDE.copies:q}" if INSIDE.in_storage else ""
RUN = "{RESAUDIT} run {params.job} --results {RESULTS:q}" + OPTIONS
RUN += " --threads {threads} --code {params.code} 2> {log:q}"
if PLAN.config.paths.checkpoints:
    os.environ[CHECKPOINTS] = PLAN.config.paths.checkpoints

# Snakemake's own prefix, which this one would replace: without it only the last command of a rule could fail.
# Where standard error was closed, Snakemake's log file takes its number, and shells would have none to write to.
shell.prefix("set -euo pipefail; true >&2 || exec 2> /dev/null; ")

# A job waiting for its GPU would block a processor that CPU jobs could use.
ON_GPU = JOBS.execution.device == "cuda"
if ON_GPU and PLAN.config.device == "auto":
    INSIDE.bound_gpus(len(visible_devices()))


wildcard_constraints:
    id="[a-z0-9_-]+",
    paper="|".join(sorted({name.split("/")[0] for name in PLAN.figures})),
    figure="|".join(sorted({name.split("/")[1] for name in PLAN.figures})),


onstart:
    with errors_in_one_line():
        JOBS.check_torch(INSIDE)
        FILES.check_writable("results", "figures")
        hold_lock(RESULTS)
        remove_partial(RESULTS, FILES.figures, spared=(RECOMPUTED, Path(CHECKS).parts[0]))
        set_dates_in_the_future(Path(file) for waiting in INSIDE.waiting() for file in waiting.input)
    make_readable(logger, JOBS, INSIDE, workflow.cores)
    INSIDE.unbound_rate()


def job(rule, wildcards):
    with errors_in_one_line():
        return JOBS.of(rule, **dict(wildcards.items()))


def inputs_of(rule):
    """The input files of a rule's jobs. Plan files and raw data, known by SHA-256, are `ancient`: dates do not count.

    An imported result is a leaf: nothing of what it was computed from is needed, or makes it stale. A storage holds no
    plan: the process that Snakemake starts for a job on another machine makes it.
    """

    def of(wildcards):
        asked = job(rule, wildcards)
        planned = [] if INSIDE.in_storage else [ancient(plan_file(RESULTS, asked.key))]
        with errors_in_one_line():
            imported = leaf_inputs(asked, HERE)
        if imported is not None:
            # Of a result that was here before, or of a killed job, Snakemake knows something else.
            INSIDE.forget(asked.written(RESULTS))
            return [*planned, *map(ancient, imported)]
        run_again_if_of_other_code(asked)
        reads = asked.reads(RESULTS)
        return [*planned, *(ancient(f) if is_raw_data(f) else f for f in reads)]

    return of


def is_raw_data(file):
    """Whether a file is in the folder of data; that one may hold the folder of results, or be in it."""
    return FILES.data in file.parents and (RESULTS not in file.parents or RESULTS in FILES.data.parents)


def run_again_if_of_other_code(asked):
    """Run a job again whose result was made by other code outside Snakemake, as by `resaudit run` by hand.

    Snakemake itself compares the code, a param, of results that it has made or been told of (`--touch`) since.
    """
    if not INSIDE.compares_params:
        return
    if INSIDE.in_storage and INSIDE.made_at(asked.record(RESULTS)) is None:
        INSIDE.here(asked.record(RESULTS))
    made = other_code_at(asked, HERE)
    if made is not None and (INSIDE.made_at(asked.record(RESULTS)) or 0) < made:
        logger.info(f"other code: {asked.key} was made by other code, outside this folder's runs: it is made again")
        INSIDE.make_again(asked.written(RESULTS))


def outputs_of(kind):
    return [RESULTS / kind / "{id}" / name for name in (*kind_named(kind).files, "settings.json", "provenance.json")]


def key_of(rule):
    """The job's key, a param: it changes with the job's settings and inputs, so Snakemake reruns the job."""
    return lambda wildcards: job(rule, wildcards).key


def threads_of(rule):
    return lambda wildcards: JOBS.cost(job(rule, wildcards)).threads


def mem_mb_of(rule):
    return lambda wildcards, attempt: JOBS.cost(job(rule, wildcards)).megabytes_asked(attempt)


def runtime_of(rule):
    return lambda wildcards, attempt: JOBS.minutes_asked(job(rule, wildcards), attempt)


@cache
def priorities():
    return JOBS.priorities(INSIDE.on_cluster or INSIDE.cores or processors())


def priority_of(rule):
    """Of a job that only a variant needs it is 0."""
    return lambda wildcards: priorities().get(job(rule, wildcards).key, 0)


def gpus_of(rule):
    return lambda wildcards: int(ON_GPU and JOBS.cost(job(rule, wildcards)).wants_gpu)


def code_for(rule):
    """A hash of the code that the job's result depends on, a param: an edit of it makes Snakemake rerun the job."""
    return lambda wildcards: code_of(job(rule, wildcards))


def figure_files(name):
    return [str(FILES.figure(name, suffix)) for suffix in SUFFIXES]


def other_tables(_wildcards):
    """Tables of figures that are not chosen; the page shows those drawn earlier."""
    names = [name for name in PLAN.config.figure if name not in PLAN.figures]
    return as_they_are(FILES.figure(name, suffix) for name in names for suffix in ("csv", "json", "svg"))


def as_they_are(files):
    """Those of some files that are there; in a storage none but the run's own can be."""
    return [before_update(str(file)) for file in files if INSIDE.exists(file)]
