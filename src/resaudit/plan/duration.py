"""How long jobs take together, by their estimated costs."""

from collections.abc import Collection, Hashable, Mapping
from functools import cache
from typing import TypeVar

from resaudit.plan.job import Cost

Key = TypeVar("Key", bound=Hashable)


def duration(jobs: Mapping[Key, tuple[Cost, Collection[Key]]], cores: int) -> float:
    """Estimated seconds: all work spread evenly over the cores, or the longest chain of jobs if that is longer.

    Args:
        jobs: by key, the cost and the keys of the jobs to wait for; keys without an entry are done.
        cores: that run jobs.

    >>> duration({"a": (Cost(60, 0), []), "b": (Cost(30, 0), ["a"]), "c": (Cost(10, 0), ["gone"])}, cores=4)
    90.0
    """

    @cache
    def end(key: Key) -> float:
        cost, waits = jobs[key]
        return cost.seconds / min(cost.threads, cores) + max((end(k) for k in waits if k in jobs), default=0.0)

    return max(sum(cost.seconds for cost, _ in jobs.values()) / cores, max(map(end, jobs), default=0.0))


def in_minutes(seconds: float) -> str:
    """A duration in words.

    >>> in_minutes(20), in_minutes(1860), in_minutes(3600 * 5.4)
    ('less than a minute', 'about 31 minutes', 'about 5.4 hours')
    """
    if seconds >= 7200:
        return f"about {seconds / 3600:.1f} hours"
    minutes = round(seconds / 60)
    return f"about {minutes} minute{'s' * (minutes > 1)}" if minutes else "less than a minute"
