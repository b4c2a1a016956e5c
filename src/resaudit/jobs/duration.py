"""How long jobs take together, by their estimated costs."""

from collections.abc import Collection, Hashable, Mapping
from functools import cache
from typing import TypeVar

from resaudit.jobs.job import Cost

Key = TypeVar("Key", bound=Hashable)


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
