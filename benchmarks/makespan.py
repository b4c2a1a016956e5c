"""On paper: when a run draws its figures and ends on one machine and on clusters, its cost and critical path.

python -m benchmarks.makespan scale=paper

Seconds are those that each kind of job estimates (src/resaudit/jobs), measured job by job (benchmarks/job_costs.py);
the jobs, their threads and priorities, and what waits for what, are those of the workflow, in a folder without results
and with the data at hand. Each machine is filled as Snakemake's greedy scheduler does.
"""

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.conftest import CHECKOUT

from resaudit.audit.job import AuditJob
from resaudit.cli.workflow import JobsOfRules
from resaudit.data.fetch import Fetch
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution
from resaudit.plan.plan import Plan
from resaudit.plan.plans import Plans, evidence_figures

SECONDS_TO_QUEUE = 15.0
"""From a job's being ready to its start on a cluster: submission, the scheduler's turn and Snakemake's look at it."""
CORE_HOUR = 0.05
"""What large providers ask for on demand, rounded; give your own by --core-hour=."""


@dataclass
class Step:
    """One job of the workflow: seconds on one core, and the names of those it waits for."""

    seconds: float
    waits_for: list[str] = field(default_factory=list)
    threads: int = 1


def jobs_of(plans: Iterable[Plan], execution: Execution) -> dict[str, Step]:
    """Every job of some plans that a node runs, each once, by a name that says its rule."""
    steps: dict[str, Step] = {}
    for plan in plans:
        config = plan.config
        for job in plan.jobs.values():
            if not isinstance(job, Fetch):
                cost, waits = job.cost(execution), [needed.key for needed in job.inputs.values()]
                waits = [name for name in waits if name in steps]
                steps[job.key] = Step(cost.seconds, waits, cost.threads)
        for part in plan.figures.values():
            drawing = draw_job(part.figure, part.figure, config)
            steps[drawing.key] = Step(drawing.cost(execution).seconds, [job.key for job in part.jobs.values()])
    judging = AuditJob(config, ()).cost(execution)
    steps["audit"] = Step(judging.seconds, [name for name in steps if name.startswith("draw")])
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


def ends(jobs: dict[str, Step], priorities: dict[str, float], cores: int, delay: float = 0.0) -> dict[str, float]:
    """Seconds until each job is done on so many cores, the highest priority first."""
    missing = {name: len(job.waits_for) for name, job in jobs.items()}
    after = defaultdict[str, list[str]](list)
    for name, job in jobs.items():
        for before in job.waits_for:
            after[before].append(name)
    ready, free, now = {name for name in jobs if not missing[name]}, cores, 0.0
    running, ended = list[tuple[float, str]](), dict[str, float]()
    while ready or running:
        for name in sorted(ready, key=lambda name: priorities.get(name, 0), reverse=True) if free else ():
            threads = min(jobs[name].threads, cores)
            if threads <= free:
                free -= threads
                ready.remove(name)
                heapq.heappush(running, (now + delay + jobs[name].seconds / threads, name))
        now, done = heapq.heappop(running)
        free, ended[done] = free + min(jobs[done].threads, cores), now
        for name in after[done]:
            missing[name] -= 1
            if not missing[name]:
                ready.add(name)
    return ended


def critical_path(jobs: dict[str, Step]) -> Iterator[tuple[str, float]]:
    """The longest chain of jobs that wait for each other, with the seconds of each."""
    ways = ways_to_the_end(jobs)
    name: str | None = max(ways, key=lambda n: ways[n])
    while name is not None:
        yield name, jobs[name].seconds
        name = max((n for n in jobs if name in jobs[n].waits_for), key=lambda n: ways[n], default=None)


def table(title: str, jobs: dict[str, Step], rules: JobsOfRules, core_hour: float) -> Iterator[str]:
    """The lines about one run."""
    total = sum(job.seconds for job in jobs.values())
    yield f"{title}: {len(jobs)} jobs, {total / 3600:.1f} core-hours; by rule " + ", ".join(
        f"{rule} {sum(j.seconds for n, j in jobs.items() if n.startswith(rule)) / 3600:.2f} h"
        for rule in ("train", "hessians", "theorem", "draw")
    )
    drawings = {name: 2.0 for name in jobs if name.startswith("draw/")}
    for cores, delay in ((2, 0.0), (16, 0.0), (1000, SECONDS_TO_QUEUE)):
        minutes = {
            name: seconds / 60 for name, seconds in ends(jobs, drawings | rules.priorities(cores), cores, delay).items()
        }
        cost = total / 3600 * core_hour
        drawn = [at for name, at in minutes.items() if name.startswith("draw/")]
        early = ", ".join(
            f"{number} drawn after {drawn[number - 1]:.1f}" for number in (1, 10, 20) if number < len(drawn)
        )
        yield f"  {cores:5} cores: {max(minutes.values()):7.1f} min ({early}), {cost:.2f} for the core-hours used"
    yield "  critical path: " + " -> ".join(f"{name} ({seconds:.0f} s)" for name, seconds in critical_path(jobs))


def main(arguments: list[str]) -> None:
    """Print the tables for the figures, and for these with every variant."""
    given = dict(a[2:].split("=") for a in arguments if a.startswith("--"))
    price = float(given.get("core-hour", CORE_HOUR))
    overrides = [a for a in arguments if not a.startswith("--")] or ["scale=paper"]
    rules = JobsOfRules([*overrides, "paths.results=nowhere"], CHECKOUT / "config", writes=False)  # all is to do
    print("\n".join(table("figures", jobs_of([rules.plan], rules.execution), rules, price)))
    every = [rules.plan, *_varied(rules.plans)]
    print("\n".join(table("figures and robustness", jobs_of(every, rules.execution), rules, price)))


def _varied(plans: Plans) -> Iterator[Plan]:
    """Each variant's plan, reduced to the figures that claims are held against."""
    names = {n for paper in plans.base.config.claims for n in evidence_figures(plans.base, paper)}
    for plan in plans.all():
        if plan is not plans.base:
            yield Plan(plan.config, {n: f for n, f in plan.figures.items() if n in names})


if __name__ == "__main__":
    main(sys.argv[1:])
