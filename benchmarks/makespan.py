"""On paper: how long a whole run takes on one machine and on clusters, what it costs, and where its critical path lies.

python benchmarks/makespan.py scale=paper

Seconds are those that each kind of job estimates (src/resaudit/jobs), measured job by job (benchmarks/job_costs.py);
the jobs and what waits for what are those of the workflow. Each machine is filled greedily, the job with the longest
way to the end first.
"""

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from resaudit.audit.report import Report
from resaudit.data.fetch import Fetch
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution
from resaudit.plan.plan import Plan, execution_of
from resaudit.plan.plans import Plans, evidence_figures
from residual.demystifying_resnet.jobs.train import Train

SECONDS_TO_QUEUE = 15.0
"""From a job's being ready to its start on a cluster: submission, the scheduler's turn and Snakemake's look at it."""
# Prices are what large providers ask for on demand, rounded; give your own by --core-hour= and --gpu-hour=.
PRICES = {"core-hour": 0.05, "gpu-hour": 4.0}
# No GPU has run this yet: share of its peak in float32 that the fused kernel is taken to reach, as on the CPU at worst.
GPU_PEAK_FLOPS, GPU_SHARE = 60e12, 0.25
CPU_FLOPS = 95e9
"""What one core does with the fused kernel (benchmarks/relu_gradient.py)."""


@dataclass
class Step:
    """One job of the workflow: seconds on one core, the names of those it waits for, whether it trains with ReLUs."""

    seconds: float
    waits_for: list[str] = field(default_factory=list)
    relu: bool = False


def jobs_of(plans: Iterable[Plan], execution: Execution) -> dict[str, Step]:
    """Every job of some plans that a node runs, each once, by a name that says its rule."""
    steps: dict[str, Step] = {}
    for plan in plans:
        config = plan.config
        for job in plan.jobs.values():
            if not isinstance(job, Fetch):
                cost, waits = job.cost(execution), [needed.key for needed in job.inputs.values()]
                waits = [name for name in waits if name in steps]
                steps[job.key] = Step(cost.seconds, waits, isinstance(job, Train) and cost.wants_gpu)
        for part in plan.figures.values():
            drawing = draw_job(part.figure, part.figure, config)
            steps[drawing.key] = Step(drawing.cost(execution).seconds, [job.key for job in part.jobs.values()])
    judging = Report(config, ()).cost(execution)
    steps["report"] = Step(judging.seconds, [name for name in steps if name.startswith("draw")])
    return steps


def ways_to_the_end(jobs: dict[str, Step]) -> dict[str, float]:
    """Seconds from each job's start to the end of all, were there no other limit."""
    after: dict[str, list[str]] = defaultdict(list)
    for name, job in jobs.items():
        for before in job.waits_for:
            after[before].append(name)
    ways: dict[str, float] = {}

    def way(name: str) -> float:
        if name not in ways:
            ways[name] = jobs[name].seconds + max(map(way, after[name]), default=0.0)
        return ways[name]

    for name in jobs:
        way(name)
    return ways


def makespan(jobs: dict[str, Step], cores: int, delay: float = 0.0) -> float:
    """Seconds until all jobs are done on so many cores."""
    ways, missing = ways_to_the_end(jobs), {name: len(job.waits_for) for name, job in jobs.items()}
    after = {name: [other for other in jobs if name in jobs[other].waits_for] for name in jobs}
    ready = [(-ways[name], name) for name, count in missing.items() if not count]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            _, name = heapq.heappop(ready)
            heapq.heappush(running, (now + delay + jobs[name].seconds, name))
        now, done = heapq.heappop(running)
        for name in after[done]:
            missing[name] -= 1
            if not missing[name]:
                heapq.heappush(ready, (-ways[name], name))
    return now


def with_gpus(jobs: dict[str, Step]) -> dict[str, Step]:
    """The jobs with networks with ReLUs trained on a GPU, plus ten seconds to start there."""
    speed = GPU_PEAK_FLOPS * GPU_SHARE / CPU_FLOPS
    return {n: Step(j.seconds / speed + 10.0 if j.relu else j.seconds, j.waits_for, j.relu) for n, j in jobs.items()}


def on_gpus(jobs: dict[str, Step], gpus: int, cores: int) -> tuple[float, float]:
    """Seconds until all is done, and of GPUs at work, with networks with ReLUs on the GPUs, the rest on cores."""
    quick = with_gpus(jobs)
    busy = sum(job.seconds for job in quick.values() if job.relu)
    alone = sum(
        max(job.seconds for name, job in quick.items() if name.startswith(kind))
        for kind in ("whiten", "draw", "report")
    )
    # The GPUs' share is one queue beside the cores'; the longer of the two ends the run.
    on_cores = makespan({n: Step(0.0, j.waits_for) if j.relu else j for n, j in quick.items()}, cores)
    return max(on_cores, busy / gpus + alone), busy


def critical_path(jobs: dict[str, Step]) -> Iterator[tuple[str, float]]:
    """The longest chain of jobs that wait for each other, with the seconds of each."""
    ways = ways_to_the_end(jobs)
    name: str | None = max(ways, key=lambda n: ways[n])
    while name is not None:
        yield name, jobs[name].seconds
        name = max((n for n in jobs if name in jobs[n].waits_for), key=lambda n: ways[n], default=None)


def table(title: str, jobs: dict[str, Step], prices: dict[str, float]) -> Iterator[str]:
    """The lines about one run."""
    total = sum(job.seconds for job in jobs.values())
    yield f"{title}: {len(jobs)} jobs, {total / 3600:.1f} core-hours; by rule " + ", ".join(
        f"{rule} {sum(j.seconds for n, j in jobs.items() if n.startswith(rule)) / 3600:.2f} h"
        for rule in ("train", "hessians", "theorem", "draw")
    )
    for cores, delay in ((2, 0.0), (16, 0.0), (1000, SECONDS_TO_QUEUE)):
        seconds = makespan(jobs, cores, delay)
        cost = total / 3600 * prices["core-hour"]
        yield f"  {cores:5} cores: {seconds / 60:7.1f} min, {cost:.2f} for the core-hours used"
    for gpus, cores in ((1, 16), (8, 128)):
        seconds, busy = on_gpus(jobs, gpus, cores)
        cost = gpus * seconds / 3600 * prices["gpu-hour"]
        yield (
            f"  {gpus} GPU(s), {cores} cores (reckoned at {GPU_SHARE:.0%} of peak, not measured): "
            f"{seconds / 60:.1f} min, GPUs busy {busy / gpus / seconds:.0%}, {cost:.2f} for the GPUs"
        )
    for where, path in (("CPUs", jobs), ("GPUs for ReLUs", with_gpus(jobs))):
        chain = " -> ".join(f"{name} ({seconds:.0f} s)" for name, seconds in critical_path(path))
        yield f"  critical path, {where}: {chain}"


def main(arguments: list[str]) -> None:
    """Print the tables for the figures, and for these with every variant."""
    given = dict(a[2:].split("=") for a in arguments if a.startswith("--"))
    prices = PRICES | {key: float(value) for key, value in given.items()}
    plans = Plans.composed([a for a in arguments if not a.startswith("--")] or ["scale=paper"])
    execution = execution_of(plans.base.config)
    print("\n".join(table("figures", jobs_of([plans.base], execution), prices)))
    every = [plans.base, *_varied(plans)]
    print("\n".join(table("figures and robustness", jobs_of(every, execution), prices)))


def _varied(plans: Plans) -> Iterator[Plan]:
    """Each variant's plan, reduced to the figures that claims are held against."""
    names = {n for paper in plans.base.config.claims for n in evidence_figures(plans.base, paper)}
    for plan in plans.all():
        if plan is not plans.base:
            yield Plan(plan.config, {n: f for n, f in plan.figures.items() if n in names})


if __name__ == "__main__":
    main(sys.argv[1:])
