"""The provenance of a job that never ran, as the runner would write it, and Snakemake's benchmark of one."""

from pathlib import Path
from typing import Any

from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import write_job
from resaudit.plan import estimates
from resaudit.runtime.limits import processors

RAN: dict[str, Any] = {
    "device": "cpu",
    "threads": 1,
    "kernel": "counts",
    "seconds": 61.5,
    "started": "2026-11-21T10:00:00+00:00",
    "finished": "2026-11-21T10:01:01+00:00",
    "python": "3.11.7",
    "packages": {"numpy": "2.3.5", "torch": None},
    "machine class": {"device": "cpu", "processor": "made up", "BLAS": {"numpy": "openblas 0.3"}, "switches": {}},
    "code": "0" * 64,
    "sha256": {"counts.npz": "1" * 64},
    "inputs": {"whiten/a-0/moments.npz": "2" * 64},
}
HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
"""Of a benchmark file of Snakemake's."""


def benchmark(job: Job, results: Path, text: str) -> Path:
    file = results / estimates.BENCHMARKS / f"{job.key}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def ran_here(job: Job, results: Path, times: float, device: str = "cpu") -> Path:
    """As if a job had run here, in so many times its estimate."""
    execution = Execution(device=device)
    cost = job.cost(execution).on(device)
    assert cost.seconds > estimates.LEAST
    write_job(job, execution, results)
    seconds = times * cost.seconds / min(cost.threads, processors())
    return benchmark(job, results, f"{HEADER}\n{seconds:.4f}\t0:00:00" + "\t0.0" * 8 + "\n")
