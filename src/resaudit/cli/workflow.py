"""Helpers of the Snakefile: ``--config`` as Hydra overrides, checks before the first job, one run per folder."""

import ast
import logging
import os
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import pairwise, takewhile
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.common import LogEvent

from resaudit.audit.job import AuditJob
from resaudit.audit.models import Shares, counts_in_words, refuse_unjudged, standing_of
from resaudit.base.commands import resaudit_command
from resaudit.base.errors import (
    ConfigError,
    MachineError,
    PaperError,
    ResauditError,
    ResultsError,
    figures_named,
    least_name,
    listed,
)
from resaudit.base.files import read_json
from resaudit.base.papers import (
    KEY,
    as_words,
    file_of_paper,
    is_checkout,
    module_of,
    papers,
    root,
    take_papers_path,
)
from resaudit.base.text import counted, in_minutes
from resaudit.claims.job import robustness_job
from resaudit.claims.records import UNJUDGED
from resaudit.data.fetch import Fetch
from resaudit.figures.draw import draw_job
from resaudit.jobs.code import check_torch
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.plan_files import code_of, computing_kinds, plan_file, read_job, write_job
from resaudit.plan.composition import check_under_variants, datasets, load
from resaudit.plan.estimates import Estimates, cheapest_first, duration
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import Files, in_hydra
from resaudit.plan.plan import Plan, execution_of, fetch_of, with_inputs
from resaudit.plan.plans import Plans, evidence_figures
from resaudit.runtime.limits import processors
from resaudit.runtime.locks import LOCK, is_held

if TYPE_CHECKING:
    from resaudit.cli.insides import Insides

OTHER_RULES = ("all", "draw", "show", "audit", "robustness_matrix", "robustness")
"""Rules that are no kind of computing job; of a figure see :func:`figure_targets`."""
REPEATED = ("Select jobs to execute", "Execute ", "Complete log", "Elapsed time")
"""How those of Snakemake's lines begin that are left out of a quiet terminal."""
IMAGE = "container"
"""Key of ``--config``: the image that jobs run in with ``--sdm apptainer``."""
DAY = 86_400
"""Seconds."""
SECONDS_BETWEEN_READINGS = 60
"""Of what jobs have taken."""


def root_of(rules: Path, entry: Path) -> Path:
    """The folder of the configuration, if the Snakefile in the folder ``entry`` is that of the folder of rules.

    That is where they lie; of rules that Snakemake has brought to a job without a shared disk, :func:`root`.

    As a module, the workflow would be another: Snakemake calls no ``onstart`` of a module, which locks the results and
    removes what killed jobs left, and renames its rules, by whose names the processes on a cluster find their jobs.
    """
    folder = rules.parents[1]
    if entry.resolve() not in (folder.resolve(), rules.parent.resolve()):
        raise ConfigError(
            f"the Snakefile in {entry} uses this workflow, which runs only by itself: snakemake --snakefile "
            f"{folder / 'Snakefile'}; a paper of yours is added with --config papers_path=FOLDER"
        )
    return folder if is_checkout(folder) else root()


def check_records_writable() -> None:
    """Check that Snakemake can make its folder of records, where its own error is a traceback."""
    here = Path.cwd()
    if not (here / ".snakemake").exists() and not os.access(here, os.W_OK):
        raise MachineError(
            f"cannot write into {here}, where Snakemake keeps its records; choose another working directory: "
            "--directory FOLDER"
        )


def overrides_from(config: Mapping[str, Any], command: Sequence[str] = ()) -> list[str]:
    """Hydra overrides from Snakemake's ``--config``.

    ``overrides`` is a list, or text separated by commas or spaces; every other key is an override itself, except
    ``papers_path``, whose papers are added to this process, and ``container`` (:func:`image_from`).

    Args:
        config: Snakemake's configuration.
        command: the command line, of which Snakemake keeps only the last ``--config``.

    >>> overrides_from({"scale": "paper", "figures": ["fig07"], "overrides": "[seed=2,device=cpu]"})
    ['scale=paper', 'figures=[fig07]', 'seed=2', 'device=cpu']
    >>> overrides_from({"dataset": {"folder": "/my data, all", "sources": ["folder"]}})
    ['dataset={folder:"/my data, all",sources:[folder]}']
    """
    if sum(argument.split("=")[0] in ("--config", "-C") for argument in command) > 1:
        raise ConfigError("--config is given twice; give it once, with all keys: --config scale=paper seed=2")
    empty = [key for key, value in config.items() if value is None]
    if empty:
        raise ConfigError(f"--config {empty[0]}= is empty; give it a value or leave it out")
    if not isinstance(config.get(KEY, ""), str):
        raise ConfigError(f"--config {KEY} was read as {config[KEY]}, not as text; write one folder, as {KEY}=./FOLDER")
    named = [
        # Plain text goes to Hydra unquoted: it may be a list or a number.
        f"{key}={value if isinstance(value, str) else in_hydra(value)}"
        for key, value in config.items()
        if key not in ("overrides", IMAGE)
    ]
    overrides = config.get("overrides", [])
    return take_papers_path(
        named + ([str(item) for item in overrides] if isinstance(overrides, list) else _split(str(overrides)))
    )


def image_from(config: Mapping[str, Any], needed: bool) -> str | None:
    """The image of ``--config container=…``: a file or an address that apptainer knows; None if there is none."""
    if needed and not config.get(IMAGE):
        raise ConfigError(
            f"--sdm apptainer needs an image, and none is published: --config {IMAGE}=FILE.sif "
            "(docs/containers.md says how to build one)"
        )
    return config.get(IMAGE)


def _split(text: str) -> list[str]:
    """Split at commas and spaces that are not inside brackets or quotes."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts, depth = [""], 0
    for token in re.findall(r""""[^"]*"|'[^']*'|.""", text, flags=re.DOTALL):
        depth += (token in ("[", "{")) - (token in ("]", "}"))
        if depth <= 0 and (token == "," or token.isspace()):
            parts.append("")
        else:
            parts[-1] += token
    return [part for part in parts if part]


def started_for(command: Sequence[str]) -> list[str]:
    """The jobs for which Snakemake started this process, on a node of a cluster or for a group; empty in a user's own.

    Returns:
        Their keys; empty too if one has no id, and so no file of its own in the plan.
    """
    if "--target-jobs" not in command:
        return []
    targets = takewhile(lambda word: not word.startswith("-"), command[command.index("--target-jobs") + 1 :])
    matches = [re.fullmatch(r"(\w+):id=([\w-]+)", target) for target in targets]
    return [f"{match[1]}/{match[2]}" for match in matches if match] if all(matches) else []


class JobsOfRules:
    """An index of a run's jobs: by rule and wildcards the job, which is written to the plan on first use, and its cost.

    Args:
        overrides: Hydra overrides, as of :func:`resaudit.plan.composition.load`.
        folder: folder of the configuration files.
        writes: write jobs into the plan; Snakemake's own processes on other nodes write only what is not there.
        only: keys of the jobs that this process is started for; empty: all. Jobs are then read from the plan, and no
            figure is composed, if the plan is there.

    Attributes:
        overrides: the argument.
    """

    def __init__(self, overrides: Sequence[str], folder: Path, writes: bool, only: Sequence[str] = ()) -> None:
        self._configuration = Files(folder)
        self.plans = Plans.composed(overrides, self._configuration, [] if only else None)
        # On a machine that shares no disk with the user's nobody has written the plan.
        if not all(plan_file(Path(self.plans.base.config.paths.results), key).is_file() for key in only):
            self.plans, only = Plans.composed(overrides, self._configuration), ()
        self.plan = self.plans.base
        self.files = Layout(self.plan.config.paths)
        raw = (file for fetch in self.plan.jobs_of("fetch").values() for file in fetch.written(self.files.results))
        self.files.check_unused(fetches=not all(map(os.path.exists, raw)))
        self.execution = read_job(self.files.results, only[0])[1] if only else execution_of(self.plan.config)
        # A job's own process estimates nothing for others.
        self._estimates, self._read = Estimates(self.execution), inf if only else -inf
        check_modules(self.plan.figures)
        check_under_variants(self.plan.config, self._configuration)
        self.overrides, self._from_files, self._writes = tuple(overrides), bool(only), writes
        # The jobs of a run at work still read their plan files, which say on what device they run.
        self._writes_again = writes and not is_held(self.files.results / LOCK)
        self._index: dict[tuple[str, ...], Job] = {}
        self._entries = self._all_entries()
        self._jobs, self._costs = dict[str, Job](), dict[str, Cost]()
        self._written: set[str] = set()

    def _all_entries(self) -> Iterator[tuple[tuple[str, ...], Job]]:
        """The index, made as far as it is needed: first what needs no variant."""
        for plan in self.plans.all():
            yield from (((job.kind, job.id), job) for job in plan.jobs.values())
            for name, part in plan.figures.items():
                drawing = draw_job(part.figure, self._of_paper.figure[name], plan.config)
                yield ("draw", drawing.id), drawing
                if plan is self.plan:
                    yield ("show", *name.split("/")), drawing
            if plan is self.plan:
                yield ("audit",), AuditJob(self.plan.config, self.overrides)
        for paper in self.plan.config.claims:
            if evidence_figures(self.plan, paper):
                yield ("robustness_matrix", paper), robustness_job(self.plans, paper, self._of_paper)

    def write_plan(self) -> None:
        """Write the plan files of all configured figures; in a job's own process nothing."""
        for job in self.plan.jobs.values() if self._writes else ():
            self._planned(job)

    def long_in_words(self) -> list[str]:
        """The planned jobs without a result that are estimated to take over a day; a partition may allow less."""
        seconds = {key: self.cost(job).seconds for key, job in self.plan.jobs.items()}
        return [
            f"long: {key}: {in_minutes(seconds[key])}; exclude its figure with figures=[…] if that is too long"
            for key, job in self.plan.jobs.items()
            if seconds[key] > DAY and not self._is_done(job)
        ]

    def priorities(self, cores: int) -> dict[str, float]:
        """By key, how early Snakemake starts a planned job, from 0 to below 1: those of cheap figures first."""
        needed = {name: with_inputs(part.jobs.values()) for name, part in self.plan.figures.items()}
        costs = {
            key: (Cost(0, 0) if self._is_done(job) else self.cost(job), [each.key for each in job.inputs.values()])
            for key, job in self.plan.jobs.items()
        }
        order = cheapest_first(needed, costs, cores)
        return {key: 1 - place / len(order) for place, key in enumerate(order, 1)}

    def _is_done(self, job: Job) -> bool:
        return all(file.is_file() for file in job.written(self.files.results))

    def of(self, rule: str, **wildcards: str) -> Job:
        """The job of a rule, by the wildcards of its files."""
        place = (rule, *(wildcards[name] for name in ("paper", "figure", "id") if name in wildcards))
        if self._from_files and place not in self._index:
            self._index[place] = read_job(self.files.results, "/".join(place))[0]
        while place not in self._index:
            entry = next(self._entries, None)
            if entry is None:
                key = "/".join(place)
                raise ConfigError(f"no job {key!r} in this configuration or its variants")
            self._index.setdefault(*entry)
        return self._planned(self._index[place])

    def fetching(self) -> dict[str, Fetch]:
        """The job that fetches each configured data set, by name, with the sources that a chosen figure has for it."""
        known = datasets(self._configuration, self.overrides)
        known |= {dataset.name: dataset for dataset in self.plan.config.datasets()}
        jobs = {name: fetch_of(dataset, self.plan.config.paths.data) for name, dataset in known.items()}
        for job in jobs.values():
            self._planned(job)
        return jobs

    @cached_property
    def _of_paper(self) -> Config:
        """The figures at scale paper, from which deviations are measured."""
        return load(["scale=paper"], self._configuration, list(self.plan.figures))

    def check_torch(self, inside: "Insides") -> None:
        """Check that torch is there if a job that is to compute on this machine, and in no image, needs it."""
        if inside.on_cluster is None and not inside.in_containers:
            jobs = [self._jobs[job.params.job] for job in inside.waiting() if job.rule.name in computing_kinds()]
            check_torch(module for job in jobs for module in job.modules)

    def time_left(self, inside: "Insides", cores: int) -> str:
        """The estimated time of the jobs that Snakemake still has to run, in words."""
        at_once, gpus = inside.on_cluster or cores, 0
        if self.execution.device == "cuda" and not inside.on_cluster:
            gpus = inside.gpus or 0
        left = {job: (job.params.get("job"), waits) for job, waits in inside.waiting().items()}
        costs = {job: (self.cost(self._jobs[key]), waits) for job, (key, waits) in left.items() if key}
        return in_minutes(duration(costs, at_once, gpus))

    def cost(self, job: Job) -> Cost:
        """The cost of a job on the device that it runs on; it follows what earlier jobs took."""
        if time.monotonic() > self._read + SECONDS_BETWEEN_READINGS:
            self._estimates = Estimates.of(self.plan.config, self.execution)
            self._read, self._costs = time.monotonic(), {}
        if job.key not in self._costs:
            self._costs[job.key] = self._estimates.here(job)
        return self._costs[job.key]

    def minutes_asked(self, job: Job, attempt: int = 1) -> int:
        """Wall time to request, at least by built-in estimates: of a resumed job only the last run is measured."""
        built_in = Estimates(self.execution).here(job)
        return max(built_in.minutes_asked(attempt), self.cost(job).minutes_asked(attempt))

    def _planned(self, job: Job) -> Job:
        self._jobs[job.key] = job
        if self._writes or not plan_file(self.files.results, job.key).is_file():
            write_job(job, self.execution, self.files.results, self._writes_again, self._written)
        return job


def check_for_storage(config: Config) -> None:
    """Check that a storage can hold the run's folders, and that jobs, which run among its copies, find the raw data."""
    for key in ("data", "results", "figures"):
        folder = Path(getattr(config.paths, key))
        if folder.is_absolute() or ".." in folder.parts:
            raise ConfigError(
                f"is {folder}, but a storage holds folders of the working directory", place=f"paths.{key}"
            )
    for dataset in config.datasets():
        if dataset.folder and not Path(dataset.folder).expanduser().is_absolute():
            raise ConfigError(f"is {dataset.folder}; with a storage, give it from / on", place="dataset.folder")


def check_made_by_this_code(jobs: JobsOfRules, inside: "Insides") -> None:
    """Check that figures and their results are of this environment's code; jobs elsewhere may have had another."""
    made, here = set[tuple[str, str]](), {(job.kind, code_of(job)) for job in jobs.plan.jobs.values()}
    for name in jobs.plan.figures:
        paper, figure = name.split("/")
        drawing = jobs.of("show", paper=paper, figure=figure)
        about = read_json(inside.here(jobs.files.figure(name, "json")))
        made |= {
            (drawing.kind, about["code"]),
            *((kind, code) for kind, codes in about["codes"].items() for code in codes),
        }
        here.add((drawing.kind, code_of(drawing)))
    if others := sorted({kind for kind, _ in made - here}):
        raise ResultsError(
            f"results of {listed(others)} are of other code than here; let the environment of jobs elsewhere be of "
            f"this commit, and run again with --forcerun {' '.join(others)}"
        )


def check_modules(figures: Iterable[str]) -> None:
    """Check before any job that figures have modules with ``table`` and ``plot``, and names that no rule has.

    Modules are not imported, which takes seconds. Two kinds of job of one name are refused too.
    """
    taken = {*computing_kinds(), *OTHER_RULES}
    for name in figures:
        paper, _, figure = name.partition("/")
        if figure in taken:
            raise ConfigError(f"figure {name} has the name of a rule or a kind of job; rename its files")
        try:
            spec = find_spec(module_of(name))
        except ModuleNotFoundError:
            spec = None
        if spec is None:
            place = papers().get(paper)
            path = file_of_paper(paper, f"{figure}.yaml")
            module = (place.source if place else Path("src", paper)) / f"{figure}.py"
            raise PaperError(f"{path} has no module {module}; write it, with table(results) and plot(table)")
        if lacking := {"table", "plot"} - _names_at_top(Path(str(spec.origin))):
            raise PaperError(
                f"{spec.origin} has no {listed(sorted(lacking))}; a figure's module has table(results) and plot(table)"
            )


def _names_at_top(module: Path) -> set[str]:
    """The names that a module defines, assigns or imports; of one that is no Python both of a figure's."""
    try:
        nodes = ast.parse(module.read_bytes()).body
    except SyntaxError:
        return {"table", "plot"}  # said where it is imported
    return {
        str(getattr(part, "asname", None) or getattr(part, "id", getattr(part, "name", "")))
        for node in nodes
        for part in (node, *getattr(node, "targets", ()), *getattr(node, "names", ()))
    }


def figure_targets(config: Config, command: Sequence[str]) -> dict[str, str]:
    """The ``paper/figure`` of each target that draws one figure: its full name, and a short name that no other has."""
    folders = map(Path, (config.paths.results, config.paths.figures))
    made = [folder.absolute() for folder in folders if not folder.is_absolute()]
    least = {name: least_name(name, config.figure) for name in config.figure}
    several = {name.split("/")[1] for name, target in least.items() if name == target}
    for before, word in pairwise(["", *command]):
        if word in several:
            figures_named(word, list(config.figure))
        # Rules make files under the names of these folders alone; an option may take any path.
        if not before.startswith("--") and any(map(Path(word).is_relative_to, made)):
            raise ConfigError(f"no rule makes {word} under this name; write {os.path.relpath(word)}")
    chosen = config.chosen_figures()
    return {name: name for name in chosen} | {least[name]: name for name in chosen}


def warn(plan: Plan, execution: Execution) -> None:
    """Print what the kinds of jobs warn of, such as a missing kernel, each warning once."""
    for warning in dict.fromkeys(each for job in plan.jobs.values() for each in job.warnings(execution)):
        print(f"resaudit: warning: {warning}", file=sys.stderr)


class ReadableLog(logging.Formatter):
    """Snakemake's log, shortened: lists of files counted, progress in minutes left, not in per cent of the jobs.

    Args:
        snakemake: Snakemake's own formatter.
        time_left: returns the time of the jobs that are not done, in words.
    """

    def __init__(self, snakemake: logging.Formatter, time_left: Callable[[], str]) -> None:
        super().__init__()
        self.snakemake, self.time_left = snakemake, time_left

    def format(self, record: logging.LogRecord) -> str:
        """A record as text; the record, which other handlers get too, stays as it is."""
        values = dict(vars(record))
        if values.get("event") == LogEvent.PROGRESS:
            left = f", {self.time_left()} left" if values["done"] < values["total"] else ""
            return f"{values['done']} of {values['total']} jobs done{left}"
        if values.get("event") in (LogEvent.JOB_INFO, LogEvent.JOB_ERROR):
            values |= {key: _counted(values[key]) for key in ("input", "output")}
        return self.snakemake.format(logging.makeLogRecord(values))


def says_something(record: logging.LogRecord) -> bool:
    """Whether a record is for a quiet terminal: not what the line on progress says too, nor a job's end by Ctrl-C."""
    text = record.getMessage()
    interrupted = re.search(r"exit status 130\b|Signals\.SIGINT", text)
    return not (vars(record).get("event") == LogEvent.JOB_FINISHED or text.startswith(REPEATED) or interrupted)


def _counted(files: Sequence[str] | None) -> list[str]:
    """The first of some files, and how many more.

    >>> _counted(["a", "b", "c"]), _counted(["a"]), _counted(None)
    (['a and 2 more'], ['a'], [])
    """
    first, *others = files or [""]
    return [f"{first} and {len(others)} more"] if others else list(files or [])


def make_readable(logger: logging.Logger, jobs: JobsOfRules, inside: "Insides", cores: int) -> None:
    """Shorten what Snakemake shows from here on, and log how long the run will take.

    Its log file and plugins (``--logger``) get the whole records.
    """
    left = partial(jobs.time_left, inside, cores)
    for handler in logger.handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            if handler.formatter:
                handler.setFormatter(ReadableLog(handler.formatter, left))
            if not handler.filter(logging.makeLogRecord({"event": LogEvent.JOB_INFO})):  # it is quiet about jobs
                handler.addFilter(says_something)
    where = f"{inside.on_cluster} jobs of the cluster at once" if inside.on_cluster else f"{cores} cores"
    logger.info(f"estimated: {left()} on {where}")
    usable = processors()
    if cores > usable and not inside.on_cluster:
        logger.info(f"--cores is {cores}, but only {counted(usable, 'processor')} may be used here")


def end_in_words(failed: Sequence[Any], overrides: Sequence[str]) -> list[str]:
    """How a run ended that did not do all: each failed job of Snakemake's with its log's last line, or that it stopped.

    Of a group's jobs those count that wrote a log. The last line says how to go on, and to a page of what is drawn.
    """
    page = resaudit_command("audit", "--page", "so_far.html", *as_words(), *overrides)
    next_step = f"the same command goes on where it was; a page of what is drawn: {page}"
    lines = []
    for rule, log in ((job.rule.name, Path(log)) for job in failed for log in job.log):
        said = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
        if last := next(filter(str.strip, reversed(said)), ""):
            lines.append(f"failed: {rule}: {last}; all that it said: cat {shlex.quote(str(log))}")
        elif log.is_file():
            lines.append(f"failed: {rule}: it ended without a word: killed, as for its memory, or never started")
    if failed:
        return [*lines, f"{counted(len(failed), 'job')} failed; {next_step}"]
    return [f"stopped; {next_step}"]


def verdicts_in_words(audit: Path, config: Config) -> Iterator[str]:
    """The scale, the counts of verdicts and where the page is, the shares; then how many drawn figures do not count.

    Args:
        audit: the ``audit.json``, beside its page.
        config: of the run; if it asks for some figures or papers, their claims alone are counted.
    """
    made = read_json(audit)
    claims = [claim for paper in made["papers"] for claim in paper["claims"]]
    if not config.figures:
        words = f"claims: {counts_in_words(*(paper['counts'] for paper in made['papers']))}"
    else:
        asked = [claim for claim in claims if config.asks_about(claim["evidence"])]
        counts = Counter(standing_of(claim["verdict"], claim["fitted"]) for claim in asked)
        words = f"{counts.pop('supported', 0)} of {len(asked)} chosen claims supported"
        words = ", ".join([words, *(f"{number} {standing}" for standing, number in counts.items())])
    yield f"{words}, at scale {made['scale']}; open {audit.with_suffix('.html')}"
    if not config.figures:
        yield Shares.model_validate(made["shares"]).in_words
    absent = (figure for paper in made["papers"] for figure in paper["not_drawn"])
    not_counted = [figure["id"] for figure in absent if not figure["why"].startswith(UNJUDGED)]
    others = sum((audit.parent / f"{figure}.csv").is_file() for figure in not_counted)
    if others:
        yield (
            f"{counted(others, 'drawn figure')} of other settings left out of that page; to see them on it again, run "
            "the command that drew them (drawings are only copied); figures of several scales on one page: add "
            "overrides=[FIGURE.scale=SCALE]"
        )
    refuse_unjudged({claim["id"]: claim["obstacle"] for claim in claims})


def has_unjudged(audit: Path) -> bool:
    """Whether a claim of the audit before could not be judged: it is made again, so that each run ends with that."""
    return audit.is_file() and f'"obstacle": "{UNJUDGED}'.encode() in audit.read_bytes()


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the process with status 1 and the error's one line instead of a traceback."""
    try:
        yield
    except ResauditError as error:
        sys.exit(f"resaudit: error: {error}")


def set_dates_in_the_future(files: Iterable[Path]) -> None:
    """Give files with a date in the future today's, and say so; Snakemake would delete what is computed from them."""
    now = time.time()
    late = sorted({file for file in files if file.is_file() and file.stat().st_mtime > now})
    for file in late:
        try:
            os.utime(file)
        except OSError as error:
            raise ConfigError(
                f"{file} has a date in the future, and it cannot be set ({error.strerror}); touch it as its owner"
            ) from error
    if late:
        print(f"resaudit: {len(late)} files had a date in the future ({late[0]} …); set to now", file=sys.stderr)
