"""What a finished run's jobs took, against what the cost model predicts and what the rules ask a scheduler for.

python -m benchmarks.job_costs [--results FOLDER] [overrides of the run …]

Measured is what Snakemake's benchmark files say: wall time, and the largest resident set, looked at twice a second and
later twice a minute, so that a short peak may be missed. A job would have been killed if it, with two of Snakemake's
own processes around it, took more memory than its rule asks for at the first attempt, or more time.
"""

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from resaudit.audit.job import AuditJob
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Cost
from resaudit.plan.plan import execution_of
from resaudit.plan.plans import Plans

# Of two Snakemake processes, each at rest beside its job; measured, as max_rss is.
MEGABYTES_AROUND = 250.0
COLUMNS = (
    "rule",
    "jobs",
    "s, all",
    "s / predicted: median, worst",
    "MB: most",
    "MB / predicted: median, worst",
    "killed: memory, time",
)


@dataclass(frozen=True)
class Job:
    """One job's measured seconds and megabytes, and what was predicted."""

    name: str
    seconds: float
    megabytes: float
    predicted: Cost

    @property
    def short_of_memory(self) -> bool:
        """Whether it would have been killed for its memory."""
        return self.megabytes + MEGABYTES_AROUND > self.predicted.megabytes_asked()

    @property
    def short_of_time(self) -> bool:
        """Whether it would have been killed for its time."""
        return self.seconds > 60 * self.predicted.minutes_asked()


def predicted(rule: str, name: str, plans: Plans) -> Cost | None:
    """What the rules know of a job before it runs; None of a rule that runs on no node."""
    config = plans.base.config
    figure, execution = next(iter(config.figure.values())), execution_of(config)
    # The same for every figure, and for every paper.
    drawing, judging = (job.cost(execution) for job in (draw_job(figure, figure, config), AuditJob(config, ())))
    fixed = {"draw": drawing, "audit": judging, "robustness_matrix": judging, "fetch": None}
    key = f"{rule}/{name}"
    return fixed[rule] if rule in fixed else next(p.jobs[key] for p in plans.all() if key in p.jobs).cost(execution)


def measured(results: Path, plans: Plans) -> Iterator[tuple[str, Job]]:
    """Every rule's jobs, from their benchmark files."""
    for file in sorted((results / "benchmarks").rglob("*.tsv")):
        rule = file.relative_to(results / "benchmarks").parts[0]
        cost = predicted(rule, file.stem, plans)
        with file.open(encoding="utf-8") as lines:
            row = next(csv.DictReader(lines, delimiter="\t"))
        if cost and row["max_rss"] not in ("NA", "-"):
            yield rule, Job(file.stem, float(row["s"]), float(row["max_rss"]), cost)


def row(rule: str, jobs: list[Job]) -> list[str]:
    """One line of the table."""
    seconds = [job.seconds / job.predicted.seconds for job in jobs]
    megabytes = [job.megabytes / job.predicted.megabytes for job in jobs]
    killed = sum(job.short_of_memory for job in jobs), sum(job.short_of_time for job in jobs)
    return [
        rule,
        str(len(jobs)),
        f"{sum(job.seconds for job in jobs):.0f}",
        f"{statistics.median(seconds):.2f}, {max(seconds):.2f}",
        f"{max(job.megabytes for job in jobs):.0f}",
        f"{statistics.median(megabytes):.2f}, {max(megabytes):.2f}",
        f"{killed[0]}, {killed[1]}",
    ]


def main() -> None:
    """Print the table, and the jobs that were furthest from what was predicted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"), help="the run's results folder")
    parser.add_argument("--worst", type=int, default=0, help="also name so many jobs of each rule")
    parser.add_argument("overrides", nargs="*", help="of the run, as scale=paper")
    arguments = parser.parse_args()
    by_rule: dict[str, list[Job]] = defaultdict(list)
    for rule, job in measured(arguments.results, Plans.composed(arguments.overrides)):
        by_rule[rule].append(job)
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for rule, jobs in by_rule.items():
        print(f"| {' | '.join(row(rule, jobs))} |")
    for rule, jobs in by_rule.items():
        for job in sorted(jobs, key=lambda job: -job.seconds / job.predicted.seconds)[: arguments.worst]:
            print(
                f"{rule} {job.name}: {job.seconds:.1f} s of {job.predicted.seconds:.1f}, "
                f"{job.megabytes:.0f} MB of {job.predicted.megabytes:.0f}"
            )


if __name__ == "__main__":
    main()
