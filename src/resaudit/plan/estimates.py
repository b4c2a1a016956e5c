"""What jobs and figures cost here: the kinds' own estimates, corrected by what Snakemake measured of jobs here."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from math import isfinite, prod
from pathlib import Path
from typing import TypeVar

import numpy as np

from resaudit.base.errors import listed
from resaudit.base.files import read_json
from resaudit.base.papers import as_words
from resaudit.base.text import in_minutes, megabytes, number
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Cost, Execution, Job
from resaudit.jobs.plan_files import plan_file
from resaudit.plan.models import Config, Run
from resaudit.plan.plan import execution_of, make_plan
from resaudit.plan.words import command_for
from resaudit.runtime.limits import processors

Key = TypeVar("Key", bound=Hashable)
BENCHMARKS = "benchmarks"
"""Snakemake's folder in that of results: what each job took, ``<kind>/<id>.tsv``."""
LEAST = 10.0
"""Seconds: jobs that are estimated to take less say how fast Python starts, and correct nothing."""


@dataclass(frozen=True)
class Estimates:
    """The costs of a run's jobs."""

    execution: Execution  # how they run
    slowness: Mapping[tuple[str, str], float] = field(default_factory=dict)  # by device and kind, seconds / estimate

    @classmethod
    def of(cls, run: Run, execution: Execution | None = None) -> "Estimates":
        """With what the jobs in the folder of results took; ``execution`` default: the run's."""
        took, estimated = defaultdict[tuple[str, str], float](float), defaultdict[tuple[str, str], float](float)
        for place, seconds, estimate in _measured(Path(run.paths.results)):
            took[place] += seconds
            estimated[place] += estimate
        slowness = {place: max(took[place] / estimated[place], 1e-3) for place in took}
        return cls(execution or execution_of(run), slowness)

    def cost(self, job: Job) -> Cost:
        """The estimated cost of a job, on one core and on a GPU."""
        cost = job.cost(self.execution)
        cpu, cuda = (self.slowness.get((device, job.kind), 1.0) for device in ("cpu", "cuda"))
        return replace(cost, seconds=cpu * cost.seconds, gpu_seconds=cuda * cost.gpu_seconds)

    def here(self, job: Job) -> Cost:
        """The estimated cost on the device that a job runs on."""
        return self.cost(job).on(self.execution.device)

    @property
    def origin(self) -> str:
        """Where the estimates are from, in words."""
        if not self.slowness:
            return f"built-in estimates; jobs of over {LEAST:.0f} s that run here correct those of their kind"
        return f"estimates as corrected by jobs here: {listed(sorted({kind for _, kind in self.slowness}))}"


def _measured(results: Path) -> Iterator[tuple[tuple[str, str], float, float]]:
    """Of each job that ran here: device and kind, measured and estimated seconds of one core, or of a GPU.

    A plan file newer than the measurement has another device or estimate.
    """
    for file in (results / BENCHMARKS).glob("*/*.tsv"):
        kind, plan = file.parent.name, plan_file(results, f"{file.parent.name}/{file.stem}")
        with suppress(OSError, ValueError, LookupError, TypeError):  # of no job of today, or cut short
            if plan.stat().st_mtime > file.stat().st_mtime:
                continue
            planned = read_json(plan)
            on_cpu, device = Cost(**planned["cost"]), planned["execution"]["device"]
            cost = on_cpu.on(device)
            _, took = file.read_text(encoding="utf-8").splitlines()
            seconds = float(took.partition("\t")[0]) * min(cost.threads, processors())
            if cost.seconds >= LEAST and isfinite(seconds):
                yield ("cpu" if cost is on_cpu else "cuda", kind), seconds, cost.seconds


def duration(jobs: Mapping[Key, tuple[Cost, Collection[Key]]], cores: int, gpus: int = 0) -> float:
    """Estimated seconds: work spread evenly over cores and over GPUs, or the longest chain of jobs if that is longer.

    Args:
        jobs: by key, the cost and the keys of the jobs to wait for; keys without an entry are done.
        cores: number of cores that run jobs.
        gpus: number of GPUs that run the jobs that want one, one job at a time; 0: cores run them.

    >>> duration({"a": (Cost(60, 0), []), "b": (Cost(30, 0), ["a"]), "c": (Cost(10, 0), ["gone"])}, cores=4)
    90.0
    >>> duration({number: (Cost(60, 0, wants_gpu=True), []) for number in range(4)}, cores=4, gpus=1)
    240.0
    """

    @cache
    def end(key: Key) -> float:
        cost, waits = jobs[key]
        return cost.seconds / min(cost.threads, cores) + max((end(k) for k in waits if k in jobs), default=0.0)

    on_gpus = sum(cost.seconds for cost, _ in jobs.values() if gpus and cost.wants_gpu)
    on_cores = sum(cost.seconds for cost, _ in jobs.values()) - on_gpus
    return max(on_cores / cores, on_gpus / max(gpus, 1), *map(end, jobs), 0.0)


def cheapest_first(
    figures: Mapping[str, Collection[Key]], jobs: Mapping[Key, tuple[Cost, Collection[Key]]], cores: int
) -> list[Key]:
    """The order of jobs that draws figures early: always those of the figure with the least work left, longest first.

    A job goes before its turn where what waits for it would else be done last.

    Args:
        figures: by name, the jobs that a figure needs; figures share jobs.
        jobs: as for :func:`duration`, inputs first.
        cores: likewise.

    >>> jobs = {"sweep": (Cost(60, 0), []), "train": (Cost(500, 0), ["sweep"]), "count": (Cost(5, 0), [])}
    >>> figures = {"dear": ["sweep", "train"], "cheap": ["sweep", "count"], "dearest": ["sweep", "train", "count"]}
    >>> cheapest_first(figures, jobs, cores=1)
    ['sweep', 'count', 'train']
    """
    seconds = {key: cost.seconds for key, (cost, _) in jobs.items()}
    order, waiting = list[Key](), [set(needed) for needed in figures.values()]
    while waiting:
        least = min(waiting, key=lambda keys: sum(seconds[key] for key in keys))
        order += sorted(least, key=lambda key: (-seconds[key], key))
        waiting = [keys - least for keys in waiting if keys is not least]
    # The work that may be done before a job starts, if all is to end in time.
    at_most, after = dict[Key, float](), defaultdict[Key, float](float)
    until = duration(jobs, cores)
    for key, (cost, waits) in reversed(list(jobs.items())):
        way = after[key] + cost.seconds / min(cost.threads, cores)
        at_most[key] = (until - way) * cores
        for needed in waits:
            after[needed] = max(after[needed], way)
    in_time, done = list[Key](), 0.0
    while order:
        late = [key for key in order if at_most[key] <= done]
        in_time.append(min(late, key=at_most.__getitem__, default=order[0]))
        order.remove(in_time[-1])
        done += seconds[in_time[-1]]
    return in_time


def left_out_in_words(config: Config, overrides: Sequence[str]) -> Iterator[str]:
    """Which of the figures asked for are left out, why, and how to draw them; two lines for each reason."""
    left_out = config.not_chosen()
    for reason in dict.fromkeys(left_out.values()):
        names = [name for name, why in left_out.items() if why == reason]
        yield f"left out: {', '.join(names)}: {reason}"
        command = command_for(names, overrides, as_words())
        yield f"to draw {'them' if len(names) > 1 else 'it'}, {time_in_words(config, names)}: {command}"


def time_in_words(config: Config, names: Sequence[str]) -> str:
    """How long figures of one scale take here, by estimate and without results of earlier runs."""
    plan, estimates = make_plan(config.model_copy(update={"figures": list(names)})), Estimates.of(config)
    jobs = {
        key: (estimates.here(job), [needed.key for needed in job.inputs.values()]) for key, job in plan.jobs.items()
    }
    cores, gpus = processors(), int(estimates.execution.device == "cuda")
    seconds = duration(jobs, cores, gpus)
    return f"{in_minutes(seconds)} at scale {config.scale_of(names[0])} on {cores} cores{' and one GPU' * gpus}"


def effort_in_words(config: Config, name: str) -> str:
    """What a figure takes without results of earlier runs: work, memory of its largest job, disk as far as known."""
    estimates = Estimates.of(config)
    jobs = make_plan(config.model_copy(update={"figures": [name]})).jobs.values()
    costs, sizes = [estimates.cost(job) for job in jobs], [_size(job, Path(config.paths.results)) for job in jobs]
    work = f"{in_minutes(sum(cost.seconds for cost in costs))} of one core"
    if gpu := sum(cost.gpu_seconds for cost in costs):
        most = max(cost.gpu_megabytes for cost in costs)
        work += f" or {in_minutes(gpu)} of a GPU with {most / 1000:.1f} GB"
    memory = f"{max((cost.megabytes for cost in costs), default=0.0) / 1000:.1f} GB of memory for the largest job"
    disk = f"{'at least ' * (None in sizes)}{megabytes(sum(filter(None, sizes)))} of disk" if any(sizes) else ""
    return ", ".join(filter(None, (work, memory, disk)))


def _size(job: Job, results: Path) -> int | None:
    """The bytes of a job's files, if they are here; else as planned."""
    files = job.written(results)
    return sum(file.stat().st_size for file in files) if all(map(Path.is_file, files)) else planned_size(job)


def planned_size(job: Job) -> int | None:
    """The bytes of a job's data or arrays, without headers; None if only the computation decides a size."""
    if isinstance(job, Fetch):
        return sum(file.size for file in job.dataset.files.values())
    total = 0
    for array in (array for file in job.files if file.endswith(".npz") for array in job.arrays_of(file).values()):
        sizes = [job.size(size) if isinstance(size, str) else size for size in array.shape]
        known = [size for size in sizes if size is not None]
        itemsize = np.dtype(getattr(job, array.type, array.type)).itemsize if array.type else 0
        if itemsize == 0 or len(known) < len(sizes):
            return None
        total += itemsize * prod(known)
    return total


def hours_in_words(config: Config) -> str:
    """What the chosen figures take in all, of one GPU where jobs want it or of cores, by estimate.

    On cores and with a GPU the results are equally good evidence.
    """
    estimates = Estimates.of(config)
    costs = [estimates.cost(job) for job in make_plan(config).jobs.values()]
    cores, gpu = sum(cost.seconds for cost in costs) / 3600, sum(cost.gpu_seconds for cost in costs) / 3600
    return f"{number(gpu, 2)} GPU hours or {cores:.0f} core-hours" if gpu else f"{cores:.1f} core-hours"
