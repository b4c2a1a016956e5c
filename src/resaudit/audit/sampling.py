"""Which imported results a spot-check recomputes, in which order, and how likely it would have missed a forgery.

Successive sampling with probability proportional to weight: every job has an arrival time of a Poisson process,
exponential with the job's weight as its rate, from a hash of the seed. Jobs are recomputed in the order of arrival. The
first arrival of any set of jobs with the weight s together is exponential with rate s, whichever jobs these are, so
after all arrivals up to Λ a forged share s is missed with probability e^(−sΛ). That the check ends when its time is up,
which depends on what was drawn, makes it no likelier: for every forger E[missed · e^(sΛ)] ≤ 1 (optional stopping;
tests/share/test_sampling.py simulates it).
"""

import hashlib
import math
from collections.abc import Collection, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=str)
CERTAIN = 0.95
"""Confidence of :func:`largest_share`."""
_PURPOSE = "resaudit spot-check 1"


def weights(evidence: Mapping[str, Collection[Key]]) -> dict[Key, float]:
    """The weight of each job: every claim has the same, spread evenly over the jobs that it rests on.

    Args:
        evidence: keys of jobs, by claim; claims without any do not count.

    Returns:
        By key, 1/(C n_c) summed over the claims c that rest on it; together 1.

    >>> weights({"a": ["train/1"], "b": ["train/1", "train/2"], "c": []})
    {'train/1': 0.75, 'train/2': 0.25}
    """
    resting = [keys for keys in evidence.values() if keys]
    weight: dict[Key, float] = {}
    for keys in resting:
        for key in keys:
            weight[key] = weight.get(key, 0.0) + 1 / (len(resting) * len(keys))
    return weight


def normalized(some: Mapping[Key, float]) -> dict[Key, float]:
    """Weights scaled to the sum 1.

    >>> normalized({"a": 1.0, "b": 3.0})
    {'a': 0.25, 'b': 0.75}
    """
    total = math.fsum(some.values())
    return {key: weight / total for key, weight in some.items()}


def arrival(seed: str, key: str, weight: float) -> float:
    """The arrival time of a job, exponential with rate ``weight``: −ln(u)/weight, u uniform on (0, 1] from SHA-256.

    >>> round(arrival("7f3a", "train/a", 0.5) / arrival("7f3a", "train/a", 1.0), 12)
    2.0
    """
    digest = hashlib.sha256("\0".join((_PURPOSE, seed, key)).encode()).digest()
    uniform = (int.from_bytes(digest, "big") + 1) / 2**256
    return -math.log(uniform) / weight


def in_order(seed: str, weights_of: Mapping[Key, float]) -> dict[Key, float]:
    """The arrival times of jobs with these weights, ascending."""
    arrivals = {key: arrival(seed, key, weight) for key, weight in weights_of.items()}
    return dict(sorted(arrivals.items(), key=lambda item: (item[1], item[0])))


def reached(arrivals: Mapping[Key, float], compared: Collection[Key]) -> float:
    """Λ: the arrival time of the last job up to which all were compared; inf if all were.

    Args:
        arrivals: arrival times, ascending.
        compared: keys of the jobs that were compared.

    >>> reached({"a": 0.5, "b": 1.5, "c": 4.0}, {"a", "c"}), reached({"a": 0.5}, {"a"}), reached({"a": 0.5}, [])
    (0.5, inf, 0.0)
    """
    last = 0.0
    for key, time in arrivals.items():
        if key not in compared:
            return last
        last = time
    return math.inf


def missed(share: float, reach: float) -> float:
    """The probability e^(−sΛ) that a run with this share of the weight forged would have been missed.

    >>> round(missed(0.05, 23), 2), missed(0.05, math.inf)
    (0.32, 0.0)
    """
    return math.exp(-share * reach) if share else 1.0


def largest_share(reach: float) -> float:
    """The 95 % bound on the share of the weight that is forged, after a check that found nothing: 3.0/Λ, at most 1.

    >>> round(largest_share(30), 3), largest_share(1), largest_share(math.inf)
    (0.1, 1.0, 0.0)
    """
    return min(1.0, -math.log(1 - CERTAIN) / reach) if reach else 1.0
